#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is not measured is said, on simulated fabrics: telemetry off, agents that are unresponsive or
refuse, a VS_Key of another manager, readings that are old, a clock that runs fast, a restart, a reload.

usage: telemetry_gaps_test.py BIN_DIR [TEST...]
"""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import telemetry  # noqa: E402

FABRIC = "sim:superpod:sus=1,hosts=4,rails=2"
PORTS, NODES = 32, 12
CONFIG = ("telemetry: {interval: 1s, classic_interval: 10s, ber_interval: 10s, "
          "module_interval: 10s%s}\n")
LEAF = "su1-rail0-leaf"


class OnSim(ibsim.Case):
    more = ""

    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self, CONFIG % self.more)
        self.begin()

    def begin(self):
        self.fabricd.start(fabric=FABRIC)
        self.fabricd.wait_for("subnet_up")
        self.telemetry = telemetry.Telemetry(self.fabricd)

    def pma(self, node, options):
        self.fabricd.ctl("sim", "pma", node, options)

    def gaps(self, status):
        return {(gap["gap"]["what"], gap["gap"]["reason"]): gap["devices"]
                for gap in status["gaps"]}

    def is_up(self):
        return self.fabricd.ask("get", "sm")["subnet_up"]

    def configure(self, old, new):
        with open(self.fabricd.config, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        self.write("fabricd.yaml", text.replace(old, new))
        self.fabricd.process.send_signal(signal.SIGHUP)

    def resets(self):
        return [event for event in self.fabricd.ask("get", "events")["events"]
                if event["type"] == "CountersReset"]


class Off(OnSim):
    more = ", enabled: false"

    def test_nothing_is_shown_as_if_it_were_known(self):
        self.fabricd.ctl("sim", "errors", LEAF + "/1", "symbol-errors=7")
        status = self.telemetry.wait_until("off", lambda status: status["state"] == "OFF")
        self.assertEqual((status["ports"], status["ports_never"], status["requests"]),
                         (PORTS, PORTS, 0))
        for words in (("errors",), ("errors", "-o", "ibqueryerrors"), ("errors", "--refresh")):
            self.assertIn("telemetry is OFF", self.fabricd.ctl(*words, code=4))
        self.assertIn("OFF", self.fabricd.ctl("describe", "telemetry"))
        for kind in ("ports", "links", "hosts", "switches"):
            for entry in self.telemetry.document("top", kind)["entries"]:
                self.assertEqual(entry["freshness"], "NEVER")
                self.assertNotIn("value", entry["rates"]["xmit_bytes"])
        self.assertRegex(self.fabricd.ctl("top", "ports"),
                         r"(?m)^su1-rail0-leaf/1 +- +- +- +- +- +- +never +node0001 mlx5_0/1$")
        self.assertIn("never read", self.fabricd.ctl("describe", "port", LEAF + "/1"))
        self.fabricd.ctl("describe", "port", LEAF + "/1", "-o", "perfquery", code=1)
        self.fabricd.ctl("history", LEAF + "/1", code=None)
        self.assertIn("No device tells of its cables", self.fabricd.ctl("inventory"))
        self.assertIn("nothing is known of 8 of 8 ports", self.fabricd.ctl("job", "node0001"))
        self.assertTrue(self.is_up())
        self.assertEqual(self.fabricd.stop(), 0)


class Agents(OnSim):
    def setUp(self):
        super().setUp()
        self.telemetry.wait_until_read()

    def test_unresponsive_and_refusing_agents(self):
        for host in (1, 2):
            self.pma("node000%d mlx5_0" % host, "unresponsive")
            self.pma("node000%d mlx5_1" % host, "refusing_pma")
        self.pma("spine2", "unresponsive")
        for port in (LEAF + "/1", "node0001 mlx5_0/1", "spine2/1", "node0003 mlx5_0/1"):
            self.fabricd.ctl("sim", "errors", port, "rcv-errors=3")
        status = self.telemetry.wait_until(
            "their readings are old", lambda status: status["ports_unknown"] == 8 and
            status["devices_responding"] == NODES - 3 and
            self.gaps(status).get(("ClassPortInfo", "NO_ANSWER")) == 3)
        self.assertEqual(status["ports_fresh"], PORTS - 8)
        gaps = self.gaps(status)
        self.assertEqual(gaps["PortCountersExtended", "REFUSED"], 2)
        # What is known is shown, and that of the others nothing is.
        answer = self.telemetry.errors_document()
        self.assertEqual([port["name"] for port in answer["ports"]],
                         ["node0003 mlx5_0/1", LEAF + "/1"])
        self.assertEqual((answer["ports_checked"], answer["ports_not_fresh"]), (PORTS, 8))
        self.assertIn("nothing is known of 8 of 32 ports", self.fabricd.ctl("errors", code=1))
        for name in ("node0001 mlx5_0", "node0001", "spine2/1"):
            self.assertIn("nothing is known of", self.fabricd.ctl("errors", name, code=4), name)
        text = self.fabricd.ctl("describe", "telemetry")
        # What else they lack is what was under way when they stopped answering.
        for node in ("node0001 mlx5_0", "node0002 mlx5_0", "spine2"):
            self.assertRegex(text, r"(?m)^NO_ANSWER: ClassPortInfo.*\b%s\b" % node)
        self.assertRegex(self.fabricd.ctl("top", "ports", "node0001"),
                         r"(?m)^node0001 mlx5_0/1 +- +- +- +- +- +\S+ +unknown \d+s ")
        self.assertRegex(self.fabricd.ctl("describe", "port", "node0001 mlx5_1/1"),
                         r"Not measured: .*REFUSED: PortCountersExtended, PortCounters")
        self.assertTrue(self.is_up())
        # The manager writes on: a cable goes and comes back.
        self.fabricd.ctl("sim", "unlink", "spine1/1")
        self.fabricd.ctl("sim", "link", "spine1/1")
        self.fabricd.wait_for("subnet_up")

    def test_a_key_of_another_manager(self):
        self.pma("spine1", "vs_key_set")
        self.pma("spine2", "vs_key_hidden")
        self.fabricd.ctl("sim", "errors", "spine1/1", "rcv-errors=3")
        status = self.telemetry.wait_until(
            "the vendor's registers are given up",
            lambda status: ("PPCNT 0x16", "KEYED") in self.gaps(status) and
            ("PPCNT 0x16", "NO_ANSWER") in self.gaps(status))
        # What everybody may read is read on.
        self.assertEqual((status["ports_fresh"], status["devices_responding"]), (PORTS, NODES))
        self.assertEqual([port["name"] for port in self.telemetry.errors_document()["ports"]],
                         ["spine1/1"])
        self.assertRegex(self.fabricd.ctl("describe", "telemetry"),
                         r"(?m)^KEYED: .*PPBMC +1 +spine1$")
        self.assertTrue(self.is_up())

    def test_a_clock_that_runs_fast(self):
        self.fabricd.ctl("sim", "traffic", "start", "job", "all-to-all", "node[0001-0004]",
                         "--load", "0.5")
        self.fabricd.ctl("sim", "clock", "--rate", "20")
        before = self.telemetry.status()["passes"]
        self.telemetry.wait_until("a hundred passes",
                                  lambda status: status["passes"] > before + 100)
        self.assertEqual(self.resets(), [])
        self.assertEqual(self.telemetry.status()["bad_samples"], 0)
        (top,) = self.telemetry.document("top", "ports", "-n", "1")["entries"]
        self.assertAlmostEqual(top["rates"]["utilisation"]["value"], 0.5, delta=0.1)
        # Times are of the past.
        steps = self.telemetry.document("history", top["name"], "--since", "1m")["samples"]
        self.assertGreater(sum("xmit_bytes" in step for step in steps), 50)

    def test_a_restart_and_a_reload(self):
        self.fabricd.ctl("sim", "errors", LEAF + "/1", "symbol-errors=7")
        self.fabricd.ctl("errors", "--refresh", LEAF + "/1", code=1)
        self.configure("interval: 1s, classic", "interval: 2s, classic")
        self.telemetry.wait_until("the interval is another",
                                  lambda status: status["interval_seconds"] == 2)
        self.telemetry.wait_until_read()
        self.assertEqual(len(self.telemetry.errors_document()["ports"]), 1)
        self.configure("module_interval", "enabled: false, module_interval")
        self.fabricd.log.wait_for(r"telemetry\.enabled.*restart")
        self.assertEqual(self.telemetry.status()["state"], "POLLING")
        self.configure("interval: 2s, classic", "interval: 2h, classic")
        self.fabricd.log.wait_for(r"reload refused: .*telemetry\.interval: expected .*7200s")
        self.assertEqual(self.telemetry.status()["interval_seconds"], 2)
        self.configure("interval: 2h, classic", "interval: 2s, classic")
        self.configure("enabled: false, module_interval", "vendor: false, module_interval")
        self.telemetry.wait_until(
            "the vendor's attributes are left alone",
            lambda status: self.gaps(status).get(("PPCNT 0x16", "NOT_ALLOWED")) == NODES)
        self.assertEqual(self.fabricd.stop(), 0)
        # What was counted before is the new one's baseline.
        self.begin()
        self.telemetry.wait_until_read()
        self.assertEqual(self.telemetry.errors(), {})


if __name__ == "__main__":
    ibsim.main([])
