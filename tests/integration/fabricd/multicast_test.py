#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts on ibsim join multicast groups and leave them. The switches' tables are read by dump_fts,
walked here and judged by ibdmchk; what is set is compared with what opensm sets.

usage: multicast_test.py BIN_DIR [TEST...]
"""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import wire  # noqa: E402

JOIN = os.path.join(os.path.dirname(ibsim.__file__), "join.py")
SM_HOST = "H-0002c90200000000"
SPINE = "S-0002c90100000200"
BROADCAST = "ff12:401b:ffff::ffff:ffff"  # IPoIB's, of the default partition.
OTHERS = ["ff12:401b:ffff::%x" % number for number in range(1, 6)]


def host(number):
    return "H-%016x" % (0x0002c90200000000 + number * 0x100)


def gid(node):
    guid = "%016x" % (int(node[2:], 16) + 1)  # Of ibsim's first port.
    return "fe80::" + ":".join(guid[at:at + 4] for at in range(0, 16, 4))


class OnIbsim(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.file = ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net")
        self.topology = ibsim.Topology(self.file)
        self.sim = ibsim.Ibsim(self, self.file)

    def change(self, what, number, *groups):
        """The MLIDs."""
        lid = re.search(r"sm lid (\d+)", self.sim.run(SM_HOST, "sminfo"))[1]
        return self.sim.run(host(number), sys.executable, JOIN, what, lid, gid(host(number)),
                            *groups).split()

    def tables(self):
        """{MLID: {switch: [port]}}, as the switches answer."""
        found, columns = {}, []
        for line in self.sim.run(SM_HOST, "dump_fts", "-M").splitlines():
            if head := re.search(r" guid 0x(\w+) ", line):
                switch = "S-" + head[1]
            elif "Ports:" in line:
                columns = [match.start() for match in re.finditer(r"\d+", line)]
            elif re.match(r"0x\w+ ", line):
                ports = [port for port, at in enumerate(columns) if line[at:at + 1] == "x"]
                found.setdefault(line.split()[0], {})[switch] = ports
        return found

    def reached(self, start, table):
        """Hosts that a packet of one host comes to; each time that it comes there."""
        hosts, packets = [], [self.topology.cables[start, 1]]
        while packets:
            switch, ingress = packets.pop()
            self.assertLess(len(hosts), 100, "a packet travels in a circle: %s" % table)
            for port in table.get(switch, []):
                if port == ingress:
                    continue
                peer = self.topology.cables[switch, port]
                (hosts if peer[0].startswith("H-") else packets).append(
                    peer[0] if peer[0].startswith("H-") else peer)
        return sorted(hosts)

    def fits(self, members, tables):
        """Whether each member reaches all others, once, and nobody else."""
        return all(self.reached(host(one), tables.get(mlid, {})) ==
                   sorted(host(other) for other in numbers if other != one)
                   for mlid, numbers in members.items() for one in numbers)

    def until(self, holds):
        deadline = time.monotonic() + ibsim.PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, self.tables())
            time.sleep(0.1)


class Trees(OnIbsim):
    def judge(self, members):
        """The tables of the devices, then what fabricd says that they are, by ibdmchk."""
        self.until(lambda: self.fits(members, self.tables()))
        dumps = self.path("judged")
        self.fabricd.ctl("dump", "--dir", dumps)
        with open(os.path.join(dumps, "opensm.mcfdbs"), encoding="utf-8") as file:
            said = {}
            for line in file:
                if line.startswith("Switch 0x"):
                    switch = "S-" + line.split()[1][2:]
                elif line.startswith("0x"):
                    mlid, _, ports = line.partition(" :")
                    said.setdefault(mlid.lower(), {})[switch] = [
                        int(port, 16) for port in ports.split()]
        self.assertEqual(said, self.tables())
        for mlid, numbers in members.items():
            self.until(lambda: self.described(mlid, len(numbers)) == said.get(mlid, {}))
        report = self.run_program(["ibdmchk"] + [
            word for option, name in (("-s", "opensm-subnet.lst"), ("-f", "opensm.fdbs"),
                                      ("-m", "opensm.mcfdbs"))
            for word in (option, os.path.join(dumps, name))], code=None)
        self.assertNotIn("-E-", report)
        self.assertIn("-I- Scanning all multicast groups for loops and connectivity", report)
        for mlid, numbers in members.items():
            if len(numbers) > 1:
                self.assertRegex(report, r"Multicast Group:%s has:" % mlid.upper().replace("X", "x"))

    def described(self, mlid, members):
        """{switch: [port]}, as the tree is shown to operators."""
        group = self.fabricd.ask("describe", "multicast", mlid)
        self.assertEqual(len(group["members"]), members)
        self.assertFalse([member for member in group["members"] if member.get("unserved")])
        return {"S-" + switch["guid"][2:]: sorted(
            [branch.get("port", 0) for branch in switch.get("branches", [])] +
            ([switch["up_port"]] if switch.get("up_port") else []))
                for switch in group.get("tree", [])}

    def test_hosts_join_and_leave_and_a_spine_fails(self):
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(self.sim.environment(SM_HOST))
        self.fabricd.wait_for("subnet_up")
        members = {}
        for number in range(0, 16, 3):
            for mlid in self.change("join", number, BROADCAST, *OTHERS[:1 + number // 3]):
                members.setdefault(mlid, []).append(number)
        self.judge(members)
        for mlid in self.change("leave", 3, BROADCAST):
            members["0xc000"].remove(3)
        self.judge(members)

        self.sim.console('Unlink "%s"' % SPINE)
        self.until(lambda: not any(SPINE in table for table in self.tables().values()))
        self.fabricd.wait_for("switches=7")
        self.judge(members)
        # A restart finds all of it as it should be.
        self.assertEqual(self.fabricd.stop(), 0)
        self.fabricd.start(self.sim.environment(SM_HOST))
        self.fabricd.wait_for("subnet_up")
        self.judge(members)


    def test_groups_of_opensm_are_taken_over(self):
        options = self.write("opensm.conf", "sa_db_dump TRUE\ndump_files_dir %s/\n" % self.folder)
        opensm = self.sim.start(SM_HOST, "opensm", "-F", options, "-f", "stdout")
        ibsim.Lines(opensm).wait_for("SUBNET UP")
        members = {}
        for number in range(0, 16, 3):
            for mlid in self.change("join", number, BROADCAST, *OTHERS[:1 + number // 3]):
                members.setdefault(mlid, []).append(number)
        self.until(lambda: self.fits(members, self.tables()))
        self.assertEqual(ibsim.stop(opensm, signal.SIGTERM), 0)
        # Of ibsim's hosts none hears of ClientReregister: nobody joins again.
        dump = self.path("opensm-sa.dump")
        self.fabricd = ibsim.Fabricd(self, "sm: {sa_db_file: %s}\n" % dump)
        self.fabricd.start(self.sim.environment(SM_HOST))
        self.fabricd.log.wait_for("opensm-sa.dump: 6 groups with 26 members, 0 services")
        self.fabricd.wait_for("subnet_up")
        self.until(lambda: self.fits(members, self.tables()))
        with open(dump, "a", encoding="utf-8") as file:
            file.write("mcm_port: port_gid=0x1\n")
        with open(dump, encoding="utf-8") as file:
            line = len(file.readlines())
        said = self.run_program(self.fabricd.command("--check-config"), code=2)
        self.assertIn("sm.sa_db_file: %s: line %d: no `:0x`" % (dump, line), said)


class Wire(OnIbsim):
    """Each step: which of a host's leaf's ports are set, and how many Sets there are."""

    def setUp(self):
        super().setUp()
        ibsim.shared(self, "wire")
        self.oracle = wire.Oracle()
        self.addCleanup(self.oracle.remove)
        self.trace = self.path("trace")
        self.environment = self.oracle.environment(self.sim, SM_HOST, self.trace)
        self.seen = 0

    def sets(self):
        """[(leaf or None, masks)] of the MFT Sets since the last call. Which spine carries a tree
        is a matter of routing, and so are the ports that lead there."""
        to_hosts = 0x1E  # Ports 1 to 4 of a leaf.
        found = []
        for kind, node, _, mad in self.oracle.sets(self.trace, self.seen):
            if kind != "MFT":
                continue
            is_leaf = self.topology.cables["S-" + node, 1][0].startswith("H-")
            masks = [int(mask.partition("=")[2], 16) & to_hosts
                     for mask in mad.fields()["masks"].split(",") if "=" in mask]
            found.append((node if is_leaf else "", masks if is_leaf else []))
        self.seen = len(self.oracle.read(self.trace).mads)
        return sorted(found)

    def steps(self):
        done = []
        self.seen = len(self.oracle.read(self.trace).mads)
        members = {"0xc000": []}
        for number in (4, 5, 9):
            self.change("join", number, BROADCAST)
            members["0xc000"].append(number)
            self.until(lambda: self.fits(members, self.tables()))
            done.append(self.sets())
        self.assertEqual(done[0], [])  # One member reaches nobody.
        self.change("leave", 9, BROADCAST)
        members["0xc000"].remove(9)
        self.until(lambda: self.fits(members, self.tables()))
        self.change("leave", 5, BROADCAST)
        self.until(lambda: not self.tables())
        return done

    def opensm(self):
        options = self.write("opensm.conf", "sweep_interval 1\nforce_log_flush TRUE\n")
        process = self.start(["opensm", "-F", options, "-f", "stdout"], self.environment)
        ibsim.Lines(process).wait_for("SUBNET UP")
        return process

    def test_sets_the_same_attributes_as_opensm(self):
        process = self.opensm()
        theirs = self.steps()
        ibsim.stop(process)
        os.remove(self.trace)
        self.sim = ibsim.Ibsim(self, self.file)
        self.environment = self.oracle.environment(self.sim, SM_HOST, self.trace)
        fabricd = ibsim.Fabricd(self)
        fabricd.start(self.environment)
        fabricd.wait_for("subnet_up")
        self.assertEqual(self.steps(), theirs)
        # opensm fills AttributeOffset in answers of one record too; it tells where the next one is.
        broken = self.oracle.broken_rules(self.trace)
        self.assertTrue(all(line.endswith("MCMemberRecord lid:%s : offset 0, expected 7" %
                                          line.partition("lid:")[2].partition(" ")[0])
                            for line in broken.pop("sa", "").splitlines()[1:]))
        self.assertEqual(broken, {})


if __name__ == "__main__":
    ibsim.main(["ibsim", "dump_fts", "ibdmchk", "opensm", "sminfo"])
