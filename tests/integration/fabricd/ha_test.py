#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two management nodes with one state in a real etcd: a node dies, etcd hangs, etcd is lost for ever.

usage: ha_test.py BIN_DIR [TEST...]
"""
import json
import os
import shutil
import signal
import socket
import sqlite3
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

FABRIC = "sim:fat-tree:radix=4,levels=2"
CONFIG = """\
store: %s
etcd: {endpoints: ["%s"], lease: 2s, timeout: 1s}
telemetry: {enabled: false}
"""
FAILED, UNAVAILABLE = 1, 4


def free_addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    addresses = ["127.0.0.1:%d" % each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return addresses


class Etcd:
    def __init__(self, case):
        self.case = case
        self.client, self.peer = free_addresses(2)
        self.data = case.path("etcd")
        self.process = None
        self.start()

    def start(self):
        self.process = self.case.start([
            "etcd", "--name=m", "--data-dir=" + self.data,
            "--listen-client-urls=http://" + self.client,
            "--advertise-client-urls=http://" + self.client,
            "--listen-peer-urls=http://" + self.peer,
            "--initial-advertise-peer-urls=http://" + self.peer,
            "--initial-cluster=m=http://" + self.peer])
        ibsim.Lines(self.process).wait_for("ready to serve client requests")

    def destroy(self):
        ibsim.stop(self.process)
        shutil.rmtree(self.data)


class Nodes(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.etcd = Etcd(self)
        self.head1, self.head2 = (
            ibsim.Fabricd(self, CONFIG % ("etcd", self.etcd.client), name)
            for name in ("head1", "head2"))

    def start(self, node):
        node.start(fabric=FABRIC)
        node.wait_for("subnet_up")

    def start_when_free(self, node):
        """As systemd does: again and again, until the other node's lease is over."""
        deadline = time.monotonic() + ibsim.PATIENCE
        while time.monotonic() < deadline:
            node.start(fabric=FABRIC)
            node.log.wait_for("subnet up|another fabricd uses it")
            if "another fabricd uses it" not in node.log.text():
                return
            self.assertEqual(node.process.wait(), FAILED)
        self.fail("the epoch does not end")

    def cordon(self, node, host, code=0):
        return node.ctl("cordon", host, "--reason", "test", code=code)

    def held(self, node):
        return sorted(hold["target"]["name"] for hold in node.ask("get", "holds")["holds"])

    def lids(self, node):
        return {end["guid"]: end["lid"] for each in node.ask("get", "nodes")["nodes"]
                for end in each["end_ports"]}

    def store(self, node, *words, code=0):
        return self.run_program([os.path.join(node.bin, "fabricd"), "store", *words, "--config",
                                 node.config, "--state-dir", node.state], code=code)

    def problems(self, node):
        return {each["kind"]: each["message"] for each in node.ask("get", "sm").get("problems", [])}

    def test_state_outlives_its_node(self):
        self.start(self.head1)
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.cordon(self.head1, hosts[0])
        lids = self.lids(self.head1)
        output = self.head2.once(code=FAILED, fabric=FABRIC)
        self.assertRegex(output, r"another fabricd uses it: \S+ pid %d" % self.head1.process.pid)
        self.head1.kill()
        self.start_when_free(self.head2)
        self.assertEqual(self.held(self.head2), [hosts[0]])
        self.assertEqual(self.lids(self.head2), lids)
        self.cordon(self.head2, hosts[1])

    def test_changes_are_refused_while_etcd_hangs(self):
        self.start(self.head1)
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.cordon(self.head1, hosts[0])
        self.etcd.process.send_signal(signal.SIGSTOP)
        output = self.cordon(self.head1, hosts[1], code=UNAVAILABLE)
        self.assertIn("etcd at " + self.etcd.client, output)
        self.assertIn("StoreUnavailable", self.problems(self.head1))
        self.assertEqual(self.held(self.head1), [hosts[0]])
        self.assertTrue(self.head1.ask("get", "sm")["subnet_up"])
        # Routing goes on: a lost link is routed around.
        link = next(each for each in self.head1.ask("get", "links")["links"]
                    if all(end["node_name"] not in " ".join(hosts) for end in (each["a"], each["b"])))
        self.head1.ctl("sim", "unlink", "%s/%d" % (link["a"]["node_name"], link["a"]["number"]))
        self.head1.log.wait_for("rerouted|reroute")
        self.etcd.process.send_signal(signal.SIGCONT)
        self.head1.log.wait_for("changes are stored again")
        self.assertNotIn("StoreUnavailable", self.problems(self.head1))
        self.cordon(self.head1, hosts[1])
        self.assertEqual(self.held(self.head1), sorted(hosts[:2]))

    def test_etcd_is_lost_for_ever(self):
        self.start(self.head1)
        hosts = [host["name"] for host in self.head1.ask("get", "hosts")["hosts"]]
        self.cordon(self.head1, hosts[0])
        lids = self.lids(self.head1)
        backup = self.path("backup.db")
        self.assertIn("1 holds", self.store(self.head2, "export", backup))
        self.assertEqual(self.head1.stop(), 0)
        self.etcd.destroy()
        # It goes on with its copy, also where it is started again.
        self.start(self.head1)
        self.assertEqual(self.held(self.head1), [hosts[0]])
        self.assertEqual(self.lids(self.head1), lids)
        self.cordon(self.head1, hosts[1], code=UNAVAILABLE)
        self.assertIn("another fabricd", self.store(self.head1, "migrate", "--to", "sqlite",
                                                    "--from-copy", code=FAILED))
        self.assertEqual(self.head1.stop(), 0)
        # The one command.
        self.store(self.head1, "migrate", "--to", "sqlite", "--from-copy")
        self.write("head1.yaml", CONFIG % ("sqlite", self.etcd.client))
        self.start(self.head1)
        self.assertEqual(self.held(self.head1), [hosts[0]])
        self.assertEqual(self.lids(self.head1), lids)
        self.cordon(self.head1, hosts[1])
        self.assertEqual(self.head1.stop(), 0)
        # And into a new etcd: first that of the node, then the backup.
        self.etcd.start()
        self.store(self.head1, "migrate", "--to", "etcd")
        self.assertIn("--replace", self.store(self.head2, "import", backup, code=FAILED))
        self.start(self.head2)
        self.assertEqual(self.held(self.head2), sorted(hosts[:2]))
        self.assertEqual(self.head2.stop(), 0)
        self.store(self.head2, "import", backup, "--replace")
        self.start(self.head2)
        self.assertEqual(self.held(self.head2), [hosts[0]])

    def test_faults_of_a_snapshot_are_named(self):
        self.write("head1.yaml", "store: sqlite\n")
        self.start(self.head1)
        self.assertEqual(self.head1.stop(), 0)
        backup = self.path("backup.db")
        self.store(self.head1, "export", backup)
        database = sqlite3.connect(backup)
        database.execute("INSERT INTO lids VALUES ('0x00000000000000ff', 1, 0, 0)")
        database.execute("INSERT INTO rows VALUES ('partition', '0x0001', 'no such syntax {{')")
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


if __name__ == "__main__":
    ibsim.main(["etcd"])
