#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`fabricctl topology` in the forms that others read: Slurm's controller, ibsim and fabricd itself,
Graphviz and SVG renderers where they are installed.

usage: topology_test.py BIN_DIR [TEST...]
"""
import json
import os
import re
import shutil
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import slurm  # noqa: E402

def shown_nodes(conf):
    lists = " ".join(re.findall(r"Nodes=(\S+)", conf))
    numbers = set()
    for first, last in re.findall(r"(\d{4})(?:-(\d{4}))?", lists):
        numbers |= set(range(int(first), int(last or first) + 1))
    return {"node%04d" % number for number in numbers}


class Topology(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(fabric="sim:superpod:sus=2,hosts=8,rails=4")
        self.fabricd.wait_for("subnet_up")

    @unittest.skipUnless(slurm.is_possible(), "no slurmctld, or not root")
    def test_slurm_takes_it(self):
        self.write("topology.conf", self.fabricd.ctl("topology", "-o", "slurm-conf"))
        controller = slurm.Slurm(self, "node[0001-0016]", topology="tree")
        shown = controller.scontrol("show", "topology")
        switches = {}
        for line in shown.splitlines():
            switches[re.search(r"SwitchName=(\S+)", line)[1]] = line
        self.assertEqual(set(switches), {"su1", "su2", "fabric"}, shown)
        self.assertRegex(switches["su1"], r"Level=0 .*Nodes=node\[0001-0008\]")
        self.assertRegex(switches["fabric"], r"Level=1 .*Nodes=node\[0001-0016\].*Switches=su\[1-2\]")
        self.assertNotIn("topology/tree", "\n".join(
            line for line in controller.log.lines if "error" in line))
        # A host that is away for a while stays in Slurm's topology, where its jobs may still run.
        for nic in range(4):
            peer = self.fabricd.ask("get", "port", "node0003/mlx5_%d/1" % nic)["peer"]
            self.fabricd.ctl("sim", "unlink", "%s/%d" % (peer["node_name"], peer["number"]))
        self.fabricd.ctl("--timeout", "60s", "wait", "sm", "--for", "hosts=15")
        self.fabricd.ctl("wait", "sm", "--for", "subnet_up")
        self.assertNotIn("node0003", shown_nodes(self.fabricd.ctl("topology", "-o", "slurm-conf")))
        kept = self.fabricd.ctl("topology", "-o", "slurm-conf", "--keep",
                                self.path("topology.conf"))
        self.assertIn("# away, where they were before: node0003\n", kept)
        self.write("topology.conf", kept)
        controller.scontrol("reconfigure")
        shown = controller.scontrol("show", "topology")
        self.assertRegex(shown, r"SwitchName=su1 .*Nodes=node\[0001-0008\]")

    def test_ibsim_and_fabricd_read_it_back(self):
        text = self.fabricd.ctl("topology", "-o", "ibnetdiscover")
        path = self.write("again.net", text)
        sim = ibsim.Ibsim(self, path)
        sim.console("Dump \"node0003 mlx5_2\"")
        self.assertIn("node0003 mlx5_2", sim.log.text())

        def cables(daemon):
            fabric = json.loads(daemon.ctl("topology", "-o", "json"))
            ends = [[(link[end]["node_guid"], link[end]["number"]) for end in "ab"]
                    for link in fabric["links"]]
            return sorted(sorted(each) for each in ends), sorted(
                (node["guid"], node["description"]) for node in fabric["nodes"])

        again = ibsim.Fabricd(self, name="again")
        again.start(fabric="sim:" + path)
        again.wait_for("subnet_up")
        self.assertEqual(cables(again), cables(self.fabricd))

    def test_documents_parse_in_their_formats(self):
        svg = self.fabricd.ctl("topology", "-o", "svg")
        root = xml.etree.ElementTree.fromstring(svg)
        texts = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]
        for name in ("su1-rail0-leaf", "spine1", "node0016"):
            self.assertIn(name, texts)
        graph = json.loads(self.fabricd.ctl("topology", "-o", "topograph"))
        self.assertEqual(graph["instances"][15],
                         {"id": "node0016", "network_layers": ["su2", "fabric"]})
        labels = self.fabricd.ctl("topology", "-o", "k8s-labels").splitlines()
        self.assertEqual(labels[0], "kubectl label --overwrite node node0001 "
                         "fabric.topograph.run/tier-0=su1 fabric.topograph.run/tier-1=fabric")
        if shutil.which("dot"):
            dot = self.write("fabric.dot", self.fabricd.ctl("topology", "-o", "dot"))
            self.run_program(["dot", "-Tplain", "-o", self.path("plain"), dot])


if __name__ == "__main__":
    ibsim.main(["ibsim"])
