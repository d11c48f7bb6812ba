#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/seeds: what it makes of a program that passes, finds, crashes and hangs."""
import json
import os
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = """#!/usr/bin/env python3
import os, signal, sys, time
value = lambda name: sys.argv[sys.argv.index(name) + 1]
if value("--topology") == "nonsense":
    print("fabricsim: no such topology", file=sys.stderr)
    sys.exit(2)
first = int(value("--seed"))
status = 0
for seed in range(first, first + int(value("--seeds"))):
    if seed == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 5:
        time.sleep(60)
    if seed in (2, 6):
        print(f"seed {seed} failed (loss 0.1)")
        print(f"  tables: leaf{seed} block {seed}: LID {seed} leaves by {seed}")
        print(f"  again: fabricsim run --seed {seed}")
        status = 1
sys.exit(status)
"""


class Seeds(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "fabricsim")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(self.program, os.stat(self.program).st_mode | stat.S_IXUSR)
        self.report = os.path.join(self.folder.name, "report")

    def run_tool(self, *arguments):
        return subprocess.run(
            [os.path.join(ROOT, "tools", "seeds"), "--fabricsim", self.program, "--faults",
             "f.txt", *arguments], capture_output=True, text=True, check=False)

    def test_passes_are_counted(self):
        done = self.run_tool("--fabrics", "torus", "ring", "--first", "7", "--seeds", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("8 seeds: 8 passed, 0 failed", done.stdout)

    def test_a_crash_and_a_hang_do_not_affect_other_seeds(self):
        done = self.run_tool("--fabrics", "torus", "--first", "2", "--seeds", "5", "--limit",
                             "0.4", "--report", self.report)
        self.assertEqual(done.returncode, 1)
        self.assertIn("5 seeds: 1 passed, 4 failed", done.stdout)
        with open(self.report, encoding="utf-8") as file:
            found = {each["seed"]: each["findings"][0] for each in map(json.loads, file)}
        self.assertEqual(set(found), {2, 3, 5, 6})
        self.assertIn("crash: ends by status -11", found[3])
        self.assertIn("crash: takes more than 0.4 s", found[5])
        # Two seeds with one kind of finding.
        self.assertIn("    2 tables: # block # LID # leaves by #", done.stdout)

    def test_failed_seeds_are_run_again(self):
        with open(self.report, "w", encoding="utf-8") as file:
            for seed in (2, 4):
                file.write(json.dumps({"faults": "f.txt", "fabric": "torus", "seed": seed}) + "\n")
        done = self.run_tool("--again", self.report)
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 seeds: 1 passed, 1 failed", done.stdout)

    def test_a_fabric_that_cannot_run_is_an_error(self):
        done = self.run_tool("--fabrics", "nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such topology", done.stderr)


if __name__ == "__main__":
    unittest.main()
