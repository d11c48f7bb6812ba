#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""osmtest, OpenSM's own tester of Subnet Administration, against fabricd on ibsim. What both pass,
and why some flows pass with neither, is in docs/SA.md.

usage: osmtest_test.py BIN_DIR [TEST...]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

TESTER = "H-0002c90200000100"


class Flows(ibsim.Case):
    def setUp(self):
        super().setUp()
        topology = ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net")
        self.sim = ibsim.Ibsim(self, topology)
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(self.sim.environment(ibsim.Topology(topology).host()))
        self.fabricd.wait_for("subnet_up")
        self.passes("-f", "c")

    def osmtest(self, *flow):
        return self.sim.run(TESTER, "osmtest", *flow, "-i", self.path("inventory"),
                            "-l", self.path("osmtest.log"), code=None)

    def passes(self, *flow):
        output = self.osmtest(*flow)
        if not output.rstrip().endswith("PASS"):
            with open(self.path("osmtest.log"), encoding="utf-8", errors="replace") as log:
                faults = [line for line in log if " ERR " in line]
            self.fail("osmtest %s:\n%s%s" % (" ".join(flow), output[-400:], "".join(faults[-8:])))

    def test_inventory(self):
        # Without its paths: ibsim carries the first three of the table that they come in.
        self.passes("-f", "v", "-d", "1")

    def test_qos(self):
        # Lane tables of one lane's plan are read when they are asked for.
        self.passes("-f", "q")

    def test_events(self):
        self.passes("-f", "e")

    def test_flood(self):
        self.passes("-f", "f")
        for stress in "1234":
            self.passes("-f", "f", "-s", stress)

    def test_multicast(self):
        # The first run wants to take out groups that it does not see: ibsim cuts the table short.
        # Those that it leaves behind it does not mind the next time.
        self.osmtest("-f", "m")
        self.passes("-f", "m")
        # What it has left behind is still there after a restart, and can be joined.
        self.assertEqual(self.fabricd.stop(), 0)
        self.fabricd.start(self.sim.environment("H-0002c90200000000"))
        self.fabricd.wait_for("subnet_up")
        self.passes("-f", "m")


if __name__ == "__main__":
    ibsim.main(["ibsim", "osmtest"])
