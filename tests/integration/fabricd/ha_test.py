#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two management nodes with one state in real etcds: a node dies, or is stopped and continued; etcd
hangs, or is lost for ever; an opensm wins the election; one node is upgraded after the other.

usage: ha_test.py BIN_DIR [TEST...]
"""
import json
import os
import re
import signal
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import opensm_test  # noqa: E402  It finds ../../support.
import etcd  # noqa: E402
from opensm_test import OUR_GUID, OURS, THEIR_GUID, THEIRS, ibsim  # noqa: E402

FABRIC = "sim:fat-tree:radix=4,levels=2"
CONFIG = """\
store: %s
etcd: {endpoints: [%s], lease: %ds, timeout: %ds, advertise: "%s"}
telemetry: {enabled: false}
"""
FAILED, UNAVAILABLE, REFUSED = 1, 4, 6
EXAMPLES = os.path.join(ibsim.ROOT, "examples")
PYTHON = "/usr/bin/python3"  # Whose modules Debian's packages are.
# What an opensm left, of the port with this GUID.
SA_DUMP = """\
MC Group 0xc001 : mgid=0xff12401bffff0000:0x00000000ffffffff port_gid=0x0:0x0 qkey=0xb1b mlid=0xc001 \
mtu=0x84 tclass=0x07 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x0 scope_state=0x20 proxy_join=0x0
mcm_port: port_gid=0xfe80000000000000:%(guid)s scope_state=0x21 proxy_join=0x0
InformInfo Record: subscriber_gid=0xfe80000000000000:%(guid)s subscriber_enum=0x7 InformInfo: \
gid=0x0:0x0 lid_range_begin=0xffff lid_range_end=0x0 is_generic=0x1 subscribe=0x1 trap_type=0xffff \
trap_num=0x40 qpn_resp_time_val=0x113 node_type=0xffffff rep_addr: lid=0x0002 path_bits=0x00 \
static_rate=0x00 remote_qp=0x1 remote_qkey=0x80010000 pkey_ix=0x0002 sl=0x03
Service Record: id=0x11 gid=0xfe80000000000000:%(guid)s pkey=0x0 lease=0xffffffff key=0x1:0x2 \
name='storage' data8=0x0:0x0 data16=0x0:0x0 data32=0x0:0x0 data64=0x0:0x0 modified_time=0x6553f100 \
lease_period=0xffffffff
GUIDInfo Record: base_guid=%(guid)s lid=0x0002 block_num=0x0 guid0=%(guid)s guid1=0xa1 guid2=0x0 \
guid3=0x0 guid4=0x0 guid5=0x0 guid6=0x0 guid7=0x0
"""
ALIAS = "0x00000000000000a1"
JOIN = os.path.join(os.path.dirname(ibsim.__file__), "join.py")
LEASE = 2
TIMEOUT = 3  # The default.
TAKEOVER = 5  # 3 s on a quiet machine.
SECONDS = 5  # That a waiting node may be behind, on a busy machine.


class Shared(ibsim.Case):
    """Questions and commands to the nodes of a test."""

    def start_etcds(self, count):
        self.etcds = etcd.Etcds(
            count, self.start,
            lambda process, pattern: ibsim.Lines(process).wait_for(pattern), ibsim.stop, self.path)

    def config(self, store="etcd", advertise=""):
        return CONFIG % (store, ", ".join('"%s"' % client for client in self.etcds.clients),
                         LEASE, TIMEOUT, advertise)

    def cordon(self, node, host, code=0):
        return node.ctl("cordon", host, "--reason", "test", code=code)

    def listed(self, node, what, key=None):
        # A node that is not master says so first.
        text = node.ctl("get", what, "-o", "json")
        return json.loads(text[text.index("{"):])[key or what]

    def held(self, node):
        return sorted(hold["target"]["name"] for hold in self.listed(node, "holds"))

    def lids_of(self, node):
        return {end["guid"]: end["lid"] for each in node.ask("get", "nodes")["nodes"]
                for end in each["end_ports"]}

    def store(self, node, *words, code=0):
        return self.run_program([node.program, "store", *words, "--config",
                                 node.config, "--state-dir", node.state], code=code)

    def wait_until(self, condition, seconds=ibsim.PATIENCE):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "not in time")
            time.sleep(0.1)

    def holds_true(self, condition):
        """False also while a node starts again, and cannot be reached for a moment."""
        try:
            return condition()
        except AssertionError:
            return False

    def nodes(self, node):
        return node.ask("get", "sm").get("sharing_nodes", [])

    def problems(self, node):
        return {each["kind"]: each["message"] for each in node.ask("get", "sm").get("problems", [])}


class Nodes(Shared):
    """Each node on a simulated fabric of its own, of the same kind."""

    def setUp(self):
        super().setUp()
        self.start_etcds(1)
        self.head1, self.head2 = (ibsim.Fabricd(self, self.config(), name)
                                  for name in ("head1", "head2"))

    def bring_up(self, node):
        node.start(fabric=FABRIC)
        node.wait_for("subnet_up")

    def test_state_outlives_its_node(self):
        self.bring_up(self.head1)
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.host = hosts[0]
        self.cordon(self.head1, self.host)
        lids = self.lids_of(self.head1)
        output = self.head2.once(code=FAILED, fabric=FABRIC)
        self.assertRegex(output, r"another fabricd uses it: \S+ pid %d" % self.head1.process.pid)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        self.assertEqual(self.held(self.head2), [self.host])
        self.assertRegex(self.cordon(self.head2, hosts[1], code=REFUSED),
                         r"waits beside the master, \S+ pid %d: ask" % self.head1.process.pid)
        self.head1.kill()
        self.head2.wait_for("subnet_up")
        self.assertEqual(self.held(self.head2), [hosts[0]])
        self.assertEqual(self.lids_of(self.head2), lids)
        self.cordon(self.head2, hosts[1])

    def test_a_successor_has_all_that_clients_left_and_answers_repeated_requests(self):
        probe = ibsim.Fabricd(self, "", "probe")
        self.bring_up(probe)
        guid = next(end["guid"] for each in probe.ask("get", "nodes")["nodes"]
                    if each["type"] != "SWITCH" for end in each["end_ports"] if end["guid"])
        self.assertEqual(probe.stop(), 0)
        dump = self.write("opensm-sa.dump", SA_DUMP % {"guid": guid})
        self.write("head1.yaml", self.config() + "sm: {sa_db_file: %s}\n" % dump)
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")

        def cordon(node):
            return node.ctl("cordon", "node0003", "--reason", "test", "--request-id", "hold1")

        def partition(node, name):
            node.ctl("partition", "create", name, "--member", guid, "--request-id", "of " + name)
            return next(each["p_key"] for each in self.listed(node, "partitions")
                        if each["name"] == name)

        def left(node):
            return [self.listed(node, "services"), self.listed(node, "subscriptions"),
                    self.listed(node, "multicast", "groups"), self.listed(node, "partitions"),
                    self.held(node)]
        self.assertIn("hold 1", cordon(self.head1))
        tenant = partition(self.head1, "tenant")
        before = left(self.head1)
        for what in before[:3]:
            self.assertEqual(len(what), 1)
        self.assertIn(ALIAS, self.head1.ctl("get", "records", "guidinfo"))
        self.wait_until(lambda: self.held(self.head2) == ["node0003"])
        self.head1.kill()
        self.head2.wait_for("subnet_up")
        self.assertEqual(left(self.head2), before)
        self.assertIn(ALIAS, self.head2.ctl("get", "records", "guidinfo"))
        self.assertIn("already cordoned (hold 1)", cordon(self.head2))
        self.assertEqual(partition(self.head2, "tenant"), tenant)
        self.assertEqual(left(self.head2), before)
        self.assertNotEqual(partition(self.head2, "other"), tenant)

    def test_a_link_that_flapped_stays_suppressed_at_the_successor(self):
        self.bring_up(self.head1)
        link = next(each["a"] for each in self.head1.ask("get", "links")["links"]
                    if each["a"]["node_type"] == each["b"]["node_type"] == "SWITCH")
        end = "%s/%d" % (link["node_name"], link["number"])

        def suppressed(node):
            text = node.ctl("get", "links", "--damped", "-o", "json")
            return [each["flaps"] for each in json.loads(text[text.index("{"):]).get("links", [])
                    if each["suppressed"]]
        def events(kind):
            return sum(event["type"] == kind for event in self.head1.ask("get", "events")["events"])
        for flaps in range(1, 5):
            self.head1.ctl("sim", "unlink", end)
            self.wait_until(lambda: events("LinkDown") == flaps, SECONDS)
            self.head1.ctl("sim", "link", end)
            self.wait_until(lambda: events("LinkUp") == flaps, SECONDS)
        self.assertEqual(suppressed(self.head1), [4])
        self.wait_until(lambda: self.etcds.has("/fabricd/data/row/action/suppressed"))
        self.head1.kill()
        self.bring_up(self.head2)
        self.assertEqual(suppressed(self.head2), [4])

    def test_a_node_that_is_stopped_while_it_starts_again_ends_without_an_error(self):
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        self.head1.kill()
        self.head2.log.wait_for("starting again")
        self.assertEqual(self.head2.stop(), 0)

    def test_a_waiting_node_shows_holds_and_partitions_of_the_master(self):
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.assertEqual(self.held(self.head2), [])
        # etcd is read twice a second.
        self.cordon(self.head1, hosts[0])
        self.wait_until(lambda: self.held(self.head2) == [hosts[0]], SECONDS)
        self.head1.ctl("drain", "host", hosts[1], "--reason", "test", "--for", "4s")
        self.wait_until(lambda: self.held(self.head2) == sorted(hosts[:2]), SECONDS)
        self.assertEqual({hold["target"]["name"]: (hold["state"], hold["note"])
                          for hold in self.listed(self.head2, "holds")},
                         {hosts[0]: ("HOLD_STATE_IN_EFFECT", ""),
                          hosts[1]: ("HOLD_STATE_PENDING",
                                     "the master knows whether it is in effect")})
        self.head1.ctl("uncordon", hosts[0])
        self.wait_until(lambda: self.held(self.head2) == [hosts[1]], SECONDS)
        self.head1.ctl("partition", "create", "tenant")
        self.wait_until(lambda: "tenant" in [each["name"] for each in
                                             self.listed(self.head2, "partitions")], SECONDS)
        self.wait_until(lambda: self.held(self.head1) == [])
        self.wait_until(lambda: self.held(self.head2) == [], SECONDS)
        # The master alone has let it expire.
        self.assertFalse(self.head2.log.has("holds could not be stored", 0, 0))

    def test_a_waiting_node_shows_verdicts_of_the_master(self):
        self.bring_up(self.head1)
        link = next(each for each in self.head1.ask("get", "links")["links"]
                    if each["a"]["node_type"] != each["b"]["node_type"])
        end = next(link[x] for x in "ab" if link[x]["node_type"] == "SWITCH")
        port = "%s/%d" % (end["node_name"], end["number"])
        self.assertEqual(self.head1.stop(), 0)
        # One that the master has found before.
        backup = self.path("backup.db")
        self.store(self.head1, "export", backup)
        database = sqlite3.connect(backup)
        database.execute("INSERT INTO rows VALUES ('verdict', ?, ?)", (
            " ".join("%s/%d" % (link[x]["node_guid"], link[x]["number"]) for x in "ab"),
            b"stage=2 verdict=3 culprit=3 since=%d" % (time.time() * 1000)))
        database.commit()
        database.close()
        self.store(self.head1, "import", backup, "--replace")
        for name in ("head1", "head2"):
            self.write(name + ".yaml", self.config().replace("telemetry: {enabled: false}\n", ""))
        self.head1.start(fabric=FABRIC, more=("--clock-rate", "30"))  # Soon the first assessment.
        self.head1.wait_for("subnet_up")
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")

        def verdicts(node):
            text = node.ctl("get", "verdicts", "-o", "json", code=None)  # At first there are none.
            listed = json.loads(text[text.index("{"):])["verdicts"] if "{" in text else []
            return [(each["a_name"], each["b_name"], each["verdict"], each["stage"],
                     each.get("acknowledged", {}).get("by"))
                    for each in listed if each["verdict"] == "FLAPPING"]
        self.wait_until(lambda: verdicts(self.head1))
        self.assertIn(port, verdicts(self.head1)[0])
        self.wait_until(lambda: verdicts(self.head2) == verdicts(self.head1), SECONDS)
        self.head1.ctl("verdicts", "ack", port, "--reason", "test")
        self.wait_until(lambda: verdicts(self.head1)[0][-1])
        self.wait_until(lambda: verdicts(self.head2) == verdicts(self.head1), SECONDS)
        text = self.head2.ctl("describe", "verdict", port, "-o", "json")
        shown = json.loads(text[text.index("{"):])["verdict"]
        self.assertTrue(shown["stale"])
        self.assertFalse(self.head2.log.has("could not be stored", 0, 0))

    def test_nodes_that_are_not_configured_alike_are_a_problem(self):
        self.bring_up(self.head1)
        self.assertNotIn("ConfigDiffers", self.problems(self.head1))
        self.write("head2.yaml", self.config() + "lid: {lmc: 1}\nsm: {priority: 3}\n")
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        self.wait_until(lambda: "ConfigDiffers" in self.problems(self.head1))
        self.assertRegex(self.problems(self.head1)["ConfigDiffers"], ": lid.lmc$")
        self.assertRegex(self.problems(self.head2)["ConfigDiffers"], ": lid.lmc$")
        sm = self.head1.ask("get", "sm")
        self.assertEqual(sorted(node["state"] for node in sm["sharing_nodes"]),
                         ["MASTER", "WAITING"])
        self.assertGreater(int(sm["epoch"]), 0)
        self.assertIn("(this)", self.head2.ctl("describe", "sm"))
        self.head2.kill()
        self.wait_until(lambda: "ConfigDiffers" not in self.problems(self.head1))

    def test_a_reload_of_a_waiting_node_is_compared_and_outlives_the_takeover(self):
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        self.write("head2.yaml", self.config() + "damping: {half_life: 240s}\n")
        self.head2.ctl("config", "reload", "--reason", "test")
        self.wait_until(lambda: "ConfigDiffers" in self.problems(self.head1))
        self.assertRegex(self.problems(self.head1)["ConfigDiffers"], ": damping.half_life$")
        self.wait_until(lambda: [event for event in self.head1.ask("get", "events")["events"]
                                 if event["type"] == "ConditionRaised" and
                                 event["message"].endswith(
                                     "are configured differently: damping.half_life")])
        self.head1.kill()
        self.head2.wait_for("subnet_up")
        self.assertRegex(self.head2.ctl("config", "view"), r"half_life\W+(240s|4m)")

    def test_of_several_servers_the_master_is_asked(self):
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        both = "unix:%s, unix:%s" % (self.head2.socket, self.head1.socket)

        def ask(*words, code=0):
            return self.run_program([os.path.join(self.head1.bin, "fabricctl"), "--server", both,
                                     *words], code=code)
        self.assertEqual(json.loads(ask("get", "sm", "-o", "json"))["state"], "MASTER")
        host = self.head1.ask("get", "hosts")["hosts"][0]["name"]
        self.assertNotIn("waits beside", ask("cordon", host, "--reason", "test"))
        # A watch goes on at the other one.
        watch = self.start([os.path.join(self.head1.bin, "fabricctl"), "--server", both, "events",
                            "--watch"])
        lines = ibsim.Lines(watch)
        self.head1.ctl("uncordon", host)
        lines.wait_for(host)
        self.head1.kill()
        lines.wait_for("going on at unix:" + self.head2.socket)
        self.head2.wait_for("subnet_up")
        self.assertEqual(json.loads(ask("get", "sm", "-o", "json"))["state"], "MASTER")
        before = len(lines.lines)
        self.cordon(self.head2, host)
        lines.wait_for(host, since=before)
        ibsim.stop(watch)

    def both(self):
        return "unix:%s, unix:%s" % (self.head1.socket, self.head2.socket)

    def watch(self, *words):
        process = self.start([os.path.join(self.head1.bin, "fabricctl"), "--server", self.both(),
                              *words])
        return ibsim.Lines(process)

    def versions(self, node, *words):
        # Of what was recorded since the history is shared.
        events = json.loads(self.after_note(node.ctl("events", "-o", "json", *words)))["events"]
        versions = [event["resource_version"] for event in events]
        return [version for version in versions if int(version.split(".")[1]) > 1 << 36]

    def after_note(self, text):
        return text[text.index("{"):]

    def test_an_example_scheduler_follows_a_waiting_node_to_the_master(self):
        for node in ("head1", "head2"):
            self.write(node + ".yaml", self.config(advertise="unix:" + self.path(node + ".sock")))
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        host = self.head1.ask("get", "hosts")["hosts"][-1]["name"]

        def schedule(*servers):
            return self.run_program(
                [PYTHON, os.path.join(EXAMPLES, "scheduler.py"), "--host", host, "--server",
                 ",".join("unix:" + server for server in servers)])
        self.assertIn("lifted both", schedule(self.head2.socket))
        self.assertEqual(self.held(self.head1), [])
        # Of several the one that answers is asked, and during a takeover the next master.
        self.head1.kill()
        self.assertIn("lifted both", schedule(self.head1.socket, self.head2.socket))

    def test_an_example_watcher_cordons_nothing_because_of_a_takeover(self):
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        watcher = ibsim.Lines(self.start([
            PYTHON, os.path.join(EXAMPLES, "watch.py"), "--server",
            "unix:%s,unix:%s" % (self.head2.socket, self.head1.socket)]))
        watcher.wait_for("watching 8 hosts")
        self.head1.kill()
        self.head2.wait_for("subnet_up")
        watcher.wait_for("watching 8 hosts", times=2)
        self.assertNotIn("cordoned", watcher.text())
        self.assertEqual(self.held(self.head2), [])

    def test_events_and_audit_are_the_same_on_every_node(self):
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.cordon(self.head1, hosts[0])
        self.cordon(self.head2, hosts[1], code=REFUSED)
        self.assertIn("SubnetUp", self.head1.ctl("events"))
        self.wait_until(lambda: self.versions(self.head2) == self.versions(self.head1), SECONDS)
        self.assertIn("HoldInEffect", self.head2.ctl("events"))

        def calls(node):
            records = json.loads(self.after_note(node.ctl("audit", "-o", "json")))["records"]
            return sorted((each["node"].split()[-1], each["method"].split("/")[1], each["code"])
                          for each in records)
        expected = sorted([(str(self.head1.process.pid), "CreateHold", "OK"),
                           (str(self.head2.process.pid), "CreateHold", "FAILED_PRECONDITION")])
        for node in (self.head1, self.head2):
            self.wait_until(lambda: calls(node) == expected, SECONDS)

    def test_a_watch_loses_no_event_to_a_takeover(self):
        self.bring_up(self.head1)
        self.head2.start(fabric=FABRIC)
        self.head2.wait_for("mode=standby")
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.wait_until(lambda: self.versions(self.head2) == self.versions(self.head1), SECONDS)
        last = self.versions(self.head1)[-1]
        events = self.watch("events", "--watch", "--last", "1", "-o", "wide")
        holds = self.watch("get", "holds", "--watch")
        events.wait_for(last)
        self.cordon(self.head1, hosts[0])
        holds.wait_for(hosts[0])
        self.wait_until(lambda: self.versions(self.head2) == self.versions(self.head1), SECONDS)
        self.head1.kill()
        self.head2.wait_for("subnet_up")
        self.cordon(self.head2, hosts[1])
        events.wait_for("HoldInEffect.*" + hosts[1])
        holds.wait_for(hosts[1])
        # Each of them once, and in order.
        shown = re.findall(re.escape(last.split(".")[0]) + r"\.\d+", "\n".join(events.lines))
        known = self.versions(self.head2)
        known = known[known.index(last):]
        self.assertEqual(shown, known[:len(shown)])
        self.assertIn("HoldInEffect", "\n".join(events.lines[-2:]))
        # The former master waits, and shows what the next one has recorded.
        self.head1.start(fabric=FABRIC)
        self.head1.wait_for("mode=standby")
        self.wait_until(lambda: self.versions(self.head1) == self.versions(self.head2), SECONDS)

    def test_changes_are_refused_while_etcd_hangs(self):
        self.bring_up(self.head1)
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.cordon(self.head1, hosts[0])
        self.etcds.signal(signal.SIGSTOP)
        output = self.cordon(self.head1, hosts[1], code=UNAVAILABLE)
        self.assertIn("etcd at " + self.etcds.clients[0], output)
        self.assertIn("StoreUnavailable", self.problems(self.head1))
        self.assertEqual(self.held(self.head1), [hosts[0]])
        self.assertTrue(self.head1.ask("get", "sm")["subnet_up"])
        # Routing goes on: a lost link is routed around.
        link = next(each for each in self.head1.ask("get", "links")["links"]
                    if {each[end]["node_type"] for end in "ab"} == {"SWITCH"})
        self.head1.ctl("sim", "unlink", "%s/%d" % (link["a"]["node_name"], link["a"]["number"]))
        self.head1.log.wait_for("RerouteCompleted")
        self.etcds.signal(signal.SIGCONT)
        self.head1.log.wait_for("changes are stored again")
        self.assertNotIn("StoreUnavailable", self.problems(self.head1))
        self.cordon(self.head1, hosts[1])
        self.assertEqual(self.held(self.head1), sorted(hosts[:2]))

    def test_etcd_is_lost_for_ever(self):
        self.bring_up(self.head1)
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.cordon(self.head1, hosts[0])
        lids = self.lids_of(self.head1)
        backup = self.path("backup.db")
        self.assertIn("1 holds", self.store(self.head2, "export", backup))
        self.assertEqual(self.head1.stop(), 0)
        self.etcds.destroy()
        # It goes on with its copy, also where it is started again.
        self.bring_up(self.head1)
        self.assertEqual(self.held(self.head1), [hosts[0]])
        self.assertEqual(self.lids_of(self.head1), lids)
        self.cordon(self.head1, hosts[1], code=UNAVAILABLE)
        self.assertIn("another fabricd", self.store(self.head1, "migrate", "--to", "sqlite",
                                                    "--from-copy", code=FAILED))
        self.assertEqual(self.head1.stop(), 0)
        # The one command.
        self.store(self.head1, "migrate", "--to", "sqlite", "--from-copy")
        self.write("head1.yaml", self.config("sqlite"))
        self.bring_up(self.head1)
        self.assertEqual(self.held(self.head1), [hosts[0]])
        self.assertEqual(self.lids_of(self.head1), lids)
        self.cordon(self.head1, hosts[1])
        self.assertEqual(self.head1.stop(), 0)
        # And into a new etcd: first that of the node, then the backup.
        self.etcds.start()
        self.store(self.head1, "migrate", "--to", "etcd")
        self.assertIn("--replace", self.store(self.head2, "import", backup, code=FAILED))
        self.bring_up(self.head2)
        self.assertEqual(self.held(self.head2), sorted(hosts[:2]))
        self.assertEqual(self.head2.stop(), 0)
        self.store(self.head2, "import", backup, "--replace")
        self.bring_up(self.head2)
        self.assertEqual(self.held(self.head2), [hosts[0]])

    def test_state_moves_from_each_store_to_each_other(self):
        self.bring_up(self.head1)
        host = self.head1.ask("get", "hosts")["hosts"][-1]["name"]
        self.cordon(self.head1, host)
        lids = self.lids_of(self.head1)

        def has_all(node):
            self.bring_up(node)
            self.assertEqual((self.held(node), self.lids_of(node)), ([host], lids))
            self.assertEqual(node.stop(), 0)
        self.assertEqual(self.head1.stop(), 0)
        # From an etcd that works.
        self.store(self.head1, "migrate", "--to", "sqlite")
        self.write("head1.yaml", self.config("sqlite"))
        has_all(self.head1)
        # By a file into SQLite.
        self.store(self.head1, "export", self.path("moved.db"))
        self.write("head2.yaml", self.config("sqlite"))
        self.store(self.head2, "import", self.path("moved.db"))
        has_all(self.head2)
        # Back to etcd, and from the copy into a new one.
        self.store(self.head1, "migrate", "--to", "etcd", "--replace")
        self.write("head1.yaml", self.config())
        has_all(self.head1)
        self.etcds.destroy()
        self.etcds.start()
        self.store(self.head1, "migrate", "--to", "etcd", "--from-copy")
        has_all(self.head1)

    def test_faults_of_a_snapshot_are_named(self):
        self.write("head1.yaml", "store: sqlite\n")
        self.bring_up(self.head1)
        self.assertEqual(self.head1.stop(), 0)
        backup = self.path("backup.db")
        self.store(self.head1, "export", backup)
        database = sqlite3.connect(backup)
        database.execute("INSERT INTO lids VALUES ('0x00000000000000ff', 1, 0, 0)")
        database.execute("INSERT INTO rows VALUES ('partition', '0x0001', ?)", (b"no such syntax",))
        database.commit()
        database.close()
        output = self.store(self.head2, "import", backup, code=FAILED)
        self.assertIn("0x00000000000000ff", output)
        database = sqlite3.connect(backup)
        database.execute("DELETE FROM lids WHERE port_guid = '0x00000000000000ff'")
        database.commit()
        self.assertIn("partitions: ", self.store(self.head2, "import", backup, code=FAILED))
        database.execute("PRAGMA user_version=99")
        database.close()
        self.assertIn("newer than this fabricd",
                      self.store(self.head2, "import", backup, code=FAILED))


class OneFabric(Shared, opensm_test.Recorded):
    """Both nodes on one ibsim, with three etcds."""

    def setUp(self):
        super().setUp()
        if not self.oracle:
            self.skipTest("the wire oracle is absent")
        self.start_etcds(3)
        self.head1, self.head2 = (
            ibsim.Fabricd(self, self.config(advertise="unix:" + self.path(name + ".sock")) +
                          opensm_test.config(priority), name)
            for name, priority in (("head1", 5), ("head2", 4)))
        self.head1.start(self.oracle.environment(self.sim, OURS, self.path("trace1")))
        self.head1.wait_for("subnet_up")
        *_, self.other, self.host = (each["name"] for each in
                                     self.head1.ask("get", "hosts")["hosts"])
        self.before = self.lids()
        self.head2.start(self.oracle.environment(self.sim, THEIRS, self.path("trace2")))
        self.head2.wait_for("mode=standby")
        # fabricctl follows the waiting node's refusal.
        self.assertIn("note: unix:%s waits beside the master, unix:%s: asking that one" %
                      (self.head2.socket, self.head1.socket),
                      self.cordon(self.head2, self.host))
        self.assertEqual(self.held(self.head1), [self.host])

    def wait_for_takeover(self, by, guid):
        by.wait_for("subnet_up")
        self.assertEqual(self.sminfo(), (guid, "MASTER"))
        self.assertEqual(self.held(by), [self.host])
        self.assertEqual(self.lids(), self.before)

    def test_a_takeover_of_an_unchanged_fabric_names_the_new_master_and_no_more(self):
        self.assertEqual(self.oracle.sets(self.path("trace2")), [])
        self.wait_until(lambda: self.etcds.has("/fabricd/data/row/switch_tables/digests/0"))
        last = max(mad.n for mad in self.oracle.read(self.path("trace2")).mads)
        self.head1.kill()
        self.wait_for_takeover(self.head2, THEIR_GUID)
        # The master's digests vouch for what the waiting node has read.
        reads = [mad.n for mad in self.oracle.read(self.path("trace2")).mads
                 if mad.attr_name == "LFT"]
        self.assertGreater(len(reads), 0)
        self.assertLessEqual(max(reads), last)
        self.assertEqual({attribute for attribute, _, _, _ in self.oracle.sets(self.path("trace2"))},
                         {"PortInfo"})
        fields = {field for _, _, changed in self.oracle.port_changes(self.path("trace2"))
                  for field in changed}
        self.assertEqual(fields, {"MasterSMLID"})

    def test_a_waiting_node_reads_again_where_the_master_has_recorded_other_tables(self):
        digests = "/fabricd/data/row/switch_tables/digests/0"
        self.wait_until(lambda: self.etcds.has(digests))
        self.assertFalse(self.head2.log.has("reading again", 0, 0))
        self.etcds.put(digests, re.sub(r" \w{16}$", " " + 16 * "0", self.etcds.get(digests),
                                       flags=re.MULTILINE))
        # It looks after each write of the master.
        self.cordon(self.head1, self.other)
        self.head2.log.wait_for("the master has recorded other tables than were read: reading again")
        self.head2.log.wait_for("heavy sweep: command")

    def test_a_node_that_starts_takes_the_place_of_a_master_without_a_link(self):
        self.wait_until(lambda: len(self.nodes(self.head1)) == 2)
        self.head2.kill()
        self.sim.console('Unlink "%s"[1]' % OURS)
        self.wait_until(lambda: "LocalPortDown" in self.problems(self.head1))
        # etcd does not name the other node now, but it was there a moment ago.
        own, = (each["name"] for each in self.head1.ask("get", "hosts")["hosts"])
        self.assertIn("the fabric port of this node has no link",
                      self.cordon(self.head1, own, code=UNAVAILABLE))
        # Its sweep finds no SM.
        self.head2.start(self.oracle.environment(self.sim, THEIRS, self.path("trace2b")))
        self.head2.log.wait_for("the owner of the shared state says that its port has no link")
        self.head2.wait_for("subnet_up")
        self.assertEqual(self.held(self.head2), [self.host])
        self.sim.console('ReLink "%s"[1]' % OURS)
        self.head1.log.wait_for("another fabricd uses it.*: waiting beside it")
        # Its port has to be found and named the new master.
        self.wait_until(lambda: self.holds_true(
            lambda: self.sminfo() == (THEIR_GUID, "MASTER") and self.lids() == self.before))

    def test_a_waiting_node_shows_groups_of_the_master(self):
        host, mgid = "H-0002c90200000800", "ff12:401b:ffff::77"
        # Of ibsim's first port.
        guid = "%016x" % (int(host[2:], 16) + 1)
        gid = "fe80::" + ":".join(guid[at:at + 4] for at in range(0, 16, 4))

        def change(what):
            lid = re.search(r"sm lid (\d+)", self.sim.run(host, "sminfo"))[1]
            self.sim.run(host, sys.executable, JOIN, what, lid, gid, mgid)

        def groups(node):
            return [(group["mgid"], group["mlid"], sorted(
                (member["gid"], member["node_name"]) for member in group.get("members", [])))
                    for group in self.listed(node, "multicast", "groups")]

        def listed():
            return mgid in [group[0] for group in groups(self.head2)]
        self.assertFalse(listed())
        change("join")
        self.wait_until(listed, SECONDS)
        self.assertEqual(groups(self.head2), groups(self.head1))
        self.assertIn("H-9", str(groups(self.head2)))
        change("leave")
        self.wait_until(lambda: not listed(), SECONDS)
        self.assertEqual(groups(self.head2), groups(self.head1))
        for what in ("services", "subscriptions"):
            self.assertEqual(self.listed(self.head2, what), self.listed(self.head1, what))
        # It stores nothing, and sends nothing.
        self.assertFalse(self.head2.log.has("cannot be written", 0, 0))
        self.assertEqual(self.oracle.sets(self.path("trace2")), [])

    def test_a_waiting_node_takes_over_while_etcd_hangs(self):
        self.etcds.signal(signal.SIGSTOP)
        self.head1.kill()
        begun = time.monotonic()
        self.head2.wait_for("subnet_up")
        # No call of those that end, open and claim has waited for its timeout.
        self.assertLess(time.monotonic() - begun, TAKEOVER)
        self.assertEqual(self.sminfo(), (THEIR_GUID, "MASTER"))
        self.assertEqual(self.lids(), self.before)
        self.cordon(self.head2, self.other, code=UNAVAILABLE)
        # What it has not heard of before is there again with etcd.
        self.etcds.signal(signal.SIGCONT)
        self.wait_until(lambda: self.holds_true(lambda: self.held(self.head2) == [self.host]))
        self.wait_until(lambda: self.holds_true(lambda: self.cordon(self.head2, self.other)))

    def test_a_waiting_node_that_is_cut_from_etcd_is_standby_until_it_is_back(self):
        self.head2.kill()
        proxies = [etcd.Proxy(client) for client in self.etcds.clients]
        for proxy in proxies:
            self.addCleanup(proxy.close)
        self.write("head2.yaml", CONFIG % (
            "etcd", ", ".join('"%s"' % proxy.address for proxy in proxies), LEASE, TIMEOUT,
            "unix:" + self.head2.socket) + opensm_test.config(4))
        self.head2.start(self.oracle.environment(self.sim, THEIRS, self.path("trace2b")))
        self.head2.wait_for("mode=standby")
        for proxy in proxies:
            proxy.cut()
        self.head2.wait_for("state=STANDBY")
        self.assertEqual(self.held(self.head2), [self.host])
        self.cordon(self.head1, self.other)
        for proxy in proxies:
            proxy.repair()
        self.head2.wait_for("mode=standby")
        self.wait_until(lambda: self.holds_true(
            lambda: self.held(self.head2) == sorted([self.host, self.other])))
        self.assertEqual(self.sminfo(), (OUR_GUID, "MASTER"))
        self.assertEqual(self.oracle.sets(self.path("trace2b")), [])

    def test_a_responding_master_stays_while_no_node_reaches_etcd(self):
        self.etcds.signal(signal.SIGSTOP)
        self.head2.wait_for("state=STANDBY")
        self.assertEqual(self.sminfo(), (OUR_GUID, "MASTER"))
        self.cordon(self.head1, self.other, code=UNAVAILABLE)
        self.etcds.signal(signal.SIGCONT)
        self.head2.wait_for("mode=standby")
        self.wait_until(lambda: self.holds_true(lambda: self.cordon(self.head1, self.other)))
        self.assertEqual(self.oracle.sets(self.path("trace2")), [])

    def test_a_waiting_node_without_a_link_becomes_master_when_it_has_one(self):
        self.sim.console('Unlink "%s"[1]' % THEIRS)
        self.wait_until(lambda: "LocalPortDown" in self.problems(self.head2))
        self.head1.kill()
        self.head2.log.wait_for("etcd .*: nobody has the epoch")
        self.wait_until(lambda: self.holds_true(
            lambda: "LocalPortDown" in self.problems(self.head2)))
        self.assertNotEqual(self.head2.ask("get", "sm")["state"], "MASTER")
        self.sim.console('ReLink "%s"[1]' % THEIRS)
        self.wait_for_takeover(self.head2, THEIR_GUID)

    def test_a_master_does_not_step_down_while_etcd_hangs(self):
        self.wait_until(lambda: len(self.nodes(self.head1)) == 2)
        self.etcds.signal(signal.SIGSTOP)
        self.wait_until(lambda: "StoreUnavailable" in self.problems(self.head1))
        self.head1.ctl("sm", "step-down", "--reason", "test", code=REFUSED)
        self.assertEqual(self.sminfo(), (OUR_GUID, "MASTER"))
        self.assertEqual(self.held(self.head1), [self.host])

    def test_a_master_steps_down_for_an_upgrade_and_comes_back(self):
        self.wait_until(lambda: len(self.nodes(self.head1)) == 2)
        # A waiting node may not know of a hold: fabricctl looks for it at the master.
        self.assertIn("lifted", self.head2.ctl("uncordon", self.host))
        self.cordon(self.head1, self.host)
        output = self.head1.ctl("sm", "step-down", "--for-upgrade", "--reason", "test")
        self.assertIn("takes over now, and this one waits", output)
        self.wait_for_takeover(self.head2, THEIR_GUID)
        self.assertEqual({attribute for attribute, _, _, _ in self.oracle.sets(self.path("trace2"))},
                         {"PortInfo"})
        self.head1.wait_for("mode=standby")
        # Where its answer is lost and it is asked again, the subnet is not given back.
        self.assertIn("waits beside the master", self.head1.ctl(
            "sm", "step-down", "--for-upgrade", "--reason", "test", code=REFUSED))
        self.assertEqual(self.sminfo(), (THEIR_GUID, "MASTER"))
        # Nobody waits any more while it is replaced.
        self.assertEqual(self.head1.stop(), 0)
        self.wait_until(lambda: len(self.nodes(self.head2)) == 1)
        self.assertIn("no other fabricd waits", self.head2.ctl(
            "sm", "step-down", "--for-upgrade", "--reason", "test", code=REFUSED))
        self.head1.start(self.oracle.environment(self.sim, OURS, self.path("trace1b")))
        self.head1.wait_for("mode=standby")
        self.wait_until(lambda: len(self.nodes(self.head2)) == 2)
        self.head2.ctl("sm", "step-down", "--for-upgrade", "--reason", "test")
        self.wait_for_takeover(self.head1, OUR_GUID)

    def test_a_master_that_was_stopped_writes_nothing_and_waits(self):
        self.head1.process.send_signal(signal.SIGSTOP)
        # A change for it to act on when it goes on: the trap waits in its socket.
        self.sim.console('Unlink "S-0002c90100000000"[5]')
        self.wait_for_takeover(self.head2, THEIR_GUID)
        last = max(mad.n for mad in self.oracle.read(self.path("trace1")).mads)
        self.head1.process.send_signal(signal.SIGCONT)
        self.head1.log.wait_for(r"starting again: this process was stopped for \d+ ms")
        self.head1.log.wait_for("another fabricd uses it.*: waiting beside it")
        self.head1.wait_for("mode=standby")
        self.head2.log.wait_for("another node was stopped while it was master")
        self.head2.log.wait_for("tables read back")
        # Three may have passed the check before.
        self.assertLessEqual(len(self.oracle.sets(self.path("trace1"), since=last)), 3)
        self.assertEqual(self.sminfo(), (THEIR_GUID, "MASTER"))
        self.cordon(self.head2, self.other)
        # And back, with what was changed meanwhile.
        self.head2.kill()
        self.head1.wait_for("subnet_up")
        self.assertEqual(self.held(self.head1), sorted([self.host, self.other]))


class OneNode(Shared, opensm_test.OpenSm):
    """One node on ibsim, with one etcd."""

    NEW = "H-0002c90200000c00"

    def test_a_host_that_appears_while_etcd_hangs_gets_a_lid_when_etcd_is_back(self):
        self.start_etcds(1)
        self.sim.console('Unlink "%s"[1]' % self.NEW)
        node = ibsim.Fabricd(self, self.config() + opensm_test.config(5), "head1")
        node.start(self.sim.environment(OURS)).wait_for("subnet_up")
        self.etcds.signal(signal.SIGSTOP)
        self.sim.console('ReLink "%s"[1]' % self.NEW)
        # The next retry is 8 s away by then.
        node.log.wait_for("LIDs could not be stored", times=4)
        self.assertEqual(self.lid_of(node, self.NEW), 0)
        self.etcds.signal(signal.SIGCONT)
        node.log.wait_for("the store takes writes again")
        node.wait_for("subnet_up")
        self.assertGreater(self.lid_of(node, self.NEW), 0)

    def lid_of(self, node, name):
        return next(lid for guid, lid in self.lids_of(node).items()
                    if guid and int(guid, 16) == int(name[2:], 16) + 1)


class BesideOpenSm(Shared, opensm_test.Recorded):
    """Both nodes, one etcd, and an opensm of a higher priority on one ibsim."""

    HOSTS = {"head1": OURS, "head2": "H-0002c90200000c00"}  # opensm is on THEIRS.
    HEAD2_GUID = "0x2c90200000c01"

    def setUp(self):
        super().setUp()
        if not self.oracle:
            self.skipTest("the wire oracle is absent")
        self.start_etcds(1)
        self.traces = {}
        self.head1, self.head2 = (ibsim.Fabricd(self, self.config() + opensm_test.config(priority),
                                                name) for name, priority in (("head1", 5),
                                                                             ("head2", 4)))
        self.begin("head1").wait_for("subnet_up")
        self.begin("head2").wait_for("mode=standby")
        # Routes show the drain.
        self.spine = self.find_spine()
        self.head1.ctl("drain", "switch", self.spine["name"], "--reason", "test", "--wait")
        *_, self.other, self.host = (each["name"] for each in
                                     self.head1.ask("get", "hosts")["hosts"])
        self.cordon(self.head1, self.host)
        self.holds = sorted([self.host, self.spine["name"]])
        self.before = self.lids()
        self.assertEqual(self.through_spine(), 0)

    def begin(self, name):
        self.traces[name] = self.path("%s.%d.trace" % (name, len(os.listdir(self.folder))))
        return getattr(self, name).start(
            self.oracle.environment(self.sim, self.HOSTS[name], self.traces[name]))

    def find_spine(self):
        """A switch without hosts: its name, its GUID, and the ports that lead to it, by switch."""
        ends = [(link[x], link[y]) for link in self.head1.ask("get", "links")["links"]
                for x, y in ("ab", "ba")]
        leaves = {near["node_name"] for near, far in ends if far["node_type"] != "SWITCH"}
        name = next(near["node_name"] for near, _ in ends
                    if near["node_type"] == "SWITCH" and near["node_name"] not in leaves)
        def short(guid):
            return guid[2:].lstrip("0")

        guid = next(short(near["node_guid"]) for near, _ in ends if near["node_name"] == name)
        return {"name": name, "guid": guid, "ports": {
            (short(near["node_guid"]), near["number"])
            for near, far in ends if far["node_name"] == name}}

    def sent(self, name):
        """[(method, attribute)] that a node has sent since it gave the subnet to another SM, if it
        has, by its recording."""
        sent = [(mad.method_name, mad.attr_name)
                for mad in self.oracle.read(self.traces[name]).mads if mad.dir == "S"]
        while ("Set", "SMInfo") in sent:
            sent = sent[sent.index(("Set", "SMInfo")) + 1:]
        return sent

    def through_spine(self):
        """How many LIDs but its own have routes through the drained spine."""
        own = int(self.before[self.spine["guid"]])
        return sum((guid, int(port)) in self.spine["ports"]
                   for guid, table in self.tables().items()
                   for lid, port in table if int(lid, 16) != own)

    def nobody_writes_while_opensm_is_master(self):
        """And what is stored stays."""
        # Each poll is a chance to do something else.
        self.wait_until(lambda: self.sent("head1").count(("Get", "SMInfo")) > 8)
        for name in self.HOSTS:
            self.assertEqual([each for each in self.sent(name) if each[0] == "Set"], [], name)
            self.assertEqual(self.held(getattr(self, name)), self.holds)
        self.assertEqual(self.sminfo(self.before[THEIR_GUID[2:]]), (THEIR_GUID, "MASTER"))
        self.assertIn("this SM is STANDBY: the master keeps the holds",
                      self.cordon(self.head1, self.host, code=REFUSED))
        # The waiting node has seen the new master by then.
        self.wait_until(lambda: re.search(
            "is another SM, %s with priority 10: .* beside .* pid %d, which is STANDBY" %
            ("0x%016x" % int(THEIR_GUID, 16), self.head1.process.pid),
            self.cordon(self.head2, self.host, code=REFUSED)))
        self.assertIn("2 holds", self.store(self.head1, "export", self.path("now.db")))
        os.remove(self.path("now.db"))

    def is_master(self, node, guid):
        node.wait_for("subnet_up")
        self.assertEqual(self.sminfo(), (guid, "MASTER"))
        self.assertEqual((self.lids(), self.held(node)), (self.before, self.holds))
        self.assertEqual(self.through_spine(), 0)
        self.cordon(node, self.other)

    def test_one_that_joins_wins_and_fabricd_is_master_again_after_it(self):
        self.opensm(10)
        self.their_log.wait_for("Entering MASTER state")
        self.head1.wait_for("state=STANDBY")
        self.nobody_writes_while_opensm_is_master()
        ibsim.stop(self.theirs)
        self.is_master(self.head1, OUR_GUID)
        # The other one waits for it again.
        self.wait_until(lambda: len(self.nodes(self.head1)) == 2)
        self.head2.wait_for("mode=standby")

    def test_holds_replace_the_routes_of_opensm_also_at_the_second_node(self):
        for node in (self.head1, self.head2):
            self.assertEqual(node.stop(), 0)
        self.opensm(10)
        self.their_log.wait_for("SUBNET UP")
        self.assertGreater(self.through_spine(), 0)
        self.begin("head1").wait_for("state=STANDBY")
        self.begin("head2").wait_for("mode=standby")
        self.nobody_writes_while_opensm_is_master()
        self.assertGreater(self.through_spine(), 0)
        # The owner of the epoch dies first: the second one is a manager when that is over.
        self.head1.kill()
        self.head2.wait_for("state=STANDBY")
        ibsim.stop(self.theirs)
        self.is_master(self.head2, self.HEAD2_GUID)


class Upgrade(Shared, opensm_test.OpenSm):
    """Two nodes on one ibsim, one after the other of a later version with a newer layout."""

    HOSTS = {"head1": OURS, "head2": THEIRS}

    def setUp(self):
        super().setUp()
        self.start_etcds(1)
        for name, priority in (("head1", 5), ("head2", 4)):
            setattr(self, name, ibsim.Fabricd(
                self, self.config() + opensm_test.config(priority), name))

    def begin(self, name, version="now"):
        node = getattr(self, name)
        node.program = (os.path.join(node.bin, "..", "tests", "fabricd_next") if version == "next"
                        else os.path.join(node.bin, "fabricd"))
        return node.start(self.sim.environment(self.HOSTS[name]))

    def step_down(self, node, successor):
        self.wait_until(lambda: len(self.nodes(node)) == 2)
        node.ctl("sm", "step-down", "--for-upgrade", "--reason", "test")
        successor.wait_for("subnet_up")
        node.wait_for("mode=standby")

    def schema(self):
        return self.etcds.get("/fabricd/control/schema")

    def test_one_node_after_the_other_and_back_and_then_for_good(self):
        self.begin("head1").wait_for("subnet_up")
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.cordon(self.head1, hosts[0])
        self.begin("head2", "next").wait_for("mode=standby")
        self.assertEqual(self.held(self.head2), [hosts[0]])
        # The newer one is master in the layout of the older one,
        self.step_down(self.head1, self.head2)
        self.cordon(self.head2, hosts[1])
        self.assertEqual(self.held(self.head2), sorted(hosts[:2]))
        # so that the older one can be master again.
        time.sleep(3 * LEASE)
        self.assertEqual(self.schema(), "1")
        self.step_down(self.head2, self.head1)
        self.cordon(self.head1, hosts[2])
        self.step_down(self.head1, self.head2)
        self.assertEqual(self.held(self.head2), sorted(hosts[:3]))
        # The version rises when a second node knows the newer one.
        self.assertEqual(self.head1.stop(), 0)
        self.wait_until(lambda: len(self.nodes(self.head2)) == 1)
        time.sleep(3 * LEASE)
        self.assertEqual(self.schema(), "1")
        self.begin("head1", "next").wait_for("mode=standby")
        self.wait_until(lambda: self.schema() == "2")
        self.step_down(self.head2, self.head1)
        self.step_down(self.head1, self.head2)
        # An older one refuses it then, and leaves everything as it is.
        self.assertEqual(self.head1.stop(), 0)
        self.begin("head1")
        self.head1.log.wait_for("schema version 2 is newer than this fabricd, which knows 1")
        self.assertEqual(self.head1.process.wait(ibsim.PATIENCE), FAILED)
        self.assertIn("3 holds", self.store(self.head1, "export", self.path("copy.db"),
                                            "--from-copy"))
        self.assertEqual(self.held(self.head2), sorted(hosts[:3]))
        self.begin("head1", "next").wait_for("mode=standby")
        self.assertEqual(self.held(self.head1), sorted(hosts[:3]))


if __name__ == "__main__":
    ibsim.main(["etcd"])
