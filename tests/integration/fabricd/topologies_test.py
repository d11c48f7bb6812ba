#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricd --once on every topology of ../shared/topologies, one test a file, on ibsim where it
loads the file. Judged by iblinkinfo and ibnetdiscover, run on the same ibsim afterwards, and by
ibdmchk on
the dumps.

usage: topologies_test.py BIN_DIR [TEST...]; a TEST is such as
TopologiesTest.test_trees_4_ary_2_tree_net
"""
import collections
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

# Loads in ibsim, but holds no cable at all: fabricd has to say so.
LONELY = "nvidia-topograph-example-bad.ibnetdiscover"
# Not what ibsim's parser wants: a `-p` listing, and ibnetdiscover -v.
FOR_THE_SIMULATOR = ("osc-test.ibnetdiscover-p", os.path.join("avakas", "subnet.ibnetdiscover-vp"))

PORT = re.compile(r"==\(\s*(?:.*?\s)?(Down|Initialize|Armed|Active)/\s*(\w+)\)==>\s*(.*)")


class TopologiesTest(ibsim.Case):
    def bring_up(self, name):
        topology = os.path.join(ibsim.TOPOLOGIES, name)
        fabricd = ibsim.Fabricd(self)
        try:
            sim = ibsim.Ibsim(self, topology)
        except ibsim.Refused as refusal:
            self.assertIn(name, FOR_THE_SIMULATOR, "ibsim refuses it: %s" % refusal)
            self.come_up_in_the_simulator(fabricd, topology)
            return
        known = ibsim.Topology(topology)
        host = known.host()
        if name == LONELY:
            output = fabricd.once(sim.environment(host), code=1)
            self.assertIn("LocalPortDown: ibsim0: the SM's own port has no link", output)
            return
        fabricd.once(sim.environment(host))
        ends = self.judge_ports(sim, host, known)
        self.judge_paths(fabricd, ends)

    def judge_ports(self, sim, host, known):
        """Every port with a live peer ACTIVE, on the whole of the connected component. Returns the
        number of CA ports."""
        piece = known.component()
        cabled = sum(1 for node, _ in known.cables if node in piece)
        states = collections.Counter()
        for line in sim.run(host, "iblinkinfo").splitlines():
            port = PORT.search(line)
            if port:
                peer = re.match(r"\d+\s+\d+\[", port[3])
                states[port[1], "linked" if peer else "free"] += 1
        self.assertEqual(states["Active", "linked"], cabled, states)
        self.assertEqual({state for state, where in states if where ==
                         "linked"}, {"Active"}, states)
        seen = sim.run(host, "ibnetdiscover")
        self.assertEqual(len(re.findall(r"(?m)^(?:Switch|Ca|Rt)\t", seen)), len(piece))
        # An end port without a LID, or two with one.
        switches = re.findall(r"(?m)^Switch\t.* port 0 lid (\d+) lmc", seen)
        ends = re.findall(r"(?m)^\[\d+\]\(\w+\) .*\t# lid (\d+) lmc", seen)
        self.assertEqual(len(switches), len([n for n in piece if known.kinds[n] == "Switch"]))
        self.assertNotIn("0", switches + ends)
        self.assertEqual(len(set(switches + ends)), len(switches + ends))
        return len(ends)

    def judge_paths(self, fabricd, ends):
        """ibdmchk finds each path between two CA ports and no credit loop."""
        # Debian's ibdmchk dies in its own clean-up after the last verdict: what it says counts.
        report = self.run_program(
            ["ibdmchk", "-s", os.path.join(fabricd.dumps, "opensm-subnet.lst"),
             "-f", os.path.join(fabricd.dumps, "opensm.fdbs"),
             "-m", os.path.join(fabricd.dumps, "opensm.mcfdbs")], code=None)
        self.assertNotIn("-E-", report)
        if ends > 1:
            self.assertIn("-I- Scanned:%d CA to CA paths" % (ends * (ends - 1)), report)
        self.assertIn("-I- no credit loops found", report)

    def come_up_in_the_simulator(self, fabricd, topology):
        fabricd.once(fabric="sim:" + topology)
        for dump in ("opensm-subnet.lst", "opensm.fdbs"):
            self.assertGreater(os.path.getsize(os.path.join(fabricd.dumps, dump)), 0)


def add_tests():
    """One method a file, so that ctest and a reader see which one fails."""
    if not os.path.isdir(ibsim.TOPOLOGIES):
        print("skipped: %s is absent" % ibsim.TOPOLOGIES, file=sys.stderr)
        sys.exit(ibsim.SKIPPED)
    for folder, _, files in os.walk(ibsim.TOPOLOGIES):
        for file in files:
            name = os.path.relpath(os.path.join(folder, file), ibsim.TOPOLOGIES)
            if not re.search(r"\.net$|\.ibnetdiscover", name):
                continue
            method = "test_" + re.sub(r"\W", "_", name)
            setattr(TopologiesTest, method, lambda self, name=name: self.bring_up(name))


if __name__ == "__main__":
    add_tests()
    ibsim.main(["ibsim", "iblinkinfo", "ibnetdiscover", "ibdmchk"])
