#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricd as a running daemon on ibsim: infiniband-diags, run against the same ibsim, show what
fabricctl shows; and cables that are pulled and plugged in again.

usage: diags_test.py BIN_DIR [TEST...]
"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

TRAPS_ONLY = """\
sweep: {light_interval: 0s}
"""
NO_TRAPS = """\
sweep: {light_interval: 200ms, on_trap: false}
"""
SPEEDS = {"2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "14.0625": "FDR", "25.78125": "EDR",
          "53.125": "HDR"}
LINK = re.compile(
    r'^(?P<guid>0x\w+) ".*?"\s+(?P<lid>\d+)\s+(?P<port>\d+)\[..\] ==\(\s*'
    r'(?:(?P<width>\d+)X\s+(?P<speed>[\d.]+) Gbps\s+(?:\(FDR10\) )?)?(?P<state>\w+)/'
    r'\s*(?P<physical>\w+)\)==>'
    r'\s+(?:(?P<peer_guid>0x\w+)\s+(?P<peer_lid>\d+)\s+(?P<peer_port>\d+)\[)?')


def records(text):
    """ibnetdiscover's records of nodes, each with its lines, in any order; without the header."""
    body = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    return sorted(record.strip("\n") for record in re.split(r"\n\n+", body) if record.strip())


def told(text):
    """The lines of smpquery as a dictionary."""
    return dict(re.findall(r"(?m)^(\w+):\.*(.*)$", text))


class OnIbsim(ibsim.Case):
    def bring_up(self, topology, config=""):
        self.sim = ibsim.Ibsim(self, topology)
        self.host = ibsim.Topology(topology).host()
        self.fabricd = ibsim.Fabricd(self, config)
        self.fabricd.start(self.sim.environment(self.host))
        self.fabricd.log.wait_for("subnet up|standing by|ended: .*time-outs")
        self.fabricd.wait_for("subnet_up")

    def diag(self, *command, code=0):
        return self.sim.run(self.host, *command, code=code)

    def tables(self):
        """Each switch's forwarding table by ibroute: GUID -> {LID: port}."""
        tables = {}
        for switch in self.fabricd.ask("get", "switches")["nodes"]:
            text = self.diag("ibroute", str(switch["end_ports"][0]["lid"]))
            tables[switch["guid"]] = {int(lid, 16): int(port) for lid, port in
                                      re.findall(r"(?m)^(0x\w+) (\d+) :", text)}
        return tables

    def links(self):
        """iblinkinfo, a line a port: (GUID of the CA's port or of the switch, port) -> fields."""
        found = {}
        for line in self.diag("iblinkinfo", "-l").splitlines():
            link = LINK.match(line)
            self.assertTrue(link, line)
            found[link["guid"], int(link["port"])] = link.groupdict()
        return found

    def ends(self):
        """The LIDs of the CAs' ports that have one."""
        return [end["lid"] for node in self.fabricd.ask("get", "nodes")["nodes"]
                if node["type"] == "CA" for end in node["end_ports"] if end["lid"]]


class Agreement(OnIbsim):
    """Both sides read the same fabric: one by fabricd's API, one by MADs of their own."""

    def test_tree(self):
        self.bring_up(ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net"))
        self.agree()

    def test_irregular_fabric_with_parallel_cables(self):
        self.bring_up(ibsim.shared(self, "topologies", "psmn-X5.ibnetdiscover"))
        self.agree()

    def test_dual_port_adapters_and_loop_back_cables(self):
        self.bring_up(ibsim.shared(self, "topologies", "ufm-lab-small.ibnetdiscover"))
        self.agree()

    def test_rail_optimised_unit(self):
        text = self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricsim"), "generate",
                                 "superpod",
                                 "--hosts-per-su", "4", "--rails", "4", "--format", "ibsim"])
        self.bring_up(self.write("superpod.net", text))
        self.assertEqual(self.fabricd.ask("get", "sm")["hosts"], 4)
        self.agree()

    def agree(self):
        self.agree_on_the_sm()
        # FDR10 is told by a vendor's attribute alone; PortInfo calls it QDR.
        self.assertEqual(records(self.fabricd.ctl("topology", "-o", "ibnetdiscover")),
                         records(self.diag("ibnetdiscover").replace("FDR10", "QDR")))
        self.agree_on_links()
        self.agree_on_tables()
        self.agree_on_paths()
        self.agree_on_attributes()

    def agree_on_the_sm(self):
        ours = self.fabricd.ask("get", "sm")
        theirs = re.search(r"sm lid (\d+) sm guid (0x\w+), activity count \d+ priority (\d+) "
                           r"state \d SMINFO_(\w+)", self.diag("sminfo"))
        self.assertTrue(theirs)
        self.assertEqual((str(ours["lid"]), int(ours["guid"], 16), str(ours["priority"]),
                          ours["state"]),
                         (theirs[1], int(theirs[2], 16), theirs[3], theirs[4]))

    def agree_on_links(self):
        ours = {}
        for port in self.fabricd.ask("get", "ports")["ports"]:
            guid = port.get("end_port", {}).get("guid") or port["id"]["node_guid"]
            ours[guid, port["id"]["number"]] = port
        theirs = self.links()
        for key, link in theirs.items():
            port = ours[key]
            self.assertEqual(port["state"], {"INITIALIZE": "INIT"}.get(link["state"].upper(),
                                                                       link["state"].upper()), key)
            self.assertEqual(port["physical_state"], link["physical"], key)
            self.assertEqual("peer" in port, link["peer_guid"] is not None, key)
            if link["peer_guid"]:
                self.assertEqual((port["width"], port["speed"]),
                                 (int(link["width"]), SPEEDS[link["speed"]]), key)
                self.assertEqual(port["peer"]["number"], int(link["peer_port"]), key)
        self.assertEqual({key for key, port in ours.items() if port["state"] == "ACTIVE"
                          and port["id"]["number"]},
                         {key for key, link in theirs.items() if link["state"] == "Active"})
        sm = self.fabricd.ask("get", "sm")
        self.assertEqual(sm["links"], len(self.fabricd.ask("get", "links")["links"]))
        linked = sum(1 for link in theirs.values() if link["peer_guid"])
        self.assertEqual((2 * sm["links"], sm["ports_active"]), (linked, linked))

    def agree_on_tables(self):
        switches = self.fabricd.ask("get", "switches")["nodes"]
        self.assertTrue(switches)
        for switch in switches:
            lid = str(switch["end_ports"][0]["lid"])
            self.assertEqual(self.fabricd.ctl("routes", switch["guid"], "-o",
                                              "ibroute").split("\n"),
                             self.diag("ibroute", lid).split("\n"))

    def agree_on_paths(self):
        ends = self.ends()
        chosen = random.Random(1)
        for _ in range(8):
            source, destination = (str(lid) for lid in chosen.sample(ends, 2))
            self.assertEqual(self.fabricd.ctl("trace", source, destination, "-o", "ibtracert"),
                             self.diag("ibtracert", source, destination))

    def agree_on_attributes(self):
        ports = {(p["id"]["node_guid"], p["id"]["number"]): p
                 for p in self.fabricd.ask("get", "ports")["ports"]}
        nodes = self.fabricd.ask("get", "nodes")["nodes"]
        switches = [node for node in nodes if node["type"] == "SWITCH"]
        for node in switches[:2] + [node for node in nodes if node["type"] == "CA"][:3]:
            end = next(end for end in node["end_ports"] if end["lid"])
            info = told(self.diag("smpquery", "nodeinfo", str(end["lid"])))
            self.assertEqual((int(info["Guid"], 16), int(info["PortGuid"], 16),
                              int(info["NumPorts"]),
                              int(info["DevId"], 16), int(info["SystemGuid"], 16)),
                             (int(node["guid"], 16), int(end["guid"], 16), node["num_ports"],
                              node["device_id"], int(node["system_guid"], 16)))
            for (guid, number), port in ports.items():
                if guid == node["guid"] and "peer" in port:
                    self.agree_on_port(port, end["lid"], number)
        for switch in switches[:4]:
            info = told(self.diag("smpquery", "switchinfo", str(switch["end_ports"][0]["lid"])))
            details = switch["switch_details"]
            self.assertEqual((int(info["LinearFdbTop"]), int(info["LinearFdbCap"]),
                              int(info["McastFdbCap"])),
                             (details["linear_fdb_top"], details["linear_fdb_cap"],
                              details["multicast_fdb_cap"]))
            self.assertEqual((info["LifeTime"], info["StateChange"]), ("18", "0"))

    def agree_on_port(self, port, lid, number):
        info = told(self.diag("smpquery", "portinfo", str(lid), str(number)))
        self.assertEqual(info["LinkState"].upper(), port["state"])
        self.assertEqual((info["NeighborMTU"], info["MtuCap"]),
                         (str(port["mtu"]), str(port["mtu_supported"])))
        lanes = re.match(r"VL0(?:-(\d+))?$", info["OperVLs"])
        self.assertEqual(int(lanes[1] or 0) + 1, port["vls"])
        self.assertEqual((int(info["HoqLife"]), int(info["SMLid"])),
                         (port["hoq_life"], port["sm_lid"]))


class Cables(OnIbsim):
    """On 4-ary-2-tree.net: leaves SW-1-0..3 (S-…0, …5, …6, …7) under spines SW-0-0..3
    (…1 to …4)."""

    LEAF, SPINE = "S-0002c90100000000", "S-0002c90100000100"

    def setUp(self):
        super().setUp()
        self.tree = ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net")

    def change(self, command, why, ended="change ended"):
        """Types it on ibsim's console and waits until what it changed is programmed."""
        log = self.fabricd.log
        before = len(log.lines)
        self.sim.console(command)
        log.wait_for("RerouteCompleted: .*" + why, since=before)
        log.wait_for(ended, since=before)
        self.fabricd.wait_for("phase=IDLE")

    def follow(self, tables, switch, lid):
        """The (switch, port) pairs from a switch to a LID."""
        taken = []
        while tables[switch].get(lid):  # 0 is the switch itself, None no route.
            taken.append((switch, tables[switch][lid]))
            switch = self.peers.get(taken[-1])
            if switch is None or len(taken) > 20:
                break
        return taken

    def test_reroutes_around_a_cable_that_is_pulled(self):
        self.bring_up(self.tree, TRAPS_ONLY)
        before, links = self.tables(), self.links()
        guids = set(before)
        self.peers = {(guid, port): link["peer_guid"] for (guid, port), link in links.items()
                      if link["peer_guid"] in guids}
        leaf, spine = ("0x" + node[2:] for node in (self.LEAF, self.SPINE))
        broken = {(leaf, 5), (spine, 1)}
        far = next(lid for lid in self.ends() if before[leaf][lid] == 5)
        self.assertIn("[5] -> switch port {%s}[1]" % spine, self.diag("ibtracert", "1", str(far)))

        self.change('Unlink "%s"[5]' % self.LEAF, "trap 128")
        after = self.tables()
        path = self.diag("ibtracert", "1", str(far))
        self.assertNotIn(spine, path)
        self.assertEqual(path, self.fabricd.ctl("trace", "1", str(far), "-o", "ibtracert"))
        self.assertTrue(self.fabricd.ask("get", "sm")["subnet_up"])
        for destination in self.ends()[1:]:
            self.diag("ibtracert", "1", str(destination))
        # Traffic between hosts that did not need the cable keeps its way, entry for entry.
        hosts = set(self.ends())
        moved = ["%s LID %d from port %d to %s" % (guid, lid, port, after[guid].get(lid))
                 for guid, table in before.items() for lid, port in table.items()
                 if lid in hosts and after[guid].get(lid) != port
                 and not broken & set(self.follow(before, guid, lid))]
        self.assertEqual(moved, [], "moved though the way was whole")

        self.change('ReLink "%s"[5]' % self.LEAF, "trap 128")
        links = self.links()
        for key in broken:
            self.assertEqual((links[key]["state"], links[key]["physical"]), ("Active", "LinkUp"))
        self.assertEqual(self.fabricd.stop(), 0)

    def test_a_host_leaves_and_returns_with_its_lid(self):
        self.bring_up(self.tree, TRAPS_ONLY + "routing: {settle_after: 3s}\n")
        self.diag("ibtracert", "1", "7")
        before = self.tables()
        since = len(self.fabricd.log.lines)
        self.change('Unlink "H-0002c90200000600"[1]', "trap 128")
        self.assertEqual(self.tables(), before, "a host that goes moves nothing")
        self.fabricd.log.wait_for("settling ended", since=since)
        self.assertEqual(self.tables(), before, "and what leads to it stays")
        output = self.fabricd.ctl("trace", "1", "7", code=None)
        self.assertNotRegex(output, "H-7 ")
        self.assertTrue(self.fabricd.ask("get", "sm")["subnet_up"])
        self.assertEqual(self.fabricd.ask("get", "sm")["hosts"], 15)

        self.change('ReLink "H-0002c90200000600"[1]', "trap 128")
        self.assertIn("lid 7-7 \"H-7\"", self.diag("ibtracert", "1", "7"))
        self.assertEqual(self.tables(), before)
        self.assertEqual(self.links()["0x0002c90200000601", 1]["state"], "Active")

    def test_a_switch_leaves_and_returns(self):
        self.bring_up(self.tree, TRAPS_ONLY)
        whole = sorted(self.links())
        self.change('Unlink "%s"' % self.SPINE, "trap 128")
        self.fabricd.wait_for("switches=7")
        self.fabricd.wait_for("subnet_up")
        for lid in self.ends()[1:]:
            self.diag("ibtracert", "1", str(lid))
        self.change('ReLink "%s"' % self.SPINE, "trap 128")
        self.fabricd.wait_for("switches=8")
        self.fabricd.wait_for("ports_active=64")
        links = self.links()
        self.assertEqual(sorted(links), whole)
        self.assertEqual({link["state"]
                         for link in links.values() if link["peer_guid"]}, {"Active"})
        self.judge_paths()

    def test_a_light_sweep_finds_changes_without_traps(self):
        # By the switches' PortStateChange; one that was asked over the cable does not answer. Where
        # the first plan has nothing to write, the one for what it left pending is reported.
        found = "(light sweep|a time-out|a switch does not answer|a silent neighbour answers|"\
                "its switch was silent|pairs left pending): "
        self.bring_up(self.tree, NO_TRAPS)
        self.change('Unlink "%s"[5]' % self.LEAF, found, r"(?<!sweep) ended: ")
        self.assertNotIn("0x" + self.SPINE[2:], self.diag("ibtracert", "1", "5"))
        self.change('ReLink "%s"[5]' % self.LEAF, found, r"(?<!sweep) ended: ")
        self.assertEqual(self.links()["0x" + self.LEAF[2:], 5]["state"], "Active")

    def judge_paths(self):
        dumps = self.path("judged")
        self.fabricd.ctl("dump", "--dir", dumps)
        report = self.run_program(["ibdmchk"] + [
            word for option, file in (("-s", "opensm-subnet.lst"), ("-f", "opensm.fdbs"),
                                      ("-m", "opensm.mcfdbs"))
            for word in (option, os.path.join(dumps, file))], code=None)
        self.assertNotIn("-E-", report)
        self.assertIn("-I- Scanned:%d CA to CA paths" % (16 * 15), report)
        self.assertIn("-I- no credit loops found", report)


if __name__ == "__main__":
    ibsim.main(["ibsim", "iblinkinfo", "ibnetdiscover", "ibroute", "ibtracert", "sminfo",
                "smpquery",
                "ibdmchk"])
