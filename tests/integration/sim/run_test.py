#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`fabricsim run` as a user meets it: one seed is one run, a failing seed can be run again, its trace
can be read by the wire tools, and bad input is refused by name.

usage: run_test.py FABRICSIM
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

FABRICSIM = os.path.abspath(sys.argv.pop(1))
MADTRACE = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                        "../../../../shared/wire/madtrace.py"))
TREE = "fat-tree:radix=4,levels=3"
NEVER_UP = "loss 1\nup_under_faults 1\nphase_s 1\nkills 0\n"


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_sim(self, *arguments, code=0):
        done = subprocess.run([FABRICSIM, "run", *arguments], cwd=self.folder.name, text=True,
                              capture_output=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code != 2 else done.stderr

    def write(self, name, text):
        with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def test_one_seed_is_one_run_on_any_number_of_threads(self):
        runs = {self.run_sim("--topology", TREE, "--seed", "5", "--seeds", "6", "--threads", threads,
                             "--jobs", jobs)
                for threads, jobs in (("1", "1"), ("2", "1"), ("4", "3"), ("0", "0"))}
        self.assertEqual(len(runs), 1, runs)
        other = self.run_sim("--topology", TREE, "--seed", "6", "--seeds", "6")
        self.assertNotIn(other, runs)

    def test_the_run_log_of_a_seed_is_reproducible(self):
        first, second = (self.run_sim("--topology", "superpod:sus=1,hosts=4,rails=2", "--seed", "9",
                                      "--verbose") for _ in range(2))
        self.assertEqual(first, second)
        self.assertIn("the faults stop", first)

    def test_a_failing_seed_is_replayed_by_the_command_that_it_prints(self):
        faults = self.write("never.txt", NEVER_UP)
        text = self.run_sim("--topology", TREE, "--faults", faults, "--seed", "3", "--seeds", "2",
                            code=1)
        self.assertIn("2 seeds: 0 passed, 2 failed", text)
        self.assertIn("  up: the subnet does not come up under the faults", text)
        again = re.findall(r"again: fabricsim run (.*)", text)
        self.assertEqual(len(again), 2)
        replayed = self.run_sim(*shlex.split(again[0]), code=1)
        digest = re.search(r"seed 3: FAILED; \d+ MADs, digest (\w+)", replayed)
        self.assertIsNotNone(digest, replayed)
        self.assertIn("up: the subnet does not come up", replayed)
        traces = re.findall(r"trace: (\S+)", text)
        self.assertEqual(traces, ["fabricsim-seed-3.trace", "fabricsim-seed-4.trace"])
        for trace in traces:
            self.assertGreater(os.path.getsize(os.path.join(self.folder.name, trace)), 1000)

    def test_a_trace_can_be_read_by_the_wire_tools(self):
        if not os.path.exists(MADTRACE):
            self.skipTest("no " + MADTRACE)
        faults = self.write("none.txt", "".join(
            line.split()[0] + (" 1\n" if line.split()[0] in ("phase_s", "managers") else " 0\n")
            for line in self.run_sim("--print-faults").splitlines() if not line.startswith("#")))
        self.run_sim("--topology", TREE, "--faults", faults, "--trace", "t.trace")
        trace = os.path.join(self.folder.name, "t.trace")
        summary = subprocess.run([sys.executable, "-B", MADTRACE, "--summary", trace], text=True,
                                 capture_output=True, timeout=120)
        self.assertEqual(summary.returncode, 0, summary.stderr)
        self.assertRegex(summary.stdout, r"LFT")
        check = subprocess.run([sys.executable, "-B", MADTRACE, "--check", trace], text=True,
                               capture_output=True, timeout=120)
        # A response repeats ClientReregister (IBA o14-12.2.1), which is no value to echo: OpenSM does
        # not either where a device does so.
        self.assertEqual([line.split()[0] for line in check.stdout.splitlines() if " bad " in line],
                         ["echo"], check.stdout + check.stderr)
        for line in check.stdout.splitlines():
            if line.strip().startswith("#"):
                self.assertRegex(line, r": ClientReregister:1->0$")

    def test_bad_input_is_refused_by_name(self):
        self.assertIn("needs --topology", self.run_sim(code=2))
        self.assertIn("no-such-file", self.run_sim("--topology", "./no-such-file", code=2))
        self.assertIn("nofaults.txt", self.run_sim("--topology", TREE, "--faults", "nofaults.txt",
                                                   code=2))
        bad = self.write("bad.txt", "loss 0.1\nlos 2\nloss 7\nflaps 3 1\n")
        text = self.run_sim("--topology", TREE, "--faults", bad, code=2)
        for finding in ("bad.txt", "line 2: no fault class 'los'", "line 3: ", "line 4: "):
            self.assertIn(finding, text)


if __name__ == "__main__":
    unittest.main()
