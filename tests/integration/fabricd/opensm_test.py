#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricd beside opensm on one ibsim: who becomes master, handover both ways, takeover, and what is
left alone. Judged by sminfo, by opensm's own words, by ibnetdiscover's LIDs, and by recordings.

usage: opensm_test.py BIN_DIR [TEST...]
"""
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import wire  # noqa: E402

OURS, THEIRS = "H-0002c90200000000", "H-0002c90200000400"  # H-1 and H-5 of 4-ary-2-tree.net
OUR_GUID, THEIR_GUID = "0x2c90200000001", "0x2c90200000401"


def config(priority, sm_key="0x1"):
    return ("sm: {priority: %d, polling_timeout: 500ms, polling_retries: 1, sm_key: '%s'}\n"
            "sweep: {light_interval: 1s}\n" % (priority, sm_key))


class OpenSm(ibsim.Case):
    def setUp(self):
        super().setUp()
        topology = ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net")
        self.sim = ibsim.Ibsim(self, topology)

    def opensm(self, priority, *arguments, conf=""):
        """opensm on its host, until it has said that it is MASTER or STANDBY. `conf`: further lines
        of opensm.conf."""
        options = self.write("opensm.conf", "sminfo_polling_timeout 500\npolling_retry_number 2\n"
                             "sweep_interval 1\nforce_log_flush TRUE\n" + conf)
        self.theirs = self.sim.start(THEIRS, "opensm", "-F", options, "-f", "stdout", "-p",
                                     str(priority), *arguments, preload=ibsim.deaf_perf())
        self.their_log = ibsim.Lines(self.theirs)

    def fabricd(self, priority, name="fabricd"):
        return ibsim.Fabricd(self, config(priority), name)

    def sminfo(self, *lid):
        """The SM that ports name, or the one at a LID: its GUID, and its state by its own word."""
        found = re.search(r"sm guid (0x\w+), .* SMINFO_(\w+)",
                          self.sim.run("H-0002c90200000800", "sminfo", *lid))
        self.assertTrue(found)
        return found[1], found[2]

    def lids(self):
        """{GUID of the port: LID} by ibnetdiscover."""
        seen = self.sim.run("H-0002c90200000800", "ibnetdiscover")
        ports = dict(re.findall(r"(?m)^\[\d+\]\((\w+)\) .*\t# lid (\d+) lmc", seen))
        ports.update(re.findall(r"(?m)^switchguid=\w+\((\w+)\)\nSwitch.* lid (\d+) lmc", seen))
        self.assertEqual(len(ports), 24)
        return ports

    def tables(self):
        tables = {}
        for guid, lid in self.lids().items():
            if guid.startswith("2c901"):
                text = self.sim.run("H-0002c90200000800", "ibroute", lid)
                tables[guid] = re.findall(r"(?m)^(0x\w+) (\d+) :", text)
        return tables


class Recorded(OpenSm):
    """With the wire oracle, where it is there: what fabricd sends can be read."""

    @classmethod
    def setUpClass(cls):
        cls.oracle = wire.Oracle() if os.path.isdir(wire.WIRE) else None

    @classmethod
    def tearDownClass(cls):
        if cls.oracle:
            cls.oracle.remove()


class Election(Recorded):
    def recorded(self, tweak=""):
        if not self.oracle:
            self.skipTest("%s is absent" % wire.WIRE)
        return self.oracle.environment(self.sim, OURS, self.path("trace"), tweak)

    def test_is_standby_below_a_master_and_sends_no_sets(self):
        self.opensm(8)
        self.their_log.wait_for("SUBNET UP")
        output = self.fabricd(3).once(self.recorded(), code=1)
        self.assertIn("is preferred: standing by", output)
        self.assertEqual(self.oracle.sets(self.path("trace")), [])
        self.assertEqual(self.sminfo(), (THEIR_GUID, "MASTER"))

    def test_takes_over_when_the_master_dies(self):
        self.opensm(8)
        self.their_log.wait_for("SUBNET UP")
        before = self.lids()
        fabricd = self.fabricd(3).start(self.recorded())
        fabricd.wait_for("state=STANDBY")
        self.assertEqual(self.oracle.sets(self.path("trace")), [])
        ibsim.stop(self.theirs)
        fabricd.wait_for("state=MASTER")
        fabricd.wait_for("subnet_up")
        self.assertEqual(self.sminfo(), (OUR_GUID, "MASTER"))
        self.assertEqual(self.lids(), before)
        self.assertEqual(fabricd.stop(), 0)

    def test_hands_over_to_a_higher_sm(self):
        fabricd = self.fabricd(3).start(self.recorded())
        fabricd.wait_for("subnet_up")
        before = self.lids()
        self.opensm(8)
        fabricd.wait_for("state=STANDBY")
        self.their_log.wait_for("Entering MASTER state")
        # Each by its own LID, not by what ports say: where opensm sent a trap of its own as standby,
        # ibsim swallows our TrapRepress, opensm waits for it for ever and sweeps no more.
        self.assertEqual(self.sminfo(before[THEIR_GUID[2:]]), (THEIR_GUID, "MASTER"))
        self.assertEqual(self.sminfo(before[OUR_GUID[2:]]), (OUR_GUID, "STANDBY"))
        self.assertEqual(self.lids(), before)
        handovers = [mad for attribute, _, _, mad in self.oracle.sets(self.path("trace"))
                     if attribute == "SMInfo"]
        self.assertEqual([(mad.mod, mad.fields()["SMState"]) for mad in handovers], [(1, "MASTER")])
        self.assertEqual(fabricd.stop(), 0)

    def test_gets_the_mastership_from_a_lower_master(self):
        self.opensm(3)
        self.their_log.wait_for("SUBNET UP")
        before = self.lids()
        fabricd = self.fabricd(8).start(self.sim.environment(OURS))
        fabricd.wait_for("state=MASTER")
        fabricd.wait_for("subnet_up")
        self.their_log.wait_for("STANDBY")
        fabricd.log.wait_for("sent Set SMInfo 1")
        self.assertEqual(self.sminfo(), (OUR_GUID, "MASTER"))
        self.assertEqual(self.lids(), before)
        # When we end, opensm finds nobody at home and begins to take its subnet back.
        since = len(self.their_log.lines)
        self.assertEqual(fabricd.stop(), 0)
        self.their_log.wait_for("Entering DISCOVERING state", since=since)

    def step_down(self, fabricd):
        deadline = time.monotonic() + ibsim.PATIENCE
        while not fabricd.ask("get", "sm").get("remote_sms"):
            self.assertLess(time.monotonic(), deadline, "the other SM was not seen")
            time.sleep(0.1)
        self.assertIn("is master now", fabricd.ctl("sm", "step-down", "--reason", "a test"))
        self.their_log.wait_for("Entering MASTER state")

    def test_steps_down_to_a_lower_sm_and_becomes_master_again(self):
        fabricd = self.fabricd(8).start(self.recorded())
        fabricd.wait_for("subnet_up")
        before = self.lids()
        self.opensm(3)
        self.their_log.wait_for("STANDBY")
        self.step_down(fabricd)
        self.assertEqual(self.sminfo(before[THEIR_GUID[2:]]), (THEIR_GUID, "MASTER"))
        self.assertEqual(self.sminfo(before[OUR_GUID[2:]]), (OUR_GUID, "STANDBY"))
        self.assertEqual(self.lids(), before)
        self.assertIn("-> 8", fabricd.ctl("sm", "priority", "8"))
        fabricd.wait_for("state=MASTER")
        self.assertEqual(self.sminfo(before[OUR_GUID[2:]]), (OUR_GUID, "MASTER"))
        self.assertEqual(self.lids(), before)
        self.assertEqual(fabricd.stop(), 0)

    def key_shown(self, *arguments, host="H-0002c90200000800"):
        """The SM_Key that our fabricd shows to a tool on a host without an SM."""
        dumped = self.sim.run(host, "smpdump", *arguments, "0x20")
        words = re.findall(r"[0-9a-f]{4}", dumped)
        self.assertEqual("".join(words[:4]), OUR_GUID[2:].rjust(16, "0"), dumped)
        return int("".join(words[4:8]), 16)

    def test_shows_its_key_to_no_host_without_an_sm(self):
        fabricd = ibsim.Fabricd(self, config(3, "0x5ec2e7"))
        fabricd.start(self.sim.environment(OURS)).wait_for("subnet_up")
        self.assertEqual(self.key_shown(self.lids()[OUR_GUID[2:]]), 0)
        self.assertEqual(self.key_shown("-D", "0,1,5,1,1"), 0)
        self.assertEqual(self.key_shown("-D", "0", host=OURS), 0)
        self.assertEqual(fabricd.stop(), 0)

    def test_shows_its_key_to_an_sm_that_has_it(self):
        fabricd = ibsim.Fabricd(self, config(3, "0x5ec2e7"))
        fabricd.start(self.sim.environment(OURS)).wait_for("subnet_up")
        self.opensm(2, "-k", "0x5ec2e7")
        said = self.their_log.wait_for("Entering (STANDBY|MASTER) state")
        self.assertEqual(said[1], "STANDBY")
        self.step_down(fabricd)
        self.assertEqual([line for line in self.their_log.lines if "ERR 2F18" in line], [])
        self.assertEqual(fabricd.stop(), 0)

    def test_the_lower_guid_wins_between_equals(self):
        self.opensm(5)
        self.their_log.wait_for("SUBNET UP")
        fabricd = self.fabricd(5).start(self.sim.environment(OURS))
        fabricd.wait_for("state=MASTER")  # OUR_GUID is the lower one.
        self.their_log.wait_for("STANDBY")
        fabricd.wait_for("subnet_up")
        self.assertEqual(self.sminfo(), (OUR_GUID, "MASTER"))

    def take_over(self, tweak=""):
        """opensm brings the fabric up and ends, fabricd starts: the Sets and the port changes. LIDs
        stay, and of the forwarding tables only what the other routing wants is written."""
        self.opensm(0, "-o")
        self.assertEqual(self.theirs.wait(ibsim.PATIENCE), 0)
        before, tables = self.lids(), self.tables()
        self.fabricd(0).once(self.recorded(tweak))
        self.assertEqual(self.lids(), before)
        sets = self.oracle.sets(self.path("trace"))
        self.assertEqual({attribute for attribute, *_ in sets} - {"PortInfo", "LFT"}, set())
        changed = {(guid.rjust(16, "0"), int(lid, 16) // 64) for guid, table in self.tables().items()
                   for lid, _ in set(table) ^ set(tables[guid])}
        written = [(node, mad.mod) for attribute, node, _, mad in sets if attribute == "LFT"]
        self.assertEqual(sorted(written), sorted(changed), "each block that differs, once")
        states = {mad.fields()["PortState"] for attribute, _, _, mad in sets
                  if attribute == "PortInfo"}
        self.assertEqual(states, {"nochange"}, "no port of a running fabric is taken down or armed")
        return sets, self.oracle.port_changes(self.path("trace"))

    def new_master(self):
        """What an end port must be told when the mastership goes from their host to ours."""
        lids = self.lids()
        return {"MasterSMLID": (lids[THEIR_GUID[2:]], lids[OUR_GUID[2:]])}

    def test_takes_over_the_subnet_of_opensm(self):
        sets, changes = self.take_over()
        changes = [change for change in changes if change[2]]
        self.assertEqual(len({change[:2] for change in changes}), 24)
        self.assertEqual([change for _, _, change in changes], [self.new_master()] * 24)
        print("takeover: %d PortInfo Sets, of these %d change what ibsim stores; %d LFT Sets" % (
            sum(attribute == "PortInfo" for attribute, *_ in sets), len(changes),
            sum(attribute == "LFT" for attribute, *_ in sets)))

    def test_clients_of_opensm_register_again_once(self):
        _, changes = self.take_over(wire.REREGISTER)
        asked = dict(self.new_master(), ClientReregister=("0", "1"))
        self.assertEqual(sorted(node for node, port, change in changes if change == asked),
                         sorted("0002c902%08x" % (0x100 * host) for host in range(16)))
        self.assertEqual([change for node, _, change in changes if change and
                          node.startswith("0002c901")], [self.new_master()] * 8)
        self.assertEqual(sum("ClientReregister" in change for _, _, change in changes), 16)

    def test_keeps_lids_and_tables_after_its_own_restart(self):
        fabricd = self.fabricd(0)
        fabricd.once(self.sim.environment(OURS))
        before, tables = self.lids(), self.tables()
        fabricd.once(self.recorded())
        self.assertEqual({attribute for attribute, *_ in self.oracle.sets(self.path("trace"))}
                         - {"PortInfo"}, set())
        # Without its own records it takes the fabric's word.
        shutil.rmtree(fabricd.state)
        os.remove(self.path("trace"))
        fabricd.once(self.recorded())
        self.assertEqual({attribute for attribute, *_ in self.oracle.sets(self.path("trace"))}
                         - {"PortInfo"}, set())
        self.assertEqual((self.lids(), self.tables()), (before, tables))


class Joins(ibsim.Case):
    """An opensm of the highest priority joins two fabricds, over and over, with everybody's
    defaults. It reads the old master as such while it discovers, and then a handover has no effect
    on it: the subnet was without a master for a minute."""

    JOINS = 50 if os.environ.get("FABRICD_NIGHTLY") else 2
    MOST_MASTERLESS = 5.0  # Seconds.

    def test_the_subnet_is_never_without_a_master_for_long(self):
        text = self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricsim"), "generate",
                                 "superpod", "--sus", "2", "--hosts", "8", "--rails", "4",
                                 "--format", "ibsim"])
        topology = self.write("joins.net", text)
        hosts = re.findall(r'(?m)^Ca\s+\d+\s+"(H-\w+)"[^\n]*\n\[1\]\((\w+)\)', text)
        for number in range(self.JOINS):
            step = 1 + number % 12
            with self.subTest(join=number):
                self.join(topology, number, hosts[::step][:5] if number % 2 else
                          hosts[::step][4::-1])

    def join(self, topology, number, hosts):
        sim = ibsim.Ibsim(self, topology)
        started = [sim.process]
        fabricds = []
        for place, priority in enumerate((5, 4)):
            fabricd = ibsim.Fabricd(self, "sm: {priority: %d}\n" % priority,
                                    "f%d-%d" % (number, place))
            fabricds.append(fabricd.start(sim.environment(hosts[place][0])))
            started.append(fabricd.process)
            fabricd.wait_for("subnet_up" if place == 0 else "state=STANDBY")
        seen = sim.run(hosts[3][0], "ibnetdiscover")
        lids = dict(re.findall(r"(?m)^\[\d+\]\((\w+)\) .*\t# lid (\d+) lmc", seen))
        opensm = sim.start(hosts[2][0], "opensm", "-f", "stdout", "-p", "10",
                           preload=ibsim.deaf_perf())
        started.append(opensm)
        log = ibsim.Lines(opensm)
        masterless, last, steady = 0.0, time.monotonic(), 0
        deadline = last + ibsim.PATIENCE
        while steady < 5 and masterless <= self.MOST_MASTERLESS and last < deadline:
            states = []
            for _, guid in hosts[:3]:
                said = sim.run(hosts[3][0], "sminfo", lids[guid], code=None)
                found = re.search(r"SMINFO_(\w+)", said)
                states.append(found[1] if found else "none")
            now = time.monotonic()
            masterless += 0 if "MASTER" in states else now - last
            last = now
            steady = steady + 1 if states == ["STANDBY", "STANDBY", "MASTER"] else 0
        told = "\n".join(fabricds[0].log.lines[-20:] + fabricds[1].log.lines[-20:] + log.lines[-20:])
        self.assertLessEqual(masterless, self.MOST_MASTERLESS, told)
        self.assertEqual(steady, 5, told)
        for process in started:
            ibsim.stop(process)


if __name__ == "__main__":
    ibsim.main(["ibsim", "opensm", "sminfo", "smpdump", "ibnetdiscover", "ibroute"] +
               (["cc"] if os.path.isdir(wire.WIRE) else []))
