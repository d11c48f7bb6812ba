#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual pages against the programs, and the commands of docs/ as somebody new would type them.

usage: manuals_test.py BIN_DIR [TEST...]
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

USAGE, NOT_FOUND, UNAVAILABLE = 2, 3, 4
PROGRAMS = {"fabricd": 8, "fabricctl": 1, "fabricplan": 1, "fabricsim": 1}
OPTION = r"--[a-z][a-z0-9-]*"
# What every program has, and other names of what is there.
UNTOLD = {"--help", "--help-all", "--version", "--no-legend"}


def program(name):
    return os.path.join(ibsim.Fabricd.bin, name)


def read(*path):
    with open(os.path.join(ibsim.ROOT, *path), encoding="utf-8") as file:
        return file.read()


def help_of(*command):
    """What --help of a command tells, and of all commands below it."""
    if command == ("fabricsim", "generate"):
        return []  # The page leaves the kinds' options to --help.
    done = subprocess.run([program(command[0]), *command[1:], "--help"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=ibsim.PATIENCE)
    texts = [done.stdout]
    for name in re.findall(r"^  ([a-z][a-z-]*)  ", done.stdout.split("Subcommands:")[-1], re.M) \
            if "Subcommands:" in done.stdout else []:
        texts += help_of(*command, name)
    return texts


class Pages(ibsim.Case):
    def test_options_are_those_of_the_programs(self):
        for name, section in PROGRAMS.items():
            page = read("docs", "man", "%s.%d" % (name, section)).replace("\\-", "-")
            # Other programs' options.
            page = re.sub(r"^systemctl.*|(?<=fabricd) --fabric sim:FILE", "", page, flags=re.M)
            told = set(re.findall(OPTION, page)) - UNTOLD
            helps = "\n".join(help_of(name))
            known = set(re.findall(r"(?<![\w-])" + OPTION, helps)) - UNTOLD
            # Told by its letter.
            short = {long for letter, long in re.findall(r"(-\w),(%s)" % OPTION, helps)
                     if re.search(r"(?<![\w-])%s\b" % letter, page)}
            with self.subTest(program=name):
                self.assertGreater(len(known), 5)
                self.assertEqual(sorted(known - told - short), [], "not in its page")
                self.assertEqual(sorted(told - known), [], "only in its page")

    def test_verbs_have_their_place(self):
        page = read("docs", "man", "fabricctl.1")
        verbs = re.findall(r"^  ([a-z][a-z-]*)  ", help_of("fabricctl")[0], re.M)
        self.assertGreater(len(verbs), 30)
        for verb in verbs:
            self.assertRegex(page, r"(?m)^\.[BT].*(\b|\\fB)%s\b" % verb)

    def test_pages_render(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        made = self.path("fabricd.yaml.5")
        self.run_program([sys.executable, os.path.join(ibsim.ROOT, "packaging", "config_man.py"),
                          os.path.join(ibsim.ROOT, "config", "fabricd.example.yaml"), made])
        pages = glob.glob(os.path.join(ibsim.ROOT, "docs", "man", "*.[158]")) + [made]
        self.assertEqual(len(pages), len(PROGRAMS) + 1)
        for page in pages:
            output = self.run_program(["groff", "-man", "-ww", "-z", "-Tutf8", "-K", "utf8", page])
            self.assertEqual(output, "", page)


def commands_of(page):
    """The commands that a page of docs/ shows, without what they answer and what is said of them."""
    for line in read("docs", page).split("\n"):
        found = re.match(r"    (?:\$ )?(fabric(?:d|ctl|plan|sim) .*)", line)
        if found and "[--" not in line and "…" not in line and "FILE" not in line:
            yield re.sub(r"\s+#.*", "", found[1])


class Documents(ibsim.Case):
    """Every command of the pages that operators read, on a fabric on which it can do something."""

    def run_page(self, page, least, fabric=None, but=()):
        commands = list(commands_of(page))
        self.assertGreaterEqual(len(commands), least, page)
        environment = {"PATH": ibsim.Fabricd.bin + os.pathsep + os.environ["PATH"]}
        if fabric:
            fabricd = ibsim.Fabricd(self)
            fabricd.start(fabric=fabric)
            fabricd.wait_for("subnet_up")
            environment["FABRICCTL_SERVER"] = "unix:" + fabricd.socket
        for command in commands:
            command = self.in_folder(command)
            output = self.run_program(
                ["bash", "-c", "cd '%s'; %s; echo \"exit $?\"" % (self.folder, command)],
                environment)
            code = int(output.split()[-1])
            self.assertNotIn(code, (USAGE, NOT_FOUND, UNAVAILABLE), "%s:\n%s" % (command, output))
        return commands

    def in_folder(self, command):
        """Files of the system are those of the test."""
        command = command.replace("/etc/opensm", self.path("opensm"))
        command = command.replace("/etc/fabricd", self.path("etc"))
        if command.startswith("fabricd --fabric"):
            command += " --once --state-dir '%s' --listen 'unix:%s'" % (self.path("state"),
                                                                       self.path("socket"))
        return command

    def test_partitions(self):
        self.run_page("PARTITIONS.md", 8, "sim:superpod:sus=1,hosts=20,rails=2")

    def test_mastership(self):
        # Alone nobody can take over: that is refused.
        self.run_page("MASTERSHIP.md", 3, "sim:superpod:sus=1,hosts=4,rails=2")

    def test_rails(self):
        self.run_page("RAILS.md", 1)

    def test_configuration(self):
        os.mkdir(self.path("opensm"))
        os.mkdir(self.path("etc"))
        self.write("opensm/opensm.conf", "sm_priority 9\n")
        self.run_page("CONFIG.md", 2)

    def test_planner(self):
        self.run_page("FABRICPLAN.md", 6)


if __name__ == "__main__":
    ibsim.main([])
