#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the simulation replay to the digest that was recorded, whatever happened in them.

usage: replay_test.py FABRICSIM FAULTS_DIR "TOPOLOGY|FAULTS|SEED"...
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

FABRICSIM, FAULTS = sys.argv[1], sys.argv[2]

# Topology, faults, seed; no faults: the standard ones.
RUNS = [tuple(run.split("|")) for run in sys.argv[3:]]


def fabricsim(*arguments):
    return subprocess.run([FABRICSIM, *arguments], capture_output=True, text=True, check=False)


class ReplayTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def record(self, topology, faults, seed):
        """The first segment of each life of each manager."""
        run = f"{os.path.basename(topology)}-{faults}-{seed}"
        folder = os.path.join(self.folder.name, run)
        command = ["run", "--topology", topology, "--seed", seed, "--record", folder]
        if faults:
            command += ["--faults", os.path.join(FAULTS, faults + ".txt")]
        ended = fabricsim(*command)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        found = sorted(glob.glob(os.path.join(folder, "*", "*-000000.fabricrec")))
        self.assertTrue(found)
        return found

    def test_seeds_of_all_faults_replay_to_the_recorded_digest(self):
        for topology, faults, seed in RUNS:
            for path in self.record(topology, faults, seed):
                replay = fabricsim("replay", path)
                self.assertEqual(replay.returncode, 0, f"{faults} {seed} {path}: {replay.stdout}")
                digests = re.search(r"recorded (\w+), replayed (\w+)", replay.stdout)
                self.assertEqual(digests.group(1), digests.group(2))

    def test_a_replay_ends_where_it_is_asked_to(self):
        path = self.record(*RUNS[0])[-1]
        self.assertIn("100 records", fabricsim("replay", path, "--until", "100").stdout)
        shown = fabricsim("replay", path, "--break-at", "1").stdout
        self.assertIn("start", shown)
        self.assertIn("send Get NodeInfo", shown)
        self.assertEqual(fabricsim("replay", path, "--until", "soon").returncode, 2)
        listed = fabricsim("replay", path, "--list").stdout.splitlines()
        self.assertIn("start of the core", listed[0])

    def test_damaged_foreign_and_absent_recordings_are_refused_with_the_reason(self):
        path = self.record(*RUNS[0])[-1]
        with open(path, "rb") as file:
            whole = bytearray(file.read())
        damaged = os.path.join(self.folder.name, "damaged.fabricrec")
        for place, reason in ((2, "no recording"), (len(whole) - 9, "a chunk is damaged")):
            copy = bytearray(whole)
            copy[place] ^= 1
            with open(damaged, "wb") as file:
                file.write(copy)
            replay = fabricsim("replay", damaged)
            self.assertEqual(replay.returncode, 1)
            self.assertIn(reason, replay.stderr)
            self.assertIn(damaged, replay.stderr)
        self.assertIn("no such file", fabricsim("replay", path + "x").stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
