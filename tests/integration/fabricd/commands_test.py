#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricctl against a running fabricd on its embedded fabric: what goes on for as long as one looks,
what would be, completion in the shells that are installed, and the daemon's configuration.

usage: commands_test.py BIN_DIR [TEST...]
"""
import json
import os
import re
import shutil
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402


class Commands(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(fabric="sim:superpod:sus=2,hosts=4,rails=4")
        self.fabricd.wait_for("subnet_up")
        self.environment = {"FABRICCTL_SERVER": "unix:" + self.fabricd.socket,
                            "PATH": ibsim.Fabricd.bin + os.pathsep + os.environ["PATH"]}

    def watch(self, *arguments):
        return ibsim.Lines(self.start(["fabricctl", *arguments], self.environment))

    def test_watches_changes(self):
        ports = self.watch("get", "ports", "-w", "-l", "role=leaf,rail=1")
        hosts = self.watch("get", "hosts", "node[0001-0004]", "-w", "-o", "name")
        links = self.watch("get", "links", "-w", "-o", "json")
        holds = self.watch("get", "holds", "-w")
        active = self.watch("get", "ports", "-w", "--state", "ACTIVE", "-l", "role=leaf")
        head = ports.wait_for(r"^NAME +STATUS +PHYSICAL")
        ports.wait_for(r"^su1-rail1-leaf/2 +ACTIVE")
        hosts.wait_for("^host/node0004$")
        links.wait_for('"total_size"')
        active.wait_for(r"^su1-rail1-leaf/2 +ACTIVE")
        before = len(ports.lines), len(hosts.lines)
        self.fabricd.ctl("sim", "unlink", "su1-rail1-leaf/2")
        gone = ports.wait_for(r"^su1-rail1-leaf/2 +DOWN", since=before[0])
        # Later rows stand below the first ones.
        self.assertEqual(gone.string.index("DOWN"), head.string.index("STATUS"))
        # It is there, but none of those asked for any more; that is told once.
        active.wait_for(r"^su1-rail1-leaf/2 +DOWN,Deselected")
        hosts.wait_for("^host/node0002$", since=before[1])
        links.wait_for('"node_name": "su1-rail1-leaf"', times=2)
        self.fabricd.ctl("cordon", "node0003", "--reason", "just so")
        holds.wait_for("just so")
        # What is left out of one is left out of its changes.
        self.assertFalse([line for line in ports.lines if "rail0" in line])
        self.fabricd.ctl("sim", "link", "su1-rail1-leaf/2")
        ports.wait_for(r"^su1-rail1-leaf/2 +ACTIVE", times=2)
        active.wait_for(r"^su1-rail1-leaf/2 +ACTIVE", times=2)
        self.assertEqual(sum("Deselected" in line for line in active.lines), 1)
        self.fabricd.ctl("uncordon", "node0003")
        holds.wait_for(r"node0003 +Gone ")

    def test_plans_changes_and_analyses_jobs(self):
        told = self.fabricd.ctl("plan", "--fail", "spine1", "--add-node", "spine9:switch:64",
                                "--add-link", "spine9=su1-rail0-leaf")
        self.assertRegex(told, r"1 node failed, \d+ links failed, 1 node added, 1 link added")
        self.assertNotIn("Cut off", told)
        preview = self.fabricd.ask("plan", "--fail", "spine1")
        self.assertTrue(preview["settled"]["plan_found"])
        # All of them: nothing joins the leaves any more.
        lost = self.fabricd.ctl("plan", "--fail", "spine[1-2]", code=1)
        self.assertRegex(lost, "would be cut off|there would be no routes")
        self.fabricd.ctl("plan", "--fail", "nobody", code=3)
        self.fabricd.ctl("plan", "--add-node", "spine9", code=2)
        self.fabricd.ctl("plan", "--add-link", "spine9", code=2)
        job = self.fabricd.ctl("analyze", "node[0001-0008]")
        self.assertIn("8 hosts on 4 rails", job)
        for pattern in ("ring", "recursive-doubling", "all-to-all"):
            self.assertRegex(job, r"(?m)^%s +all +\d+%%" % pattern)
        # Nothing was changed by asking.
        self.assertTrue(self.fabricd.ask("get", "sm")["subnet_up"])

    def test_validates_the_cables(self):
        expected = self.write("expected", self.fabricd.ctl("topology", "-o", "ibnetdiscover"))
        self.assertRegex(self.fabricd.ctl("validate", "-f", expected), r"^\d+ links as expected\n$")
        self.fabricd.ctl("validate")
        uplink = next(link["a"] for link in self.fabricd.ask("get", "links", "spine1")["links"])
        self.fabricd.ctl("sim", "unlink", "%s/%d" % (uplink["node_name"], uplink["number"]))
        findings = json.loads(self.fabricd.ctl("validate", "-f", expected, "-o", "json",
                                               code=1).split("\nerror:")[0])
        self.assertEqual([each["kind"] for each in findings["findings"]], ["MissingLink"])
        self.fabricd.ctl("validate", "-f", self.path("nothing"), code=1)

    def test_sets_counters_and_clock_rate_of_a_simulated_fabric(self):
        self.fabricd.ctl("sim", "errors", "su1-rail0-leaf/1", "symbol-errors=7", "raw-ber=1e-9",
                         "temperature=70")
        self.fabricd.ctl("sim", "errors", "su1-rail0-leaf/1", "clear")
        self.fabricd.ctl("sim", "errors", "su1-rail0-leaf/1", "symbol-errors", code=2)
        self.assertIn("rcv-errors", self.fabricd.ctl("sim", "errors", "su1-rail0-leaf/1",
                                                     "no-such=1", code=2))
        self.fabricd.ctl("sim", "pma", "su1-rail0-leaf", "plain,slow=5")
        self.fabricd.ctl("sim", "pma", "--all", "default")
        self.fabricd.ctl("sim", "pma", "su1-rail0-leaf", code=2)
        self.fabricd.ctl("sim", "pma", "nowhere", "plain", code=3)
        self.fabricd.ctl("sim", "clock", "--rate", "1001", code=2)
        self.fabricd.ctl("sim", "clock", "--rate", "20")
        self.fabricd.ctl("sim", "clock", "--rate", "1")
        self.assertTrue(self.fabricd.ask("get", "sm")["subnet_up"])

    def test_carries_jobs_by_the_tables_of_the_switches(self):
        def job():
            return self.fabricd.ask("sim", "traffic", "list")["jobs"][0]

        def wait_for_unrouted(count):
            deadline = time.monotonic() + ibsim.PATIENCE
            while int(job()["unrouted"]) != count:
                self.assertLess(time.monotonic(), deadline, job())
                time.sleep(0.1)

        self.fabricd.ctl("sim", "traffic", "start", "a", "ring", "node[0001-0008]", "--load", "0.5")
        self.fabricd.ctl("sim", "traffic", "start", "a", "ring", "node[0001-0002]", code=1)
        self.fabricd.ctl("sim", "traffic", "start", "b", "ring", "node[0001,0009]", code=3)
        self.fabricd.ctl("sim", "traffic", "start", "b", "star", "node[0001-0002]", code=2)
        self.assertEqual((int(job()["flows"]), int(job()["unrouted"])), (32, 0))
        self.assertEqual(job()["slowest_gigabits"] * 32, job()["gigabits"])
        self.fabricd.ctl("sim", "unlink", "su1-rail1-leaf/2")
        wait_for_unrouted(2)
        self.fabricd.ctl("sim", "link", "su1-rail1-leaf/2")
        wait_for_unrouted(0)
        self.fabricd.ctl("sim", "traffic", "stop", "a")
        self.fabricd.ctl("sim", "traffic", "stop", "a", code=3)

    def complete(self, shell, script):
        path = self.write("script", script)
        return self.run_program([shell, *(["-f"] if shell == "zsh" else []), path],
                                self.environment)

    def test_completes_in_bash(self):
        told = self.complete("bash", """
            source <(fabricctl completion bash)
            COMP_WORDS=(fabricctl describe switch su1-rail); COMP_CWORD=3
            _fabricctl; echo "${COMPREPLY[@]}"
            COMP_WORDS=(fabricctl topology -o sl); COMP_CWORD=3
            _fabricctl; echo "${COMPREPLY[@]}"
            """)
        self.assertEqual(told, " ".join("su1-rail%d-leaf" % rail for rail in range(4)) +
                         "\nslurm-conf slurm-yaml\n")

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_completes_in_zsh(self):
        told = self.complete("zsh", """
            autoload -Uz compinit; compinit -u -D
            source <(fabricctl completion zsh)
            compadd() { print -r -- "$@[4,-1]" }
            words=(fabricctl get sw); CURRENT=3; _fabricctl
            """)
        self.assertIn("switches", told.split())

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_completes_in_fish(self):
        told = self.complete("fish", """
            fabricctl completion fish | source
            complete -C "fabricctl describe switch su1-rail"
            """)
        self.assertEqual(told.split(), ["su1-rail%d-leaf" % rail for rail in range(4)])

    def test_undrain_waits_until_it_is_in_effect(self):
        self.fabricd.ctl("drain", "switch", "spine2", "--reason", "firmware", "--wait")
        self.fabricd.ctl("undrain", "switch", "spine2", "--wait")
        self.assertTrue(self.fabricd.ask("get", "sm")["subnet_up"])
        used = self.fabricd.ctl("trace", "node0001 mlx5_0", "node0008 mlx5_0")
        self.assertTrue(re.search("spine", used))
        told = self.fabricd.ctl("describe", "switch", "spine2", "--if-isolated")
        self.assertIn("isolate of switch/spine2, dry run", told)


class Configuration(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self, config="sm: {priority: 3}\n")
        self.fabricd.start(fabric="sim:superpod:sus=1,hosts=4,rails=2")
        self.fabricd.wait_for("subnet_up")

    def check(self, text):
        """fabricd takes it."""
        self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricd"), "--check-config",
                          "--config", self.write("taken.yaml", text)])

    def test_shows_the_active_configuration(self):
        shown = self.fabricd.ctl("config", "view")
        self.check(shown)
        self.assertRegex(shown, r"priority: 3")
        self.assertRegex(self.fabricd.ctl("config", "view", "-o", "table"), r"(?m)^sm\.priority +3 ")

    def test_validates_compares_and_reloads(self):
        good = self.write("good.yaml", "sm: {priority: 7}\n")
        bad = self.write("bad.yaml", "sm:\n  priority: 77\n  flowers: red\n")
        self.fabricd.ctl("config", "validate", good)
        told = self.fabricd.ctl("config", "validate", bad, code=2)
        self.assertIn("line 2: sm.priority", told)
        self.assertIn("flowers", told)
        self.assertRegex(self.fabricd.ctl("config", "diff", good, code=1), r"sm\.priority +3 +7")
        self.assertIn("unchanged", self.fabricd.ctl("config", "reload"))
        self.write("fabricd.yaml", "sm: {priority: 7}\n")
        self.assertRegex(self.fabricd.ctl("config", "reload", "--dry-run=server"),
                         r"sm\.priority +3 +7")
        self.fabricd.ctl("config", "reload", "--reason", "hand over")
        self.write("fabricd.yaml", "sm: {priority: 77}\n")
        self.fabricd.ctl("config", "reload", code=2)
        audit = self.fabricd.ctl("audit", "--method", "ReloadConfig")
        self.assertIn("hand over", audit)
        self.assertIn("INVALID_ARGUMENT", audit)
        self.assertRegex(self.fabricd.ctl("auth", "whoami"), r"(?m)^user:\w+ +admin")

    @unittest.skipUnless(shutil.which("opensm"), "no opensm")
    def test_imports_opensm(self):
        conf = self.path("opensm.conf")
        self.run_program(["opensm", "-c", conf], code=None)
        told = self.fabricd.ctl("config", "import-opensm", conf, "-o", "table")
        self.assertRegex(told, r"(?m)^opensm\.conf +\d+ +sm_priority +0 +taken|translated|implied")
        imported = json.loads(self.fabricd.ctl("config", "import-opensm", conf, "-o", "json"))
        self.check(imported["yaml"])


if __name__ == "__main__":
    ibsim.main([])
