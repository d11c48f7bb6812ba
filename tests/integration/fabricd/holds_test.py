#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cordon, drain, isolate, disable and their inverses on ibsim: what fabricctl is told is judged by
infiniband-diags, which read the simulated switches themselves.

usage: holds_test.py BIN_DIR [TEST...]
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

# Two leaves with two hosts each, three spines: a spine can go, a leaf cannot.
FABRIC = """\
Switch 8 "spine1"
[1] "leaf1"[6]
[2] "leaf2"[6]

Switch 8 "spine2"
[1] "leaf1"[7]
[2] "leaf2"[7]

Switch 8 "spine3"
[1] "leaf1"[8]
[2] "leaf2"[8]

Switch 8 "leaf1"
[1] "node1 mlx5_0"[1]
[2] "node2 mlx5_0"[1]
[6] "spine1"[1]
[7] "spine2"[1]
[8] "spine3"[1]

Switch 8 "leaf2"
[1] "node3 mlx5_0"[1]
[2] "node4 mlx5_0"[1]
[6] "spine1"[2]
[7] "spine2"[2]
[8] "spine3"[2]

Hca 1 "node1 mlx5_0"
[1] "leaf1"[1]

Hca 1 "node2 mlx5_0"
[1] "leaf1"[2]

Hca 1 "node3 mlx5_0"
[1] "leaf2"[1]

Hca 1 "node4 mlx5_0"
[1] "leaf2"[2]
"""
REASON = ("--reason", "integration test")
SM = "node1 mlx5_0"


class OnHolds(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.sim = ibsim.Ibsim(self, self.write("holds.net", FABRIC))
        self.fabricd = ibsim.Fabricd(
            self, "sweep: {light_interval: 500ms}\nrouting: {settle_after: 300ms}\n")
        self.bring_up()
        self.nodes = {node["name"]: node for node in self.fabricd.ask("get", "nodes")["nodes"]}

    def bring_up(self):
        self.fabricd.start(self.sim.environment(SM))
        self.fabricd.wait_for("subnet_up")

    def diag(self, *command, code=0):
        return self.sim.run(SM, *command, code=code)

    def lid(self, name):
        return self.nodes[name]["end_ports"][0]["lid"]

    def make(self, *words):
        """A hold, waited for until it is in effect; its id."""
        made = json.loads(self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, *words, *REASON,
                                           "-o", "json"))
        self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, "wait", "hold", made["hold"]["id"],
                         "--for", "in-effect")
        return made["hold"]["id"]

    def holds(self):
        answer = self.fabricd.ask("get", "holds")
        return {hold["id"]: hold for hold in answer["holds"]}

    def is_held(self, host):
        """ibsim's links support more than they run at: what is not held is DEGRADED."""
        told = self.fabricd.ctl("readiness", host, "-o", "json", code=1)
        return json.loads(told[:told.rindex("}") + 1])["hosts"][0]["readiness"] == "READINESS_HELD"

    def tables(self):
        """Each switch's table as ibroute reads it from the switch: name -> {LID: port}."""
        tables = {}
        for name, node in self.nodes.items():
            if node["type"] != "SWITCH":
                continue
            text = self.diag("ibroute", str(self.lid(name)))
            tables[name] = {int(lid, 16): int(port) for lid, port in
                            re.findall(r"(?m)^(0x\w+) (\d+) :", text)}
        return tables

    def way(self, source, destination):
        """The nodes that ibtracert passes."""
        text = self.diag("ibtracert", str(self.lid(source)), str(self.lid(destination)))
        return re.findall(r'"([^"]+)"', text)

    def hosts(self):
        return [name for name, node in self.nodes.items() if node["type"] == "CA"]

    def physical(self, switch, port):
        """(LinkState, PhysLinkState) by ibportstate."""
        # It fails at the peer port, which it asks for by a route that ibsim does not carry.
        text = self.diag("ibportstate", str(self.lid(switch)), str(port), "query", code=None)
        return (re.search(r"LinkState:\.*(\w+)", text)[1],
                re.search(r"PhysLinkState:\.*(\w+)", text)[1])

    def wait_for_ideal(self, before):
        """Until the tables are those of before; the re-optimised plan may take more than one push."""
        self.fabricd.wait_for("subnet_up")
        for _ in range(600):
            if self.tables() == before:
                return
            self.fabricd.ctl("sweep", "--wait")
        self.assertEqual(self.tables(), before)


class Routes(OnHolds):
    """What holds do to the tables."""

    def test_cordon_moves_nothing(self):
        before = self.tables()
        hold = self.make("cordon", "host", "node3")
        self.assertEqual(self.tables(), before)
        self.assertTrue(self.is_held("node3"))
        self.assertFalse(self.is_held("node2"))
        self.assertIn("Cordoned", self.fabricd.ctl("get", "hosts", "node3"))
        # The same again is the same hold.
        again = self.fabricd.ctl("cordon", "node3", *REASON)
        self.assertIn("already cordoned (hold %s)" % hold, again)
        self.fabricd.ctl("uncordon", "node3")
        self.assertFalse(self.is_held("node3"))
        self.fabricd.ctl("uncordon", "node3", code=3)
        self.assertEqual(self.holds(), {})

    def test_drained_switch_carries_no_path(self):
        before = self.tables()
        used = {name for a in self.hosts() for b in self.hosts() if a != b
                for name in self.way(a, b)}
        self.assertIn("spine3", used)
        told = self.fabricd.ctl("drain", "switch", "spine3", *REASON, "--dry-run=server")
        self.assertRegex(told, r"Paths moved: +[1-9]")
        self.assertEqual(self.tables(), before, "a dry run has changed tables")
        self.make("drain", "switch", "spine3")
        tables = self.tables()
        for leaf in ("leaf1", "leaf2"):
            for name in self.nodes:
                if name != "spine3":
                    self.assertNotEqual(tables[leaf].get(self.lid(name)), 8, (leaf, name))
        for a in self.hosts():
            for b in self.hosts():
                if a != b:
                    self.assertNotIn("spine3", self.way(a, b))
        # It is still there to be looked after.
        self.assertEqual(self.way("node1 mlx5_0", "spine3")[-1], "spine3")
        self.assertIn("Drained", self.fabricd.ctl("get", "switch", "spine3"))
        self.assertEqual(self.physical("leaf1", 8), ("Active", "LinkUp"))
        self.fabricd.ctl("undrain", "switch", "spine3")
        self.wait_for_ideal(before)

    def test_drained_link_and_port(self):
        before = self.tables()
        self.make("drain", "link", "leaf1/8")
        for lid, port in self.tables()["leaf1"].items():
            self.assertNotEqual(port, 8, lid)
        self.fabricd.ctl("undrain", "link", "leaf1/8")
        self.wait_for_ideal(before)

    def test_isolated_host_has_no_route(self):
        before = self.tables()
        self.make("isolate", "host", "node4")
        # What other switches still have for it ends at its own leaf.
        self.assertNotIn(self.lid("node4 mlx5_0"), self.tables()["leaf2"])
        lids = [str(self.lid(name)) for name in ("node2 mlx5_0", "node4 mlx5_0")]
        self.assertNotIn("To ca", self.diag("ibtracert", *lids, code=None))
        self.assertEqual(self.physical("leaf2", 2), ("Active", "LinkUp"))
        self.fabricd.ctl("release", "host", "node4")
        self.wait_for_ideal(before)

    def test_guards_refuse(self):
        before = self.tables()
        self.assertIn("connectivity",
                      self.fabricd.ctl("drain", "switch", "leaf2", *REASON, code=6))
        told = self.fabricd.ctl("drain", "switch", "leaf2", *REASON, "--dry-run=server", code=6)
        self.assertRegex(told, r"Cut off: +node[34] mlx5_0/1")
        self.assertIn("SM's own path", self.fabricd.ctl("isolate", "node1", *REASON, code=6))
        # Not even by force: nobody could enable it again.
        self.fabricd.ctl("disable", "node1", *REASON, "--force", code=6)
        self.assertEqual(self.holds(), {})
        self.assertEqual(self.tables(), before)

    def test_usage_errors_and_unknown_targets(self):
        self.fabricd.ctl("drain", "node3", code=2)                       # No reason.
        self.fabricd.ctl("drain", "nothing", *REASON, code=3)
        self.fabricd.ctl("drain", "switch", "node3", *REASON, code=3)
        self.fabricd.ctl("cordon", "node[3-", *REASON, code=2)
        self.fabricd.ctl("ack", "99", code=3)

    def test_others_holds_stay(self):
        self.fabricd.ctl("cordon", "node[3-4]", *REASON, "--owner", "slurm")
        self.assertEqual(len(self.holds()), 2)
        self.fabricd.ctl("uncordon", "node3", code=3)
        self.fabricd.ctl("uncordon", "node3", "--owner", "slurm")
        self.fabricd.ctl("uncordon", "node4", "--all-owners")
        self.assertEqual(self.holds(), {})


class Ports(OnHolds):
    """Ports that are down, and all kinds of holds over a kill."""

    def test_disabled_port_is_down_until_it_is_enabled(self):
        before = self.tables()
        self.assertEqual(self.physical("leaf2", 2), ("Active", "LinkUp"))
        self.make("disable", "host", "node4")
        self.assertEqual(self.physical("leaf2", 2)[1], "Disabled")
        self.assertTrue(self.is_held("node4"))
        self.fabricd.ctl("enable", "host", "node4")
        self.fabricd.wait_for("subnet_up")
        # ibsim trains no link: what was disabled and is enabled again stays at Polling.
        self.assertNotEqual(self.physical("leaf2", 2)[1], "Disabled")
        # Nothing else moved; what leads to the host stays for when it comes back.
        del before["leaf2"][self.lid("node4 mlx5_0")]
        self.assertEqual(self.tables(), before)

    def test_holds_survive_a_kill(self):
        made = [self.make("cordon", "node3"), self.make("drain", "switch", "spine2"),
                self.make("isolate", "host", "node4"),
                self.make("disable", "port", "leaf2[7]", "--for", "2h")]
        before = self.holds()
        self.assertEqual(set(before), set(made))
        self.assertEqual(self.physical("leaf2", 7)[1], "Disabled")
        self.fabricd.kill()
        self.bring_up()
        for hold in made:
            self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, "wait", "hold", hold,
                             "--for", "in-effect")
        after = self.holds()
        for hold in made:
            for field in ("kind", "target", "owner", "reason", "created", "expires"):
                self.assertEqual(after[hold].get(field), before[hold].get(field), (hold, field))
        self.assertEqual(self.physical("leaf2", 7)[1], "Disabled")
        for a in ("node1 mlx5_0", "node2 mlx5_0"):
            self.assertNotIn("spine2", self.way(a, "node3 mlx5_0"))
        # And what they hold is let go when they are lifted.
        self.fabricd.ctl("enable", "port", "leaf2[7]")
        self.fabricd.ctl("release", "node4")
        self.fabricd.ctl("undrain", "spine2")
        self.fabricd.ctl("uncordon", "node3")
        self.assertEqual(self.holds(), {})
        self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, "wait", "host", "node[1-4]",
                         "--for", "released")


class History(OnHolds):
    """The events of a hold."""

    def test_events_record_holds_and_reroutes(self):
        self.make("drain", "switch", "spine1")
        events = self.fabricd.ask("events", "--since", "10m")["events"]
        types = [event["type"] for event in events]
        for wanted in ("HoldCreated", "HoldInEffect", "RerouteCompleted"):
            self.assertIn(wanted, types)
        reroute = [event for event in events if event["type"] == "RerouteCompleted"][-1]["reroute"]
        self.assertGreater(reroute["blocks_written"], 0)
        self.assertGreater(reroute["smps_sent"], 0)
        self.assertLessEqual(reroute["planned_ms"], reroute["applied_ms"])


if __name__ == "__main__":
    ibsim.main(["ibsim", "ibroute", "ibtracert", "ibportstate"])
