#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricplan as a user runs it: what it prints, how it ends, what it writes.

usage: plan_test.py BIN_DIR [TEST...]
"""
import json
import os
import re
import sys
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402


class Plan(ibsim.Case):
    def generate(self, *arguments):
        text = self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricsim"), "generate",
                                 *arguments])
        return self.write("-".join(arguments).replace("--", "") + ".net", text)

    def plan(self, *arguments, code=0):
        return self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricplan"), *arguments],
                                code=code)

    def report(self, *arguments, code=0):
        return json.loads(self.plan(*arguments, "--report", "json", code=code))

    def tree(self):
        return self.generate("fat-tree", "--radix", "8", "--levels", "3")

    def test_report_of_an_intact_tree(self):
        report = self.report("--topology", self.tree(), "--engine", "up_down")
        self.assertEqual(report["engine"], "up_down")
        self.assertEqual(report["chain"], [{"engine": "up_down", "ok": True, "reason": ""}])
        self.assertEqual([report[key] for key in ("end_ports", "hosts", "switches", "lids")],
                         [128, 128, 80, 208])
        self.assertEqual(set(report["ms"]), {"read", "snapshot", "route", "verify", "metrics"})
        self.assertGreater(report["bytes"]["tables"], 80 * 208)
        self.assertGreater(report["bytes"]["peak_rss"], 1 << 20)
        self.assertIs(report["verified"], True)
        self.assertEqual((report["unreachable_pairs"], report["lanes"]), (0, 1))
        quality = report["quality"]
        self.assertEqual(quality["shift"]["max"], 1)
        self.assertEqual(quality["all_to_all"]["max"], 124)
        self.assertAlmostEqual(quality["all_to_all"]["max_over_bound"], 1, places=5)
        self.assertEqual(sum(count["links"] for count in quality["all_to_all"]["distribution"]),
                         quality["links"])
        self.assertNotIn("incremental", report)
        self.assertNotIn("compared", report)

    def test_the_report_does_not_depend_on_threads(self):
        def told(threads):
            report = self.report("--topology", self.tree(), "--fail-links", "9",
                                 "--threads", threads)
            for key in ("ms", "bytes", "threads"):
                del report[key]
            return report
        self.assertEqual(told("1"), told("2"))

    def test_several_engines_are_compared(self):
        report = self.report("--topology", self.tree(), "--engine", "min_hop,up_down")
        self.assertEqual(report["engine"], "up_down")
        self.assertEqual([step["ok"] for step in report["chain"]], [False, True])
        self.assertIn("credit loop", report["chain"][0]["reason"])
        self.assertEqual([(one["engine"], one["verified"]) for one in report["compared"]],
                         [("min_hop", False), ("up_down", True)])
        table = self.plan("--topology", self.tree(), "--engine", "min_hop,up_down")
        self.assertRegex(table, r"(?m)^min_hop +no ")
        self.assertRegex(table, r"(?m)^up_down +yes ")

    def test_one_engine_without_a_valid_plan(self):
        report = self.report("--topology", self.tree(), "--engine", "min_hop", code=1)
        self.assertEqual((report["engine"], report["verified"]), ("min_hop", False))
        self.assertIn("credit loop", report["chain"][0]["reason"])
        self.assertEqual(report["quality"]["shift"]["max"], 1)

    def test_failed_links_nodes_and_baseline(self):
        tree = self.tree()
        intact = self.report("--topology", tree)["quality"]["links"]

        def links(*failed):
            return self.report("--topology", tree, *failed)["quality"]["links"]
        self.assertEqual(links("--fail-links", "3", "--seed", "7"), intact - 6)
        self.assertEqual(links("--fail-links", "5%"), intact - 2 * round(256 * 0.05))
        self.assertEqual(links("--fail", "pod1-leaf1[5]"), intact - 2)
        self.assertEqual(links("--fail", "pod1-leaf1[5]", "--fail", "pod2-leaf1/5"), intact - 4)
        self.assertEqual(links("--fail", "pod1-spine1"), intact - 16)
        change = self.report("--topology", tree, "--fail", "pod1-leaf1[5]", "--baseline",
                             tree)["incremental"]
        self.assertIs(change["verified"], True)
        self.assertGreater(change["blocks_changed"], 0)
        self.assertGreater(change["destinations_changed"], 0)
        self.assertIs(change["least_change"], True)
        self.assertGreater(change["settled"]["all_to_all_max"], 0)
        self.assertLessEqual(change["settled"]["all_to_all_max"], change["all_to_all_max"])
        same = self.report("--topology", tree, "--baseline", tree)["incremental"]
        self.assertEqual((same["blocks_changed"], same["destinations_changed"]), (0, 0))

    def test_a_host_fails_with_all_its_adapters(self):
        superpod = self.generate("superpod", "--sus", "1", "--hosts", "4", "--rails", "4")
        report = self.report("--topology", superpod, "--fail", "node0002")
        self.assertEqual((report["hosts"], report["end_ports"]), (3, 12))

    def test_lmc(self):
        report = self.report("--topology", self.tree(), "--lmc", "2")
        self.assertEqual(report["lids"], 4 * 128 + 80)

    def test_dumps(self):
        self.plan("--topology", self.tree(), "--dump-dir", self.path("dumps"))
        with open(self.path("dumps/opensm.fdbs"), encoding="utf-8") as file:
            self.assertEqual(len(re.findall(r"(?m)^osm_ucast_mgr_dump_ucast_fdbs|^dump_ucast",
                                            file.read())), 80)
        for name in ("opensm-subnet.lst", "opensm-lfts.dump"):
            self.assertGreater(os.path.getsize(self.path("dumps/" + name)), 1000)
        self.assertTrue(os.path.exists(self.path("dumps/opensm.mcfdbs")))

    def test_dumps_of_vls_of_an_earlier_plan_are_removed(self):
        torus = self.generate("torus", "--dims", "5x5x5")
        by_lanes = {"8": True, "1": False}
        for lanes, there in by_lanes.items():
            self.plan("--topology", torus, "--engine", "layered", "--lanes-max", lanes,
                      "--dump-dir", self.path("dumps"), "--no-quality")
            for name in ("opensm-path-sl.dump", "opensm-sl2vl.dump"):
                self.assertEqual(os.path.exists(self.path("dumps/" + name)), there, name)

    def test_drawings(self):
        self.plan("--topology", self.tree(), "--fail", "pod1-leaf1[5]", "--svg",
                  self.path("tree.svg"), "--load-svg", self.path("load.svg"))
        tree = ElementTree.parse(self.path("tree.svg")).getroot()
        titles = [title.text for title in tree.iter("{http://www.w3.org/2000/svg}title")]
        lines = [title for title in titles if "cable" in title]
        self.assertEqual((len(titles), len(lines)), (80 + 255, 255))
        self.assertIn("pod1-leaf1: 4 host ports, 3 neighbours", titles)
        load = ElementTree.parse(self.path("load.svg")).getroot()
        bars = [re.search(r": (\d+) links", title.text)
                for title in load.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sum(int(bar[1]) for bar in bars), 2 * 255)

    def test_names_that_are_no_text(self):
        with open(self.tree(), encoding="utf-8") as file:
            text = file.read().replace("pod1-leaf1\"", "pod1-\udcff<\x01leaf1\"")
        with open(self.path("odd.net"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        report = self.report("--topology", self.path("odd.net"), "--svg", self.path("odd.svg"))
        self.assertTrue(any("pod1-?<" in note for note in report["notes"]), report["notes"])
        titles = ElementTree.parse(self.path("odd.svg")).getroot().iter(
            "{http://www.w3.org/2000/svg}title")
        self.assertIn("pod1-?<.leaf1: 4 host ports, 4 neighbours", [title.text for title in titles])

    def test_misplaced_cables_take_the_places_of_those_that_are_missed_there(self):
        superpod = self.generate("superpod", "--sus", "4", "--swap-cables", "5", "--missing-hcas",
                                 "0.05")
        report = self.report("--topology", superpod, "--engine", "rail")
        self.assertEqual(sum("misplaced" in note for note in report["notes"]), 10)
        self.assertEqual(report["quality"]["shift"]["max"], 1)

    def test_quality_is_of_the_component_with_the_most_hosts(self):
        tree = self.generate("fat-tree", "--radix", "4", "--levels", "2")
        failed = ["leaf1[3]", "leaf1[4]"] + ["node000%d mlx5_0" % host for host in range(3, 8)]
        report = self.report("--topology", tree, *(word for one in failed
                                                   for word in ("--fail", one)))
        # One leaf with two hosts, and five switches with one.
        self.assertEqual((report["pieces"], report["end_ports"]), (2, 3))
        self.assertEqual((report["quality"]["hosts"], report["quality"]["links"]), (2, 0))

    def test_without_quality(self):
        report = self.report("--topology", self.tree(), "--no-quality")
        self.assertNotIn("quality", report)
        self.assertIs(report["verified"], True)
        self.assertNotIn("bandwidth", self.plan("--topology", self.tree(), "--no-quality"))
        change = self.report("--topology", self.tree(), "--baseline", self.tree(),
                             "--no-quality")["incremental"]
        self.assertNotIn("all_to_all_max", change)
        self.assertNotIn("all_to_all_max", change["settled"])

    def test_reports_wrong_arguments(self):
        tree = self.tree()
        empty = self.write("empty.net", "")
        for arguments, complaint in (
                ([], "--topology is required"),
                (["--topology", "/nowhere.net"], "/nowhere.net: No such file"),
                (["--topology", empty], "empty"),
                (["--topology", self.path("")], "empty or unreadable"),
                (["--topology", self.write("bad.net", "Switch\t4 \"S-1\"\n[1]\t\"S-")], "bad.net:"),
                (["--topology", tree, "--engine", "dfsssp"], "the engines are"),
                (["--topology", tree, "--fail", "nobody"], "no node, port or LID \"nobody\""),
                (["--topology", tree, "--fail", "pod1-leaf1[9]"], "no port 9"),
                (["--topology", tree, "--fail", "pod1-leaf1[256]"], "no port has the number 256"),
                (["--topology", tree, "--fail", "pod1-leaf1[x]"], "\"pod1-leaf1[x]\""),
                (["--topology", tree, "--seed", "-1"], "--seed: not below 0"),
                (["--topology", tree, "--threads", "1025"], "0 to 1024"),
                (["--topology", tree, "--fail-links", "257"], "from 0 to 256"),
                (["--topology", tree, "--fail-links", "many"], "from 0 to 256"),
                (["--topology", tree, "--policy", "best"], "--policy"),
                (["--topology", tree, "--baseline", "/nowhere.net"], "/nowhere.net"),
                (["--topology", tree, "--lmc", "8"], "--lmc")):
            self.assertIn(complaint, self.plan(*arguments, code=2))


if __name__ == "__main__":
    ibsim.main([])
