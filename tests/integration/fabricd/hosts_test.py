#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator asks about hosts when something is wrong with them, on an embedded fabric: NICs
and hosts that have vanished, ports that are held, cables that are misplaced, words that are misspelt.

usage: hosts_test.py BIN_DIR [TEST...]
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

USAGE, NOT_FOUND = 2, 3


class Running(ibsim.Case):
    FABRIC = "sim:superpod:sus=2,hosts=4,rails=4"

    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self)
        self.start_fabricd()

    def start_fabricd(self):
        self.fabricd.start(fabric=self.FABRIC)
        self.fabricd.wait_for("subnet_up")


class Hosts(Running):
    def end_of(self, host, nic):
        """The switch port that faces the NIC."""
        peer = self.fabricd.ask("get", "port", "%s/mlx5_%d/1" % (host, nic))["peer"]
        return "%s/%d" % (peer["node_name"], peer["number"])

    def readiness(self, host):
        return self.fabricd.ctl("readiness", host, "-o", "wide", "--no-headers", code=None)

    def wait_for_hosts(self, number):
        self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, "wait", "sm", "--for",
                         "hosts=%d" % number)

    def test_a_nic_that_has_vanished(self):
        end = self.end_of("node0003", 2)
        self.fabricd.ctl("sim", "unlink", end)
        self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, "wait", "sm", "--for", "nodes=41")
        told = self.fabricd.ctl("describe", "host", "node0003")
        self.assertRegex(told, r"Readiness: DEGRADED")
        self.assertIn("mlx5_2 is not on the fabric", told)
        self.assertRegex(told, r"LinkDown +.*node0003 mlx5_2/1")
        for name in ("node0003", "node0003 mlx5_2", "node0003/mlx5_2", end.split("/")[0]):
            events = self.fabricd.ask("events", "--node", name, "--types", "LinkDown")["events"]
            self.assertEqual(len(events), 1, name)
            self.assertIn("node0003 mlx5_2/1", events[0]["subject"])
        self.fabricd.ctl("events", "--node", "node9999", code=NOT_FOUND)

    def test_a_port_that_is_disabled_holds_the_host_behind_it(self):
        end = self.end_of("node0004", 1)
        self.fabricd.ctl("disable", "port", end, "--reason", "bit errors", "--force", "--wait")
        for _ in range(2):
            line = self.readiness("node0004")
            self.assertRegex(line, r"^node0004 +HELD +3/4 +mlx5_1: disable of port")
            self.assertIn("bit errors", self.fabricd.ctl("describe", "host", "node0004"))
            # A restart forgets what hung there, the hold does not.
            self.fabricd.kill()
            self.start_fabricd()

    def test_a_host_that_has_left(self):
        self.fabricd.ctl("cordon", "node0006", "--reason", "swap the board")
        for host in ("node0005", "node0006"):
            for nic in range(4):
                self.fabricd.ctl("sim", "unlink", self.end_of(host, nic))
        self.wait_for_hosts(6)
        self.assertRegex(self.readiness("node0005"), r"^node0005 +LOST +0/4 +it has left the fabric")
        self.assertRegex(self.readiness("node0006"), r"^node0006 +HELD +0/4 +cordon of host")
        self.assertIn("LOST", self.fabricd.ctl("describe", "host", "node0005"))
        held = self.fabricd.ctl("describe", "host", "node0006")
        self.assertRegex(held, "^● node0006 — HELD")
        self.assertIn("swap the board", held)
        self.fabricd.ctl("describe", "host", "node0099", code=NOT_FOUND)
        self.assertRegex(held, "(?m)^Holds:\n(.*\n)*1 +cordon")

    def test_a_failed_spine_loses_no_pairs(self):
        told = self.fabricd.ask("plan", "--fail", "spine1")
        self.assertEqual(told["first"]["pairs_lost"], 0, told)

    def test_misspelt_words(self):
        told = self.fabricd.ctl("events", "--types", "LinkDwn", code=USAGE)
        self.assertIn('"LinkDwn" is no type of event; there are CommonCauseEnded', told)
        told = self.fabricd.ctl("get", "ports", "-l", "state=ACTVE", code=USAGE)
        self.assertIn("none of DOWN, INIT, ARMED, ACTIVE", told)

    def test_device_texts_cannot_drive_a_terminal(self):
        told = self.fabricd.ctl("cordon", "node0002", "--reason", "a\x1b[2Jb", code=USAGE)
        self.assertIn("reason: has the control character U+001B", told)
        self.assertNotIn("\x1b", told)


class Misplaced(Running):
    FABRIC = "sim:superpod:sus=2,hosts=4,rails=4,swap-cables=1,seed=3"

    def test_one_misplaced_cable_keeps_leaves_in_their_rails(self):
        for rail in range(4):
            leaves = self.fabricd.ask("get", "switches", "-l", "rail=%d" % rail)["nodes"]
            self.assertEqual([re.sub("-.*", "", leaf["name"]) for leaf in leaves], ["su1", "su2"])


if __name__ == "__main__":
    ibsim.main([])
