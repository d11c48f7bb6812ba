#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/soak must see each kind of growth, and must not see any in noise.

usage: soak_selftest.py TOOLS_SOAK
"""
import importlib.machinery
import importlib.util
import random
import sys
import unittest

PATH = sys.argv.pop(1)
loader = importlib.machinery.SourceFileLoader("soak", PATH)
soak = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", loader))
loader.exec_module(soak)

LEVEL = {"rss_kib": 60000, "descriptors": 20, "threads": 33, "disk_kib": 4000,
         "log_bytes_per_min": 20000}


def recording(change=lambda name, share: 0, hours=2.0, count=400):
    """Samples with noise of 2 %; `change(name, share)` is added after that share of the time."""
    rng = random.Random(1)
    samples = []
    for i in range(count):
        share = i / count
        sample = {"seconds": (i + 1) * hours * 3600 / count, "pid": 7, "cpu_percent": 1}
        for name, level in LEVEL.items():
            sample[name] = level * rng.uniform(0.98, 1.02) + change(name, share)
        samples.append(sample)
    return samples


class Judge(unittest.TestCase):
    def test_noise_is_flat(self):
        rows, faults = soak.judge(recording())
        self.assertEqual(faults, [])
        self.assertEqual([row[0] for row in rows], list(soak.LIMITS))

    def test_filling_up_in_the_first_quarter_is_flat(self):
        _, faults = soak.judge(recording(lambda name, share: min(share, 0.24) * LEVEL[name]))
        self.assertEqual(faults, [])

    def test_each_growth_is_seen(self):
        for grows in LEVEL:
            with self.subTest(grows):
                _, faults = soak.judge(recording(
                    lambda name, share: share * LEVEL[name] if name == grows else 0))
                self.assertEqual(len(faults), 1, faults)
                self.assertIn(grows, faults[0])

    def test_bursts_of_lines_late_in_the_run_are_seen(self):
        def burst(name, share):
            return 400_000 if name == "log_bytes_per_min" and share > 0.75 and share % 0.05 < 0.01 \
                else 0
        _, faults = soak.judge(recording(burst))
        self.assertEqual(len(faults), 1, faults)

    def test_a_restart_is_seen(self):
        samples = recording()
        samples[-1]["pid"] = 8
        self.assertEqual(soak.judge(samples)[1], ["fabricd was restarted"])

    def test_too_short_a_recording_is_no_proof(self):
        _, faults = soak.judge(recording(count=10))
        self.assertIn("too few samples", faults[0])

    def test_samples_that_end_early_are_no_proof(self):
        samples = recording()
        samples = samples[:300] + samples[-1:]
        self.assertIn("too few samples", soak.judge(samples)[1][0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
