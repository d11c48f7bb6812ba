#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped systemd units: what they deny must not be what fabricd needs. The system calls of a
whole run are recorded by strace and held against the unit's filter, as systemd expands it.

usage: unit_test.py BIN_DIR [TEST...]
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

SYSTEMD = os.path.join(ibsim.ROOT, "systemd")
UNIT = os.path.join(SYSTEMD, "service-common.conf")
# SQLite gives its files to the directory's owner, as root only. The unit's user is not root.
AS_ROOT = {"fchown"}


def groups():
    """systemd's groups of system calls, by name, each with what groups in it hold."""
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    found, name = {}, None
    for line in text.splitlines():
        if re.match(r"@[\w-]+$", line):
            name = line
            found[name] = set()
        elif name and re.match(r"\s+[@\w]", line):
            found[name].add(line.split()[0])

    def expand(name):
        return set().union(*[expand(item) if item.startswith("@") else {item}
                             for item in found.get(name, ())])

    return {name: expand(name) for name in found}


def allowed(lines):
    """The calls that SystemCallFilter= lines leave, in their order (systemd.exec(5))."""
    known, calls = groups(), set()
    for line in lines:
        take = not line.startswith("~")
        for item in line.lstrip("~").split():
            change = known[item] if item.startswith("@") else {item}
            calls = calls | change if take else calls - change
    return calls


class Unit(ibsim.Case):
    def filter(self):
        with open(UNIT) as file:
            return [line.split("=", 1)[1].strip() for line in file
                    if line.startswith("SystemCallFilter=")]

    def test_allows_each_call_that_fabricd_makes(self):
        for program in ("strace", "systemd-analyze"):
            if not shutil.which(program):
                self.skipTest("%s is missing" % program)
        trace = self.path("trace")
        command = ibsim.Fabricd(self).command("--once", fabric="sim:superpod:sus=1,hosts=2,rails=2")
        done = subprocess.run(["strace", "-f", "-qq", "-o", trace] + command, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if "ptrace" in done.stdout:
            self.skipTest("strace may not trace here")
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(trace, errors="replace") as file:
            made = set(re.findall(r"^\d+ +(\w+)\(", file.read(), re.M))
        self.assertIn("setpriority", made)  # Otherwise the recording is none.
        self.assertEqual(made - allowed(self.filter()) - AS_ROOT, set())
        # What stays denied, so that the test can tell.
        self.assertFalse({"reboot", "sched_setscheduler", "mount"} & allowed(self.filter()))

    def test_starts_without_ending_an_opensm(self):
        # Who starts a package that was just installed, to observe, must keep the subnet manager.
        def named(unit, *keys):
            with open(os.path.join(SYSTEMD, unit)) as file:
                found = re.findall(r"^(\w+)=(.*)$", file.read(), re.M)
            return {name for key, value in found if key in keys for name in value.split()}

        ending = ("Conflicts", "PropagatesStopTo", "StopPropagatedFrom", "ExecStartPre")
        self.assertEqual(named("fabricd.service.in", *ending), set())
        # Both would have one /run/fabricd.
        self.assertEqual(named("fabricd@.service.in", *ending), {"fabricd.service"})

    def test_grants_the_niceness_that_fabricd_asks_for(self):
        with open(UNIT) as file:
            limits = re.findall(r"^LimitNICE=(-?\d+)$", file.read(), re.M)
        source = os.path.join(ibsim.ROOT, "daemon", "sa", "sa_service.cc")
        with open(source) as file:
            lowest = int(re.search(r"kAnsweringNiceness = (-\d+)", file.read())[1])
        self.assertEqual(limits, [str(lowest)])


if __name__ == "__main__":
    ibsim.main([])
