#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The means to check counters from outside (tests/support/counters.py) on a fabric that fabricd
manages: what ibsim's console sets, perfquery and ibqueryerrors read. And fabricd on a kernel that
refuses the vendors' management class.

usage: counters_test.py BIN_DIR [TEST...]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import counters  # noqa: E402
import ibsim  # noqa: E402

FABRIC = os.path.join(ibsim.ROOT, "tests", "integration", "umad", "three_hosts.net")

EXTENDED = """\
# Port extended counters: Lid 2 port 255 (CapMask: 0x1300 CapMask2: 0x0000000)
PortSelect:......................255
CounterSelect:...................0x0000
PortXmitData:....................5000000000
"""
TRAFFIC = """\
Data Counters for 0x200000 "leaf"
   GUID 0x200000 port 2: [PortXmitData == 5000003816 (18.626GB)] [PortRcvPkts == 62 (62.000)]

## Summary: 4 nodes checked, 0 bad nodes found
##          7 ports checked, 0 ports have errors beyond threshold
## Thresholds:
## Suppressed:
"""


class Texts(ibsim.Case):
    def test_reads_blocks_of_perfquery(self):
        (reading,) = counters.parse_perfquery(EXTENDED)
        self.assertEqual(reading, (2, 255, 0x1300, True, {"PortXmitData": 5000000000}))
        self.assertEqual(len(counters.parse_perfquery(EXTENDED + EXTENDED)), 2)

    def test_reads_traffic_of_ibqueryerrors(self):
        report = counters.parse_ibqueryerrors(TRAFFIC)
        self.assertEqual(report.ports,
                         {(0x200000, 2): {"PortXmitData": 5000003816, "PortRcvPkts": 62}})
        self.assertEqual(report.names, {0x200000: "leaf"})
        self.assertEqual((report.bad_nodes, report.ports_checked, report.bad_ports), (0, 7, 0))

    def test_refuses_unknown_texts(self):
        for text in (EXTENDED + "iberror: failed", "PortXmitData:....1\n"):
            with self.assertRaises(counters.Unread):
                counters.parse_perfquery(text)
        for text in (TRAFFIC + "oops", TRAFFIC.replace(" == 62", " = 62"), "",
                     TRAFFIC[:TRAFFIC.index("##")]):
            with self.assertRaises(counters.Unread):
                counters.parse_ibqueryerrors(text)

    def test_a_cleared_counter_has_a_negative_delta(self):
        self.assertEqual(counters.delta({"a": 5, "b": 1}, {"b": 1, "c": 2}), {"a": -5, "c": 2})


class OnIbsim(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.sim = ibsim.Ibsim(self, FABRIC)
        self.counters = counters.Counters(self.sim, "H-3")

    def bring_up(self, preload=""):
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(self.sim.environment("H-1", preload))
        self.fabricd.log.wait_for("subnet up")
        self.fabricd.wait_for("subnet_up")


class Outside(OnIbsim):
    def setUp(self):
        super().setUp()
        self.counters.set("S-1", 2, {"SymbolErrorCounter": 5})  # Before the subnet is up.
        self.bring_up()
        (leaf,) = self.fabricd.ask("get", "switches")["nodes"]
        self.leaf, self.lid = int(leaf["guid"], 16), leaf["end_ports"][0]["lid"]

    def test_both_programs_read_counters_that_were_set(self):
        before = self.counters.read(self.lid, 2)
        self.assertEqual(before["SymbolErrorCounter"], 5)
        self.counters.set("S-1", 2, {"SymbolErrorCounter": 9, "PortXmitDiscards": 77})
        self.counters.set("H-2", 1, {"PortRcvErrors": 3})
        changed = counters.delta(before, self.counters.read(self.lid, 2))
        errors = {name: value for name, value in changed.items()
                  if name not in ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")}
        self.assertEqual(errors, {"SymbolErrorCounter": 4, "PortXmitDiscards": 77})
        report = self.counters.report()
        hca = next(guid for guid, name in report.names.items() if name == "host2 sim_0")
        self.assertEqual(report.ports, {
            (self.leaf, 2): {"SymbolErrorCounter": 9, "PortXmitDiscards": 77},
            (hca, 1): {"PortRcvErrors": 3}})
        self.assertEqual(report.sums, {self.leaf: report.ports[self.leaf, 2]})
        self.assertEqual((report.bad_nodes, report.bad_ports), (2, 2))

    def test_values_above_the_maximum_are_clamped(self):
        taken = self.counters.set("S-1", 1, {"PortRcvErrors": 70000,
                                             "ExcessiveBufferOverrunErrors": 19})
        self.assertEqual(taken, {"PortRcvErrors": 65535, "ExcessiveBufferOverrunErrors": 15})
        self.assertEqual(self.counters.read(self.lid, 1)["PortRcvErrors"], 65535)

    def test_a_reset_leaves_the_extended_counters(self):
        self.counters.set("S-1", 2, {"PortXmitData": 5000000000}, "PortCountersExtended")
        self.counters.clear(self.lid, 2)
        self.assertEqual(self.counters.read(self.lid, 2)["SymbolErrorCounter"], 0)
        extended = self.counters.read(self.lid, 2, extended=True)
        self.assertGreaterEqual(extended["PortXmitData"], 5000000000)
        self.assertNotIn("SymbolErrorCounter", extended)
        traffic = self.counters.report("--data", "--counters").ports[self.leaf, 2]
        self.assertGreaterEqual(traffic["PortXmitData"], extended["PortXmitData"])

    def test_a_refused_command_fails(self):
        for node, port, name in (("S-9", 2, "PortRcvErrors"), ("S-1", 9, "PortRcvErrors"),
                                 ("S-1", 2, "Nonsense")):
            with self.assertRaisesRegex(AssertionError, "not found|bad port|cannot be found"):
                self.counters.set(node, port, {name: 1})


class Kernel(OnIbsim):
    def test_fabricd_manages_without_the_class_that_is_refused(self):
        self.bring_up(os.path.join(ibsim.Fabricd.bin, "..", "tests", "refuse_vendor.so"))
        refusals = [line for line in self.fabricd.log.text().splitlines()
                    if "cannot register management class 0x0a" in line]
        self.assertEqual(len(refusals), 1, self.fabricd.log.text())
        self.assertIn("the subnet is managed without it", refusals[0])
        self.assertEqual(self.fabricd.stop(), 0)


if __name__ == "__main__":
    ibsim.main(["ibsim", "perfquery", "ibqueryerrors"])
