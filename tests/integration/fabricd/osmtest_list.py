#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every flow of osmtest against OpenSM and against fabricd, each on a fresh ibsim of the same tree:
the list of docs/SA.md. Not a test of its own, for OpenSM hangs in some flows.

usage: osmtest_list.py BIN_DIR
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

TESTER = "H-0002c90200000100"
PATIENCE = 60  # Seconds; what ends takes less.
FLOWS = (("-f", "c"), ("-f", "v"), ("-f", "a"), ("-f", "v", "-d", "1"), ("-f", "e"), ("-f", "f"),
         ("-f", "f", "-s", "1"), ("-f", "f", "-s", "2"), ("-f", "f", "-s", "3"),
         ("-f", "f", "-s", "4"), ("-f", "m"), ("-f", "m"), ("-f", "s"), ("-f", "q"))


class Lists(ibsim.Case):
    def setUp(self):
        super().setUp()
        topology = ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net")
        self.sim = ibsim.Ibsim(self, topology)
        self.host = ibsim.Topology(topology).host()

    def outcome(self, flow):
        process = self.sim.start(TESTER, "osmtest", *flow, "-i", self.path("inventory"),
                                 "-l", self.path("osmtest.log"))
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            ibsim.stop(process)
            return "hangs"
        return "pass" if output.rstrip().endswith("PASS") else "fails"

    def ask_all(self, name):
        for flow in FLOWS:
            print("%-8s osmtest %-11s %s" % (name, " ".join(flow), self.outcome(flow)), flush=True)

    def test_opensm(self):
        options = self.write("opensm.conf", "force_log_flush TRUE\n")
        opensm = self.sim.start(self.host, "opensm", "-F", options, "-f", "stdout")
        ibsim.Lines(opensm).wait_for("SUBNET UP")
        self.ask_all("OpenSM")

    def test_fabricd(self):
        daemon = ibsim.Fabricd(self)
        daemon.start(self.sim.environment(self.host))
        daemon.wait_for("subnet_up")
        self.ask_all("fabricd")


if __name__ == "__main__":
    ibsim.main(["ibsim", "opensm", "osmtest"])
