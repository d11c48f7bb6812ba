#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `fabricsim generate` writes, loaded by ibsim and read back by the real ibnetdiscover: a small
fabric of each kind, whole and decorated.

usage: generate_test.py BIN_DIR [TEST...]
"""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

SMALL = {  # Kind: arguments, switches, adapters, cables.
    "fat-tree": ("--radix 5", 20, 16, 48),
    "superpod": ("--sus 2 --hosts 4 --rails 2 --radix 8", 6, 16, 32),
    "torus": ("--dims 3x2x3 --parallel 2", 18, 18, 108),
    "dragonfly-plus": ("--groups 3 --leaves 2 --spines 2 --hosts 2", 12, 12, 30),
    "hypercube": ("--dimensions 3 --hosts 2", 8, 16, 28),
    "directors": ("--radix 4 --leaves 2 --spines 1", 9, 4, 20),
    "random": ("--switches 9 --degree 4", 9, 9, 27),
}
DECORATED = "--permute-ports --mixed-speeds 0.3 --fail-links 1 --fill 0.75 --seed 3"


class Generate(ibsim.Case):
    def generate(self, *arguments, code=0):
        return self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricsim"), "generate",
                                 *arguments], code=code)

    def test_knows_these_kinds(self):
        kinds = self.generate("--help").split("Subcommands:")[1]
        self.assertEqual(set(re.findall(r"(?m)^  (\S+)", kinds)), set(SMALL))

    def test_ibsim_loads_each_kind(self):
        for kind, (arguments, switches, adapters, cables) in SMALL.items():
            with self.subTest(kind):
                found = self.on_ibsim(kind, arguments)
                kinds = list(found.kinds.values())
                self.assertEqual((kinds.count("Switch"), kinds.count("CA"), len(found.cables)),
                                 (switches, adapters, 2 * cables))

    def test_ibsim_loads_each_kind_decorated(self):
        for kind, (arguments, switches, adapters, _) in SMALL.items():
            with self.subTest(kind):
                found = self.on_ibsim(kind, arguments + " " + DECORATED)
                kinds = list(found.kinds.values())
                self.assertEqual((kinds.count("Switch"), kinds.count("CA")),
                                 (switches, round(adapters * 0.75 + 1e-9)))

    def on_ibsim(self, kind, arguments):
        """What ibnetdiscover sees of it, which is all that was written."""
        path = self.write(kind + ".net",
                          self.generate(kind, *arguments.split(), "--format", "ibsim"))
        written = ibsim.Topology(path)
        sim = ibsim.Ibsim(self, path)
        seen = ibsim.Topology(self.write(kind + ".seen", sim.run(written.host(), "ibnetdiscover")))
        ibsim.stop(sim.process)
        self.assertEqual(seen.kinds, written.kinds)
        self.assertEqual(seen.cables, written.cables)
        return seen

    def test_writes_the_same_each_time(self):
        for kind, (arguments, *_) in SMALL.items():
            command = [kind, *arguments.split(), *DECORATED.split()]
            self.assertEqual(self.generate(*command), self.generate(*command))

    def test_refuses_invalid_parameters_by_name(self):
        for arguments, complaint in (
                ("torus --dims 4x1", "dims 4x1: each from 2 to 255"),
                ("hypercube --dimensions many", "dimensions=many is not a number"),
                ("random --switches 9 --degree 3", "degree 3: even"),
                ("hypercube --fail-links 33", "fail-links 33: from 0 to 32"),
                ("hypercube --permute-ports=maybe", "permute-ports"),
                ("", "A subcommand is required")):
            self.assertIn(complaint, self.generate(*arguments.split(), code=2))


if __name__ == "__main__":
    ibsim.main(["ibsim", "ibnetdiscover"])
