#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ibdmchk judges the plans of engine layered, with the service levels and mappings it dumps.

usage: lanes_test.py BIN_DIR [TEST...]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import json  # noqa: E402

FABRICS = {
    "torus": ["torus", "--dims", "5x5", "--hosts", "2"],
    "torus_of_three_dimensions": ["torus", "--dims", "4x4x3", "--hosts", "1"],
    "permuted_torus": ["torus", "--dims", "5x5", "--hosts", "1", "--permute-ports"],
    "dragonfly_plus": ["dragonfly-plus", "--groups", "4", "--leaves", "3", "--spines", "3"],
    "hypercube": ["hypercube", "--dimensions", "5", "--hosts", "1"],
    "random_graph": ["random", "--switches", "24", "--degree", "6", "--hosts", "2"],
    "fat_tree": ["fat-tree", "--radix", "8", "--levels", "3"],
}
FAILED_PERCENT = (0, 1, 2, 5, 10)


class Lanes(ibsim.Case):
    def program(self, name, *arguments, code=0):
        return self.run_program([os.path.join(ibsim.Fabricd.bin, name), *arguments], code=code)

    def plan(self, net, failed):
        """Plans and dumps. Returns the report."""
        dumps = self.path("dumps-%d" % failed)
        report = json.loads(self.program(
            "fabricplan", "--topology", net, "--engine", "layered", "--lanes-max", "8",
            "--fail-links", str(failed), "--dump-dir", dumps, "--report", "json"))
        self.assertTrue(report["verified"])
        return dumps, report

    def ibdmchk(self, dumps, lanes):
        command = ["ibdmchk", "-a", "-s", dumps + "/opensm-subnet.lst", "-f",
                   dumps + "/opensm.fdbs", "-m", dumps + "/opensm.mcfdbs"]
        if lanes > 1:
            command += ["-c", dumps + "/opensm-path-sl.dump", "-d", dumps + "/opensm-sl2vl.dump"]
        # Debian's ibdmchk dies in its own clean-up after the last verdict: what it says counts.
        return self.run_program(command, code=None)

    def judge(self, fabric):
        net = self.write("fabric.net", self.program("fabricsim", "generate", *FABRICS[fabric]))
        intact = self.plan(net, 0)[1]
        links = intact["quality"]["links"] // 2
        for percent in FAILED_PERCENT:
            with self.subTest(percent=percent):
                dumps, report = self.plan(net, links * percent // 100)
                said = self.ibdmchk(dumps, report["lanes"])
                self.assertNotIn("-E-", said)
                self.assertIn("-I- no credit loops found", said)
                if report["lanes"] > 1:
                    self.assertIn("%d SLs, %d VLs used" % (report["lanes"], report["lanes"]), said)

    def test_ibdmchk_finds_the_loops_that_the_vls_break(self):
        net = self.write("fabric.net", self.program("fabricsim", "generate", *FABRICS["torus"]))
        dumps, report = self.plan(net, 0)
        self.assertGreater(report["lanes"], 1)
        said = self.ibdmchk(dumps, 1)
        self.assertNotIn("no credit loops found", said)


def add_tests():
    for fabric in FABRICS:
        setattr(Lanes, "test_ibdmchk_agrees_on_a_" + fabric,
                lambda self, fabric=fabric: self.judge(fabric))


if __name__ == "__main__":
    add_tests()
    ibsim.main(["ibdmchk"])
