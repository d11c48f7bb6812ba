#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tour of README.md, word by word: every fabricctl command in it, in order, on the fabric that it
says, and what it shows. And fabricctl on a terminal: colours and the pager.

usage: readme_test.py BIN_DIR [TEST...]
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

USAGE, UNAVAILABLE = 2, 4


def read_tour():
    """The configuration, the kind of fabric, and each command with the lines that are shown below."""
    with open(os.path.join(ibsim.ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read().split("## A short tour")[1].split("\n## ")[0]
    config, fabric = re.search(r"\$ fabricd --config (\S+) --fabric (\S+)", text).groups()
    steps = []
    for line in text.split("\n"):
        command = re.match(r"    \$ (fabricctl .*)", line)
        if command:
            steps.append((re.sub(r"\s+#.*", "", command[1]), []))
        elif line.startswith("    ") and steps:
            steps[-1][1].append(line[4:])
        elif line.strip():
            steps.append(("", []))
    return config, fabric, [step for step in steps if step[0]]


def shape(line):
    """A line without its numbers and gaps."""
    return re.sub(r"\d+", "#", re.sub(r"\s+", " ", line)).strip()


class Tour(ibsim.Case):
    def test_commands_have_the_output_of_the_readme(self):
        config, fabric, steps = read_tour()
        self.assertGreater(len(steps), 10)
        with open(os.path.join(ibsim.ROOT, config), encoding="utf-8") as file:
            fabricd = ibsim.Fabricd(self, file.read())
        fabricd.start(fabric=fabric)
        fabricd.wait_for("subnet_up")
        environment = {"FABRICCTL_SERVER": "unix:" + fabricd.socket,
                       "PATH": ibsim.Fabricd.bin + os.pathsep + os.environ["PATH"]}
        for command, shown in steps:
            # An end of the output: exit codes of findings are no failures.
            output = self.run_program(["bash", "-c", command + '; code=$?; echo "exit $code"'],
                                      environment)
            code = int(output.split()[-1])
            self.assertNotIn(code, (USAGE, UNAVAILABLE), "%s:\n%s" % (command, output))
            shapes = {shape(line) for line in output.split("\n")}
            for line in shown:
                if line.strip() not in ("", "…"):
                    self.assertIn(shape(line), shapes, "%s:\n%s" % (command, output))


class Terminal(ibsim.Case):
    LINES = 24

    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(fabric="sim:superpod:sus=1,hosts=4,rails=4")
        self.fabricd.wait_for("subnet_up")

    def show(self, *arguments, **environment):
        """What a command writes to a terminal."""
        control, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", self.LINES, 200, 0, 0))
        command = [os.path.join(ibsim.Fabricd.bin, "fabricctl"), "--server",
                   "unix:" + self.fabricd.socket, *arguments]
        with subprocess.Popen(command, stdout=terminal, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PAGER": "sed s/^/paged:/", **environment}) as process:
            os.close(terminal)
            output = b""
            try:
                while piece := os.read(control, 65536):
                    output += piece
            except OSError:  # The other end is closed.
                pass
            self.assertEqual(process.wait(ibsim.PATIENCE), 0, output)
        os.close(control)
        return output.decode()

    def test_colours_states_only(self):
        shown = self.show("get", "hosts")
        self.assertIn("\x1b[32mActive\x1b[0m", shown)
        self.assertEqual(shown.count("\x1b["), 2 * 4)
        self.assertNotIn("\x1b", self.show("get", "hosts", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.show("get", "hosts", "--color", "never"))

    def test_pages_output_longer_than_the_screen(self):
        self.assertNotIn("paged:", self.show("get", "hosts"))
        long = self.show("get", "ports", "-o", "name").splitlines()
        self.assertGreater(len(long), self.LINES)
        self.assertTrue(all(line.startswith("paged:port/") for line in long), long)
        self.assertNotIn("paged:", self.show("get", "ports", "--no-pager"))
        self.assertNotIn("paged:", self.show("get", "ports", PAGER=""))


if __name__ == "__main__":
    ibsim.main([])
