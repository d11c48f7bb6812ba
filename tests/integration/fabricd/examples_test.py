#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/ against a running fabricd on its embedded fabric: the client that watches, Slurm's
health check and prolog, node-problem-detector's plugin.

usage: examples_test.py BIN_DIR [TEST...]
"""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import slurm  # noqa: E402

PYTHON = "/usr/bin/python3"  # Whose modules Debian's packages are.
EXAMPLES = os.path.join(ibsim.ROOT, "examples")


class Examples(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(fabric="sim:superpod:sus=2,hosts=4,rails=4")
        self.fabricd.wait_for("subnet_up")

    def environment(self, **more):
        path = ibsim.Fabricd.bin + os.pathsep + os.environ["PATH"]
        return dict(more, PATH=path, FABRICCTL_SERVER="unix:" + self.fabricd.socket)

    def script(self, name, code=0, **more):
        return self.run_program([os.path.join(EXAMPLES, name)], self.environment(**more), code)

    def test_watches_and_cordons(self):
        process = self.start([PYTHON, os.path.join(EXAMPLES, "watch.py"), "--server",
                              "unix:" + self.fabricd.socket])
        watcher = ibsim.Lines(process)
        watcher.wait_for("watching 8 hosts")
        port = self.fabricd.ask("get", "port", "node0002/mlx5_2/1")["peer"]
        end = "%s/%d" % (port["node_name"], port["number"])
        self.fabricd.ctl("sim", "unlink", end)
        watcher.wait_for(r"cordoned node0002 \(hold \d+\): mlx5_2")
        self.fabricd.ctl("readiness", "node0002", code=1)
        self.fabricd.ctl("sim", "link", end)
        watcher.wait_for("uncordoned node0002")
        self.fabricd.ctl("--timeout", "60s", "wait", "host", "node0002", "--for", "ready")

    def unlink_all(self, host):
        for nic in range(4):
            peer = self.fabricd.ask("get", "port", "%s/mlx5_%d/1" % (host, nic))["peer"]
            self.fabricd.ctl("sim", "unlink", "%s/%d" % (peer["node_name"], peer["number"]))

    @unittest.skipUnless(slurm.is_possible(), "no slurmctld, or not root")
    def test_health_check_of_slurm(self):
        controller = slurm.Slurm(self, "node[0001-0008],login1")

        def check(node="node0003"):
            """The state and reason of the node after a health check."""
            self.script("slurm/health_check.sh", SLURMD_NODENAME=node, **controller.environment)
            shown = controller.scontrol("--oneliner", "show", "node", node)
            reason = re.search(r" Reason=(.*?) \[", shown)
            return "DRAIN" in re.search(r" State=(\S+)", shown)[1], reason[1] if reason else ""

        def admin(*words):
            controller.scontrol("update", "NodeName=node0003", *words)

        self.assertFalse(check()[0])
        self.fabricd.ctl("cordon", "node0003", "--reason", "bit errors")
        drained, reason = check()
        self.assertTrue(drained)
        self.assertRegex(reason, "^fabricd: node0003 HELD: cordon of host node0003")
        self.assertEqual(check(), (True, reason))
        self.fabricd.ctl("uncordon", "node0003")
        self.assertFalse(check()[0])
        # What an admin drains stays drained, whatever the network did before, meanwhile or since.
        admin("State=DRAIN", "Reason=disk")
        self.assertEqual(check(), (True, "disk"))
        self.fabricd.ctl("cordon", "node0003", "--reason", "bit errors")
        self.assertEqual(check(), (True, "disk"))
        self.fabricd.ctl("uncordon", "node0003")
        self.assertEqual(check(), (True, "disk"))
        admin("State=RESUME")
        self.fabricd.ctl("cordon", "node0003", "--reason", "bit errors")
        self.assertTrue(check()[0])
        admin("State=DRAIN", "Reason=disk")
        self.fabricd.ctl("uncordon", "node0003")
        self.assertEqual(check(), (True, "disk"))
        # All NICs lost are no less than one; a node without InfiniBand has lost none.
        self.unlink_all("node0004")
        self.fabricd.ctl("--timeout", "60s", "wait", "sm", "--for", "hosts=7")
        self.assertIn("fabricd: node0004 LOST", check("node0004")[1])
        self.assertFalse(check("login1")[0])
        # fabricd does not answer: nothing is drained or resumed.
        self.fabricd.stop()
        self.assertFalse(check("node0002")[0])
        self.assertTrue(check("node0004")[0])

    def test_prolog_of_slurm(self):
        def prolog(nodes, code=0):
            return self.script("slurm/prolog.sh", code=code, SLURM_JOB_NODELIST=nodes)

        prolog("node[0001-0004]")
        self.fabricd.ctl("cordon", "node0003", "--reason", "bit errors")
        self.assertIn("HELD", prolog("node[0001-0004]", code=1))
        prolog("node[0001-0002]")
        # Without InfiniBand, and with all of it lost.
        prolog("node[0001-0002],login1")
        self.unlink_all("node0004")
        self.fabricd.ctl("--timeout", "60s", "wait", "sm", "--for", "hosts=7")
        self.assertIn("LOST", prolog("node[0001-0002],node0004", code=1))

    def test_plugin_of_node_problem_detector(self):
        with open(os.path.join(EXAMPLES, "kubernetes", "fabric-npd.json"), encoding="utf-8") as file:
            config = json.load(file)
        rule, = config["rules"]
        self.assertIn(rule["condition"], [each["type"] for each in config["conditions"]])
        plugin = "kubernetes/" + os.path.basename(rule["path"])
        self.assertEqual(self.script(plugin, NODE_NAME="node0003"), "node0003 READY\n")
        self.fabricd.ctl("cordon", "node0003", "--reason", "x" * 200)
        line = self.script(plugin, code=1, NODE_NAME="node0003")
        self.assertTrue(re.match(r"node0003 HELD: .*\.\.\.$", line), line)
        self.assertLessEqual(len(line.rstrip("\n")), config["pluginConfig"]["max_output_length"])
        self.script(plugin, code=2, NODE_NAME="nobody")
        self.fabricd.stop()
        self.script(plugin, code=2, NODE_NAME="node0003")


if __name__ == "__main__":
    ibsim.main(["protoc", "grpc_python_plugin"])
