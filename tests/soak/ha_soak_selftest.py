#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each check of tools/ha-soak must see what it is for, and must not see it in a good round.

usage: ha_soak_selftest.py TOOLS_HA_SOAK
"""
import collections
import importlib.machinery
import importlib.util
import sys
import unittest

PATH = sys.argv.pop(1)
loader = importlib.machinery.SourceFileLoader("ha_soak", PATH)
ha_soak = importlib.util.module_from_spec(importlib.util.spec_from_loader("ha_soak", loader))
loader.exec_module(ha_soak)

Port = collections.namedtuple("Port", "lid sm_lid")


def dump(**changed):
    """Four ports with LIDs 1 to 4 whose master has LID 1."""
    ports = {"a": Port(1, 1), "b": Port(2, 1), "c": Port(3, 1), "d": Port(4, 1)}
    return {**ports, **changed}


class Sets(unittest.TestCase):
    BEFORE = {"PortInfo.Get": 10, "LinearForwardingTable.Set": 7}

    def faults(self, causes=("kill", "holds"), **more):
        after = collections.Counter(self.BEFORE)
        after.update({name.replace("_Set", ".Set"): count for name, count in more.items()})
        return ha_soak.check_sets(self.BEFORE, after, causes, ports=24)

    def test_naming_the_master_is_right(self):
        self.assertEqual(self.faults(PortInfo_Set=24), [])

    def test_a_port_that_is_set_twice_is_not(self):
        self.assertIn("25 PortInfo.Set", self.faults(PortInfo_Set=25)[0])

    def test_tables_of_an_unchanged_fabric_are_not(self):
        for name in ("LinearForwardingTable", "MulticastForwardingTable", "P_KeyTable",
                     "SwitchInfo", "GUIDInfo", "VLArbitrationTable"):
            with self.subTest(name):
                self.assertIn("1 %s.Set" % name, self.faults(**{name + "_Set": 1})[0])

    def test_sets_that_a_load_causes_are_right(self):
        self.assertEqual(self.faults(("holds", "flaps"), LinearForwardingTable_Set=3), [])
        self.assertEqual(self.faults(("holds", "partitions"), P_KeyTable_Set=3), [])
        self.assertEqual(self.faults(("port-loss", "holds"), LinearForwardingTable_Set=3), [])
        self.assertEqual(len(self.faults(("holds", "partitions"), LinearForwardingTable_Set=3)), 1)


class Numbers(unittest.TestCase):
    def test_reregistration(self):
        self.assertEqual(ha_soak.check_reregisters("kill", 0), [])
        self.assertEqual(ha_soak.check_reregisters("partition", 16), [])
        self.assertEqual(len(ha_soak.check_reregisters("kill", 1)), 1)

    def test_sets_of_a_fabricd_while_opensm_is_master_are_a_fault(self):
        before = {"PortInfo.Set": 7, "SMInfo.Get": 1}
        for more, faults in (({"SMInfo.Get": 9}, 0), ({"PortInfo.Set": 10}, 0),
                             ({"PortInfo.Set": 11}, 1), ({"SwitchInfo.Set": 4}, 1)):
            self.assertEqual(
                len(ha_soak.check_idle("head1", before, dict(before, **more))), faults, more)

    def test_p_keys_of_a_port(self):
        ledger = {("partition", "0x0101"): "0x1 0x2", ("partition", "0x0102"): None,
                  ("partition", "0x0103"): ha_soak.UNKNOWN, ("hold", "node0002"): "CORDON"}
        good = {"0x1": {0x101, 0x103, 0x7fff}, "0x2": {0x101}, "0x3": {0x7fff}}
        self.assertEqual(ha_soak.check_keys(ledger, good), [])
        for port, keys in (("0x1", {0x103}), ("0x3", {0x101}), ("0x3", {0x102})):
            self.assertEqual(len(ha_soak.check_keys(ledger, dict(good, **{port: keys}))), 1)

    def test_late_sets(self):
        self.assertEqual(ha_soak.check_late_sets(3), [])
        self.assertEqual(len(ha_soak.check_late_sets(4)), 1)

    def test_time(self):
        self.assertEqual(ha_soak.check_time("kill", 2.9, 3), [])
        self.assertEqual(len(ha_soak.check_time("kill", 3.1, 3)), 1)
        self.assertEqual(ha_soak.check_time("kill", None, 3), ["nobody took over"])
        self.assertEqual(ha_soak.check_time("partition", None, 3), [])
        self.assertEqual(ha_soak.check_time("partition", 9, 3), [])


class Fabric(unittest.TestCase):
    def faults(self, second):
        lids = ha_soak.Lids()
        self.assertEqual(lids.check(dump()), [])
        return lids.check(second)

    def test_lids_that_stay_are_right(self):
        self.assertEqual(self.faults(dump()), [])

    def test_a_changed_lid(self):
        self.assertEqual(self.faults(dump(b=Port(5, 1))), ["port b had LID 2, and has 5"])

    def test_a_lid_that_is_lost(self):
        self.assertEqual(self.faults(dump(b=Port(0, 0))), ["port b has lost its LID 2"])

    def test_a_lid_that_two_have(self):
        self.assertEqual(self.faults(dump(e=Port(2, 1))), ["LID 2 of port b was given to e"])

    def test_a_lid_of_a_port_that_has_gone(self):
        later = dump(e=Port(2, 1))
        del later["b"]
        self.assertEqual(self.faults(later), ["LID 2 of port b was given to e"])

    def test_the_master_that_ports_name(self):
        self.assertEqual(ha_soak.check_named(dump(), 1), [])
        self.assertEqual(len(ha_soak.check_named(dump(d=Port(4, 2)), 1)), 1)
        self.assertEqual(ha_soak.check_named(dump(d=Port(0, 0)), 1), [])

    def test_one_master(self):
        self.assertEqual(ha_soak.check_masters({"x": "MASTER", "y": "NOT-ACTIVE"}), [])
        self.assertEqual(len(ha_soak.check_masters({"x": "MASTER", "y": "MASTER"})), 1)
        self.assertEqual(len(ha_soak.check_masters({"x": "STANDBY", "y": "no answer"})), 1)


class Acknowledged(unittest.TestCase):
    HELD, FREE, ASKED = ("hold", "x"), ("hold", "y"), ("hold", "z")

    def setUp(self):
        self.ledger = ha_soak.Ledger()
        for key, value in ((self.HELD, "CORDON"), (self.FREE, None)):
            self.ledger.ask(key)
            self.ledger.acknowledge(key, value)
        self.ledger.ask(self.ASKED)

    def test_acknowledged_state_that_is_there_is_right(self):
        self.assertEqual(self.ledger.check({self.HELD: "CORDON"}), [])

    def test_without_an_answer_both_states_are_right(self):
        self.assertEqual(self.ledger.check({self.HELD: "CORDON", self.ASKED: "CORDON"}), [])

    def test_a_lost_hold(self):
        self.assertIn("hold x: CORDON was acknowledged", self.ledger.check({})[0])

    def test_a_lifted_hold_that_is_back(self):
        found = {self.HELD: "CORDON", self.FREE: "CORDON"}
        self.assertIn("hold y: None was acknowledged", self.ledger.check(found)[0])

    def test_a_hold_of_another_kind(self):
        self.assertEqual(len(self.ledger.check({self.HELD: "DRAIN"})), 1)

    def test_a_hold_without_a_request(self):
        found = {self.HELD: "CORDON", ("hold", "w"): "CORDON"}
        self.assertEqual(self.ledger.check(found), ["hold w: nobody has asked for it"])

    def test_a_request_without_an_answer_leaves_its_hold_unknown(self):
        self.ledger.ask(self.HELD)
        self.assertEqual(self.ledger.check({}), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
