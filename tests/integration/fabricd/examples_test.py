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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

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

    def test_health_check_of_slurm(self):
        def check(state=""):
            return self.script("slurm/health_check.sh", SLURMD_NODENAME="node0003",
                               SCONTROL="echo scontrol", SHOW_NODE="echo " + state)

        self.assertEqual(check("State=IDLE"), "")
        self.assertEqual(check("State=DRAIN Reason=disk"), "")
        self.fabricd.ctl("cordon", "node0003", "--reason", "bit errors")
        drained = check("State=IDLE")
        self.assertIn("scontrol update NodeName=node0003 State=DRAIN Reason=fabricd: node0003 HELD",
                      drained)
        self.fabricd.ctl("uncordon", "node0003")
        self.assertEqual(check("State=IDLE+DRAIN Reason=fabricd: node0003 HELD"),
                         "scontrol update NodeName=node0003 State=RESUME\n")
        # Nobody answers: nothing is drained.
        self.fabricd.stop()
        self.assertNotIn("scontrol", check("State=IDLE"))

    def test_prolog_of_slurm(self):
        self.script("slurm/prolog.sh", SLURM_JOB_NODELIST="node[0001-0004]")
        self.fabricd.ctl("cordon", "node0003", "--reason", "bit errors")
        self.assertIn("HELD", self.script("slurm/prolog.sh", code=1,
                                          SLURM_JOB_NODELIST="node[0001-0004]"))
        self.script("slurm/prolog.sh", SLURM_JOB_NODELIST="node[0001-0002]")

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
