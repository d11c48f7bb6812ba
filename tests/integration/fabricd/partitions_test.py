#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""partitions.conf, given to opensm and to fabricd on the same fabric: the same P_Keys at every port,
read by smpquery. A changed file is applied at SIGHUP, a faulty one changes nothing. What fabricctl
changes is in the tables, decides what saquery is told, and survives kill and restart.

usage: partitions_test.py BIN_DIR [TEST...]
"""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

HOSTS = 4
SM = "H1"
# ibsim counts GUIDs on by ports: H1 is 0x100000 with a port 0x100001, H2 0x100003, …
GUIDS = {"H%d" % (i + 1): "0x%x" % (0x100001 + 3 * i) for i in range(HOSTS)}
NET = 'Switch 8 "S1"\n' + "".join('[%d] "H%d"[1]\n' % (i, i) for i in range(1, HOSTS + 1)) + "".join(
    '\nHca 2 "H%d"\n[1] "S1"[%d]\n' % (i, i) for i in range(1, HOSTS + 1))
# Each as partitions.conf, with H1 … for the GUID of that host's port.
FILES = {
    "default": "Default=0x7fff : ALL=full ;\n",
    "beneath": "Default=0x7fff : H2=full ; # the others are limited, the SM is full\n",
    "tenants": "A=0x300, defmember=full : H2, H3 ; B=0x301: H3=full, H4 ; C=0x302, indx0 : ALL_CAS=full;\n",
    "order": "A=0x300: SELF=full ; A=0x300 : ALL=limited ;\nB=0x301: H2=full, ALL=limited, H4=full;\n",
    "names": "A: H2=full; A : H3=full; B=0: H2=full; 0x55: H2=full; 77 : H3=full; C=0x8066: H3=full;"
             "=0x99: H4=full;\n",
    "short": "A=5,def=full : H2; B=6,ipo,m=4:ALL_C=full; C=7:AL=full; D=8:SEL=full;"
             " E=9: ALL_SWITCHES=full;G=11: ALL_ROUTERS=full, H3=f;\n",
    "lines": "A=5:\n H2=full\n H3=full,\n\n H4=lim;\nB=010: 0X100004 = full ,,H3=nonsense;\n",
    "indx0": "B=6,indx0 : ALL=full; Z=1: ALL;\n",
    "groups": "Default=0x7fff,ipoib:\n mgid=ff12:401b::0707,sl=1 # random\n mgid=ff12::1,Q_Key=0xDEADBEEF,"
              "mtu=2\n ALL=full;\nA=5,ipoib,scope=2,mtu=5,rate=7,sl=2: H2=full\n mgid=ff12::3\n H3=full;\n",
}


class Partitions(ibsim.Case):
    def sim(self, name):
        return ibsim.Ibsim(self, self.write(name + ".net", NET))

    def conf(self, name, text):
        for host, guid in GUIDS.items():
            text = re.sub(r"\b%s\b" % host, guid, text)
        return self.write(name, text)

    def keys(self, sim):
        """{port: (all keys, the one at index 0)} of the hosts and the switch's port 0."""
        tables = {}
        routes = {"S1": ("0,1", "0")}
        routes.update(("H%d" % i, ("0" if i == 1 else "0,1,%d" % i, "1")) for i in range(1, HOSTS + 1))
        for name, (route, port) in routes.items():
            lines = sim.run(SM, "smpquery", "-D", "pkeys", route, port)
            keys = re.findall(r"\b0x[0-9a-f]{4}\b", lines)
            self.assertTrue(keys, lines)
            tables[name] = (sorted(key for key in keys if key != "0x0000"), keys[0])
        return tables

    def opensms_keys(self, name, conf):
        sim = self.sim(name + ".theirs")
        sim.run(SM, "opensm", "-o", "-P", conf, "-f", self.path(name + ".log"))
        keys = self.keys(sim)
        ibsim.stop(sim.process)
        return keys

    def test_the_same_file_gives_opensms_tables(self):
        for name, text in FILES.items():
            with self.subTest(name):
                conf = self.conf(name + ".conf", text)
                wanted = self.opensms_keys(name, conf)
                ours = self.sim(name + ".ours")
                fabricd = ibsim.Fabricd(self, "partitions: {file: %s}\n" % conf, name)
                fabricd.once(ours.environment(SM))
                self.assertEqual(self.keys(ours), wanted)
                ibsim.stop(ours.process)

    def test_a_file_is_applied_as_a_whole_or_not_at_all(self):
        sim = self.sim("live")
        conf = self.conf("live.conf", "A=1: H2=full, H3=full; B=2: H3=full;\n")
        fabricd = ibsim.Fabricd(self, "partitions: {file: %s}\n" % conf, "live")
        fabricd.start(sim.environment(SM))
        fabricd.wait_for("state=MASTER")
        fabricd.log.wait_for("subnet up")
        before = self.keys(sim)
        self.assertEqual(before["H3"], (["0x7fff", "0x8001", "0x8002"], "0x7fff"))

        self.conf("live.conf", "A=1: H2=full, H4=full;\nB=2: nobody=full,\n H3=full\n")
        since = len(fabricd.log.lines)
        fabricd.process.send_signal(signal.SIGHUP)
        fabricd.log.wait_for('line 2: "nobody" is not a GUID.*line 2: the definition that begins here', since=since)
        self.assertEqual(self.keys(sim), before)

        self.conf("live.conf", "A=1: H2=full, H4=full;\n")
        since = len(fabricd.log.lines)
        fabricd.process.send_signal(signal.SIGHUP)
        fabricd.log.wait_for("the partitions of the file are in force", since=since)
        fabricd.log.wait_for("(change|heavy sweep) ended", since=since)
        fabricd.ctl("sweep")
        after = self.keys(sim)
        self.assertEqual(after["H3"], (["0x7fff"], "0x7fff"))
        self.assertEqual(after["H4"], (["0x7fff", "0x8001"], "0x7fff"))

        # A restart with a file that has become faulty meanwhile: what was applied stays.
        self.assertEqual(fabricd.stop(), 0)
        self.conf("live.conf", "A=1 ALL=full;\n")
        fabricd.start(sim.environment(SM))
        fabricd.log.wait_for("the partitions of before stay")
        fabricd.log.wait_for("subnet up")
        self.assertEqual(self.keys(sim), after)

    def running(self, name):
        sim = self.sim(name)
        fabricd = ibsim.Fabricd(self, "", name)
        fabricd.start(sim.environment(SM))
        fabricd.wait_for("subnet_up=true")
        return sim, fabricd

    def path_key(self, sim, fabricd, asker, source, destination):
        """The P_Key of the path that `asker` is told of; None: of no path."""
        lids = [fabricd.ask("get", "nodes", host)["end_ports"][0]["lid"] for host in (source, destination)]
        answer = sim.run(asker, "saquery", "--src-to-dst", "%d:%d" % tuple(lids), code=None)
        key = re.search(r"pkey\.*(0x[0-9a-f]+)", answer, re.IGNORECASE)
        return int(key[1], 16) if key else None

    def test_fabricctl_adds_and_removes_members(self):
        sim, fabricd = self.running("ctl")
        before = self.keys(sim)
        self.assertEqual(before["H2"], (["0xffff"], "0xffff"))
        shown = fabricd.ctl("partition", "create", "tenant", "--member", GUIDS["H2"], "--dry-run=server")
        self.assertIn("+ 0x0001 tenant: 0x0000000000100004=limited", shown)
        self.assertEqual(self.keys(sim), before)

        def change(*words):
            return fabricd.ctl("partition", *words, "--wait")

        change("create", "tenant", "--member", GUIDS["H2"], "--membership", "full", "--ipoib")
        change("add-member", "tenant", "H3", "0xabcdef0123456789", "--membership", "full")
        tables = self.keys(sim)
        self.assertEqual(tables["H2"], (["0x8001", "0xffff"], "0xffff"))
        self.assertEqual(tables["H3"], tables["H2"])
        self.assertEqual(tables["H4"], before["H4"])
        again = change("add-member", "0x8001", "H3", "--membership", "full", "--request-id", "a")
        self.assertEqual(again, "partition/0x8001 unchanged\n")
        described = fabricd.ctl("describe", "partition", "tenant")
        self.assertRegex(described, r"0x0000000000100007 +full +H3/1 +yes")
        self.assertRegex(described, r"0xabcdef0123456789 +full +absent")
        self.assertRegex(described, r"Ports: 2 full, 0 limited")
        groups = fabricd.ask("get", "multicast")["groups"]
        self.assertIn("ff12:401b:8001::ffff:ffff", [group["mgid"] for group in groups])

        # What was answered is durable.
        fabricd.kill()
        fabricd.start(sim.environment(SM))
        fabricd.wait_for("subnet_up=true")
        self.assertEqual(self.keys(sim), tables)
        change("remove-member", "tenant", "H3")
        self.assertEqual(self.keys(sim)["H3"], before["H3"])
        self.assertEqual(self.keys(sim)["H2"], tables["H2"])
        change("delete", "tenant")
        self.assertEqual(self.keys(sim), before)
        fabricd.ctl("partition", "delete", "tenant", code=3)
        events = fabricd.ask("events", "--types", "PartitionsChanged")["events"]
        self.assertEqual(len(events), 4)
        self.assertIn("- 0x0001 tenant: 0x0000000000100007=full", events[2]["message"])

    def test_partitions_of_a_file_limit_path_records(self):
        sim, fabricd = self.running("apply")
        self.assertEqual(self.path_key(sim, fabricd, "H4", "H2", "H3"), 0xffff)
        conf = self.conf("apply.conf", "Default=0x7fff: ALL=limited, SELF=full;\n"
                                       "tenant=1: H2=full, H3=full;\n")
        diff = fabricd.ctl("diff", "partitions", "-f", conf, code=1)
        self.assertIn("- 0x7fff Default: ALL=full", diff)
        self.assertIn("+ 0x0001 tenant: 0x0000000000100004=full", diff)
        fabricd.ctl("apply", "partitions", "-f", conf, "--wait")
        self.assertEqual(fabricd.ctl("diff", "partitions", "-f", conf), "")
        tables = self.keys(sim)
        self.assertEqual(tables["H2"], (["0x7fff", "0x8001"], "0x7fff"))
        self.assertEqual(tables["H4"], (["0x7fff"], "0x7fff"))
        self.assertEqual(self.path_key(sim, fabricd, "H2", "H2", "H3"), 0x8001)
        self.assertIsNone(self.path_key(sim, fabricd, "H4", "H2", "H3"))
        self.assertIsNone(self.path_key(sim, fabricd, "H4", "H4", "H2"))
        self.assertEqual(self.path_key(sim, fabricd, "H4", "H4", "H1"), 0x7fff)

        faulty = self.conf("faulty.conf", "tenant=1: H2=full, nobody;\nB=2, ipoib: H4\n")
        told = fabricd.ctl("apply", "partitions", "-f", faulty, code=2)
        self.assertIn('line 1: "nobody"', told)
        self.assertIn("line 2: ", told)
        self.assertIn("2 faults, nothing is changed", told)
        self.assertEqual(self.keys(sim), tables)
        everything = self.write("export.conf", fabricd.ctl("get", "partitions", "-o", "conf"))
        self.assertEqual(fabricd.ctl("apply", "partitions", "-f", everything), "partitions unchanged\n")
        # The way back to OpenSM.
        self.assertEqual(self.opensms_keys("export", everything), tables)

    def test_a_faulty_file_is_no_beginning(self):
        sim = self.sim("faulty")
        conf = self.conf("faulty.conf", "A=1: H2=full\n")
        fabricd = ibsim.Fabricd(self, "partitions: {file: %s}\n" % conf, "faulty")
        output = fabricd.once(sim.environment(SM), code=None)
        self.assertIn("line 1: the definition that begins here does not end", output)
        self.assertNotIn("subnet up", output)


if __name__ == "__main__":
    ibsim.main(["ibsim", "opensm", "smpquery"])
