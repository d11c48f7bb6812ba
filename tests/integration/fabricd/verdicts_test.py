#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on ibsim: errors set at its console on one cable lead to a verdict about that cable, with
what perfquery counts as evidence; its host is cordoned, and released when the cable stayed clean.
Time of fabricd runs 30 times as fast.

usage: verdicts_test.py BIN_DIR [TEST...]
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import counters  # noqa: E402
import ibsim  # noqa: E402
import telemetry  # noqa: E402

FABRIC = os.path.join(ibsim.ROOT, "tests", "integration", "umad", "three_hosts.net")
RATE = 30
# Ports are read each second of real time, verdicts are assessed every two. ibsim has no registers of
# vendors: of PortCounters alone verdicts are less certain.
CONFIG = """
smp: {timeout: 6s}
telemetry: {interval: 30s, classic_interval: 30s, vendor: false}
verdicts: {interval: 60s, action: %s, clean_time: 2m, min_confidence_percent: 20}
"""


class Verdicts(ibsim.Case):
    def begin(self, action):
        self.sim = ibsim.Ibsim(self, FABRIC)
        self.reader = counters.Counters(self.sim, "H-3")
        self.fabricd = ibsim.Fabricd(self, CONFIG % action)
        command = self.fabricd.command("--clock-rate", str(RATE))
        self.fabricd.process = self.start(command, self.sim.environment("H-1"))
        self.fabricd.log = ibsim.Lines(self.fabricd.process)
        self.fabricd.wait_for("subnet_up")
        telemetry.Telemetry(self.fabricd).wait_until_read()
        (leaf,) = self.fabricd.ask("get", "switches")["nodes"]
        self.lid = leaf["end_ports"][0]["lid"]
        # Links that are younger than 10 min say nothing.
        self.until("the link is old enough", lambda: self.stage("leaf/2") == "HEALTHY")

    def until(self, what, condition):
        deadline = time.monotonic() + ibsim.PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                self.fail("%s: %s\n%s" % (what, self.fabricd.ctl("describe", "verdict", "leaf/2"),
                                          "\n".join(self.fabricd.log.lines[-20:])))
            time.sleep(0.3)

    def verdict(self, port):
        """Of the link of a port; nothing where links have not been assessed yet."""
        text = self.fabricd.ctl("describe", "verdict", port, "-o", "json", code=None)
        return json.loads(text)["verdict"] if text.startswith("{") else {}

    def stage(self, port):
        return self.verdict(port).get("stage")

    def events(self, kind):
        return [event for event in self.fabricd.ask("get", "events")["events"]
                if event["type"] == kind]

    def disturb(self):
        """Recoveries and link integrity errors, in four readings; what perfquery saw of them."""
        before = self.reader.read(self.lid, 2)
        for step in range(1, 5):
            self.reader.set("S-1", 2, {"LinkErrorRecoveryCounter": 4 * step,
                                       "LocalLinkIntegrityErrors": 2 * step})
            time.sleep(1.5)
        return counters.delta(before, self.reader.read(self.lid, 2))

    def test_a_noisy_cable_is_named_cordoned_and_released(self):
        self.begin("cordon")
        self.assertEqual(self.events("VerdictChanged"), [])
        seen = self.disturb()
        self.until("a verdict", lambda: self.stage("leaf/2") == "BAD")
        verdict = self.verdict("leaf/2")
        self.assertEqual(verdict["verdict"], "NOISY_PHY")
        self.assertEqual({verdict["a_name"], verdict["b_name"]}, {"host2/sim_0/1", "leaf/2"})
        rows = {row["row"]: row for row in verdict["rows"]
                if not row["level"].endswith("UNSPECIFIED")}
        # What fabricd has as evidence is what perfquery counted.
        self.assertEqual(int(rows["E5"]["count"]), seen["LinkErrorRecoveryCounter"])
        self.assertEqual(int(rows["E7"]["count"]), seen["LocalLinkIntegrityErrors"])
        self.until("a hold", lambda: self.fabricd.ask("get", "holds")["holds"])
        (hold,) = self.fabricd.ask("get", "holds")["holds"]
        self.assertEqual((hold["owner"], hold["kind"]), ("telemetry", "HOLD_KIND_CORDON"))
        self.assertIn("NOISY_PHY", hold["reason"])
        self.assertIn("expires", hold)
        self.assertIn("Cordoned", self.fabricd.ctl("get", "hosts", "host2"))
        self.assertIn("NoisyPhy", self.fabricd.ctl("get", "conditions"))
        # The other cables have nothing to do with it.
        for port in ("leaf/1", "leaf/3"):
            self.assertEqual(self.verdict(port)["verdict"], "HEALTHY")
        # 10 min windows, twice, then 2 min clean: three quarters of a minute of real time.
        self.until("its release", lambda: not self.fabricd.ask("get", "holds")["holds"])
        self.until("its end", lambda: self.stage("leaf/2") == "HEALTHY")
        self.assertNotIn("Cordoned", self.fabricd.ctl("get", "hosts", "host2"))
        stages = [event["facts"]["stage"] for event in self.events("VerdictChanged")
                  if event["facts"]["stage"] != "SUSPECT"]
        self.assertEqual(stages, ["BAD", "RECOVERING", "HEALTHY"])


if __name__ == "__main__":
    ibsim.main(["ibsim", "perfquery"])
