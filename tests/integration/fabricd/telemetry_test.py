#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Telemetry against other readers, on ibsim: what is set at its console, and what perfquery and
ibqueryerrors see of it, `fabricctl errors`, `describe port`, the API and /metrics say too; nothing
that fabricd does changes what they see.

usage: telemetry_test.py BIN_DIR [TEST...]
"""
import os
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import counters  # noqa: E402
import ibsim  # noqa: E402
import metrics  # noqa: E402
import telemetry  # noqa: E402
import wire  # noqa: E402

FABRIC = os.path.join(ibsim.ROOT, "tests", "integration", "umad", "three_hosts.net")
# Every port each second, and PortCounters, which alone has errors on ibsim, as often as it may be.
CONFIG = "telemetry: {interval: 1s, classic_interval: 10s%s}\n"

TRAFFIC = {"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"}
SPLIT = {"PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts",
         "PortMulticastRcvPkts"}
ERRORS = {"SymbolErrorCounter": 11, "LinkErrorRecoveryCounter": 2, "LinkDownedCounter": 3,
          "PortRcvErrors": 401, "PortRcvRemotePhysicalErrors": 5, "PortRcvSwitchRelayErrors": 600,
          "PortXmitDiscards": 7, "PortXmitConstraintErrors": 8, "PortRcvConstraintErrors": 9,
          "LocalLinkIntegrityErrors": 4, "ExcessiveBufferOverrunErrors": 6, "VL15Dropped": 12}
WIDTHS = {"SymbolErrorCounter": 16, "LinkErrorRecoveryCounter": 8, "LinkDownedCounter": 8,
          "PortRcvErrors": 16, "PortXmitDiscards": 16, "PortRcvConstraintErrors": 8,
          "LocalLinkIntegrityErrors": 4, "ExcessiveBufferOverrunErrors": 4, "VL15Dropped": 16}


class Texts(ibsim.Case):
    def test_reads_metrics(self):
        text = '# TYPE a gauge\na{guid="0x1",port="2",name="x \\"y\\\\"} 3\nb 1.5e3\n'
        self.assertEqual(metrics.parse(text),
                         [("a", {"guid": "0x1", "port": "2", "name": 'x "y\\'}, 3.0),
                          ("b", {}, 1500.0)])
        for wrong in ("a{b=1} 2\n", 'a{b="1"\n', "a\n", "a 1\na 1\n", 'a{b="1",b="2"} 3\n'):
            with self.assertRaises((metrics.Unread, ValueError)):
                metrics.parse(wrong)


class OnIbsim(ibsim.Case):
    topology, more = FABRIC, ""

    def setUp(self):
        super().setUp()
        self.sim = ibsim.Ibsim(self, self.topology)
        self.set = counters.Counters(self.sim, "H-3").set
        self.reader = counters.Counters(self.sim, "H-3")
        self.before_start()
        http = telemetry.free_port()
        self.fabricd = ibsim.Fabricd(self, CONFIG % self.more +
                                     "http_listen: 127.0.0.1:%d\n" % http)
        self.fabricd.start(self.sim.environment("H-1"))
        self.fabricd.wait_for("subnet_up")
        self.telemetry = telemetry.Telemetry(self.fabricd, http)
        self.telemetry.wait_until_read()
        (leaf,) = self.fabricd.ask("get", "switches")["nodes"]
        self.leaf, self.lid = int(leaf["guid"], 16), leaf["end_ports"][0]["lid"]
        host = self.fabricd.ask("get", "port", "host2 sim_0/1")
        self.host = int(host["id"]["node_guid"], 16)
        self.telemetry.errors()  # All have a baseline.

    def before_start(self):
        """What happens on the fabric before fabricd."""

    def resets(self):
        return [(event["subject"], event["facts"]["cause"])
                for event in self.fabricd.ask("get", "events")["events"]
                if event["type"] == "CountersReset"]

    def check(self, port, wanted, api=True):
        """All that fabricd says of a port's errors: `wanted`, {(GUID, port): {name: increase}}."""
        self.assertEqual(self.telemetry.errors(port), wanted)
        if not api or not telemetry.has_api():
            return
        of = set(wanted) or {(self.leaf, 2)}
        said = {at: errors for at, errors in self.telemetry.api_errors().items() if at in of}
        self.assertEqual(said, wanted)
        # What was seen in all epochs, as /metrics has it.
        totals = self.telemetry.counters(port)[self.leaf, 2]
        exported = self.telemetry.exported("switch", self.leaf, 2)
        for name in ERRORS:
            self.assertEqual(exported[name], totals[name]["total"], name)


class Counted(OnIbsim):
    def before_start(self):
        self.set("S-1", 2, {name: 1 for name in ERRORS})
        self.set("S-1", 2, {"PortXmitWait": 5})

    def test_counts_from_before_the_start_are_no_errors(self):
        self.assertEqual(self.reader.report().ports[(0x200000, 2)]["SymbolErrorCounter"], 1)
        self.assertEqual(self.telemetry.errors(), {})
        text = self.fabricd.ctl("errors")
        self.assertRegex(text, r"^No errors in the last \d+s at 6 ports\.\n$")

    def test_every_counter_grows_as_perfquery_reads(self):
        sum_ = {}
        for times in (1, 2):
            before = self.reader.read(self.lid, 2)
            self.set("S-1", 2, {name: 1 + times * value for name, value in ERRORS.items()})
            changed = counters.delta(before, self.reader.read(self.lid, 2))
            changed = {name: value for name, value in changed.items() if name in ERRORS}
            # ibsim clamps those of 4 bits.
            self.assertEqual(changed.keys(), ERRORS.keys())
            for name, value in changed.items():
                sum_[name] = sum_.get(name, 0) + value
            self.check("leaf/2", {(self.leaf, 2): sum_})
        text = self.fabricd.ctl("errors", code=1)
        self.assertRegex(text, r"(?m)^leaf/2 +.*symbol_errors=22 .*vl15_dropped=24 +\d+s "
                         " +host2 sim_0/1$")
        # What its device has counted, in perfquery's form.
        (ours,) = counters.parse_perfquery(self.fabricd.ctl("describe", "port", "leaf/2", "-o",
                                                            "perfquery"))
        theirs = self.reader.read(self.lid, 2)
        self.assertEqual((ours.lid, ours.port, ours.cap_mask), (self.lid, 2, 0x1300))
        # QP1Dropped: the device says that it has none.
        self.assertEqual(set(theirs) - set(ours.counters), {"QP1Dropped"})
        for name in {*ERRORS, "PortXmitWait"}:
            self.assertEqual(ours.counters[name], theirs[name], name)

    @unittest.skipUnless(telemetry.has_api(), "no python3-grpcio")
    def test_traffic_and_wait_grow_as_perfquery_reads(self):
        start = self.telemetry.counters("leaf/2")[self.leaf, 2]
        self.set("S-1", 2, {"PortXmitWait": 4005})
        self.set("S-1", 2, {"PortXmitData": 200000, "PortRcvData": 300000, "PortXmitPkts": 2000,
                            "PortRcvPkts": 3000, "PortUnicastXmitPkts": 70,
                            "PortUnicastRcvPkts": 71, "PortMulticastXmitPkts": 72,
                            "PortMulticastRcvPkts": 73}, "PortCountersExtended")
        lower = self.reader.read(self.lid, 2, extended=True)
        self.telemetry.errors()
        upper = self.reader.read(self.lid, 2, extended=True)
        ours = self.telemetry.counters("leaf/2")[self.leaf, 2]
        for name in TRAFFIC | SPLIT:
            # perfquery's own MADs, and those of fabricd, are counted too.
            raw = int(ours[name]["raw"])
            self.assertLessEqual(lower[name], raw, name)
            self.assertLessEqual(raw, upper[name], name)
            self.assertEqual(ours[name]["total"] - start[name]["total"],
                             raw - int(start[name]["raw"]), name)
            self.assertEqual(ours[name]["source"], "PortCountersExtended")
        for name in SPLIT:
            self.assertEqual(int(ours[name]["raw"]), lower[name], name)
        self.assertEqual((ours["PortXmitWait"]["total"], ours["PortXmitWait"]["raw"],
                          ours["PortXmitWait"]["source"]), (4000, "4005", "PortCounters"))
        self.assertEqual(self.reader.read(self.lid, 2)["PortXmitWait"], 4005)
        exported = self.telemetry.exported("switch", self.leaf, 2)
        self.assertEqual(exported["PortXmitWait"], 4000)
        for name in ("PortXmitData", "PortRcvData"):
            self.assertGreaterEqual(exported[name], 4 * ours[name]["total"], name)
            self.assertLess(exported[name], 4 * ours[name]["total"] * 1.1, name)
        # And as people read it.
        names = {counter["key"]: counter["name"] for counter in ours.values()}
        described = self.telemetry.described("leaf/2", names)
        self.assertEqual(described["PortXmitWait"], (4000, False, "4005"))
        self.assertEqual(described["SymbolErrorCounter"], (0, False, "1"))
        self.assertEqual(described["PortMulticastXmitPkts"][2], "72")
        # Waiting is no error.
        self.assertEqual(self.telemetry.errors(), {})


class Ends(OnIbsim):
    """Counters that are at their end, are cleared, or jump."""

    def test_clamped_counters_are_lower_bounds(self):
        taken = self.set("S-1", 2, {name: 1 << bits for name, bits in WIDTHS.items()})
        self.assertEqual(taken, {name: (1 << bits) - 1 for name, bits in WIDTHS.items()})
        answer = self.telemetry.errors_document("leaf/2")
        (port,) = answer["ports"]
        self.assertEqual({error["name"]: error["count"] for error in port["errors"]}, taken)
        self.assertTrue(all(error["saturated"] for error in port["errors"]), port)
        self.assertRegex(self.fabricd.ctl("errors", code=1),
                         r"leaf/2 .*symbol_errors>=65535 .*local_link_integrity_errors>=15 ")
        self.assertEqual(self.telemetry.status()["ports_saturated"], 1)
        # As often as it is read.
        self.assertEqual(self.telemetry.errors("leaf/2"), {(self.leaf, 2): taken})
        self.reader.clear(self.lid, 2)
        self.assertEqual(self.telemetry.errors(), {})
        self.assertEqual(self.telemetry.status()["ports_saturated"], 0)

    def test_a_reset_is_reported_and_counts_nothing(self):
        self.set("S-1", 2, {"SymbolErrorCounter": 50, "PortRcvErrors": 5})
        self.set("H-2", 1, {"LinkDownedCounter": 3})
        self.check("leaf/2", {(self.leaf, 2): {"SymbolErrorCounter": 50, "PortRcvErrors": 5}})
        self.reader.clear(self.lid, 2)
        self.assertEqual(self.reader.read(self.lid, 2)["SymbolErrorCounter"], 0)
        # Its errors were of an epoch that is over; those of the others stay.
        self.check("leaf/2", {})
        self.assertEqual(self.telemetry.errors(), {(self.host, 1): {"LinkDownedCounter": 3}})
        self.assertEqual(self.resets(), [("leaf/2", "COUNTER_RESET")])
        self.set("S-1", 2, {"SymbolErrorCounter": 9})
        self.check("leaf/2", {(self.leaf, 2): {"SymbolErrorCounter": 9}})
        if telemetry.has_api():
            counter = self.telemetry.counters("leaf/2")[self.leaf, 2]["SymbolErrorCounter"]
            self.assertEqual((counter["total"], counter["raw"]), (59, "9"))
        self.assertEqual(self.telemetry.status()["resets"], 1)
        self.assertIn("COUNTER_RESET", self.fabricd.ctl("describe", "port", "leaf/2"))

    def test_a_lower_value_is_a_reset(self):
        self.set("S-1", 2, {"SymbolErrorCounter": 50, "PortXmitDiscards": 10})
        self.telemetry.errors()
        self.set("S-1", 2, {"SymbolErrorCounter": 40, "PortXmitDiscards": 12})
        # Nothing is known of the other one either: who cleared one may have cleared it.
        self.check("leaf/2", {})
        self.assertEqual(self.resets(), [("leaf/2", "COUNTER_RESET")])
        self.set("S-1", 2, {"SymbolErrorCounter": 41, "PortXmitDiscards": 14})
        self.check("leaf/2", {(self.leaf, 2): {"SymbolErrorCounter": 1, "PortXmitDiscards": 2}})

    def test_counts_beyond_the_link_rate_are_dropped(self):
        start = self.telemetry.status()["bad_samples"]
        self.set("S-1", 2, {"PortXmitData": 1 << 50}, "PortCountersExtended")
        self.telemetry.wait_until("it is thrown away",
                                  lambda status: status["bad_samples"] > start)
        self.telemetry.errors()
        self.telemetry.errors()
        self.assertEqual(self.resets(), [("leaf/2", "IMPLAUSIBLE")])
        (top,) = [entry for entry in self.telemetry.document("top", "ports", "leaf/2")["entries"]]
        self.assertLess(top["rates"]["utilisation"].get("value", 0), 0.01)
        # Errors are counted again.
        self.set("S-1", 2, {"PortRcvErrors": 1})
        self.check("leaf/2", {(self.leaf, 2): {"PortRcvErrors": 1}})


class Others(OnIbsim):
    """Other readers beside fabricd."""

    def test_the_report_is_that_of_ibqueryerrors(self):
        self.set("S-1", 2, {"SymbolErrorCounter": 9, "PortXmitDiscards": 77})
        self.set("S-1", 3, {"SymbolErrorCounter": 1, "LinkErrorRecoveryCounter": 2})
        self.set("H-2", 1, {"PortRcvErrors": 3, "VL15Dropped": 4})
        theirs = self.reader.report()
        ours = counters.parse_ibqueryerrors(
            self.fabricd.ctl("errors", "--refresh", "-o", "ibqueryerrors", code=1))
        self.assertEqual(len(ours.ports), 3)
        for part in ("ports", "sums", "names", "bad_nodes", "bad_ports"):
            self.assertEqual(getattr(ours, part), getattr(theirs, part), part)

    def test_nothing_is_cleared_under_other_readers(self):
        set_ = {name: value for name, value in ERRORS.items()}
        self.set("S-1", 2, set_)
        self.set("S-1", 2, {"PortXmitWait": 77})
        self.set("S-1", 2, {"PortMulticastXmitPkts": 5, "PortUnicastRcvPkts": 6},
                 "PortCountersExtended")
        report = self.reader.report()
        before, extended = self.reader.read(self.lid, 2), self.reader.read(self.lid, 2, True)
        requests = self.telemetry.status()["requests"]
        for _ in range(20):
            self.telemetry.errors()
        self.assertGreater(self.telemetry.status()["requests"] - requests, 20 * 6 * 2 - 1)
        self.assertEqual(self.reader.report(), report)
        changed = counters.delta(before, self.reader.read(self.lid, 2))
        self.assertLessEqual(changed.keys(), TRAFFIC)
        self.assertGreater(min(changed.values()), 0)
        changed = counters.delta(extended, self.reader.read(self.lid, 2, True))
        self.assertLessEqual(changed.keys(), TRAFFIC)
        self.assertGreater(min(changed.values()), 0)
        # A second reader's own deltas.
        self.set("S-1", 2, {"SymbolErrorCounter": set_["SymbolErrorCounter"] + 5})
        self.assertEqual(counters.delta(before, self.reader.read(self.lid, 2))["SymbolErrorCounter"],
                         5)
        self.assertEqual(self.telemetry.errors("leaf/2")[self.leaf, 2]["SymbolErrorCounter"],
                         set_["SymbolErrorCounter"] + 5)

    def test_metrics_of_ports_are_read(self):
        series = self.telemetry.metrics()
        states = {**metrics.of_ports(series, "switch", "state_id"),
                  **metrics.of_ports(series, "hca", "state_id")}
        self.assertEqual({states[self.leaf, port] for port in (1, 2, 3)}, {4.0})
        end = self.fabricd.ask("get", "port", "host2 sim_0/1")["end_port"]
        self.assertEqual(states[int(end["guid"], 16), 1], 4.0)


class Vendor(OnIbsim):
    """ibsim answers none of a vendor's attributes; those of NVIDIA's are asked of its devices."""

    def setUp(self):
        ibsim.Case.setUp(self)  # Makes the folder.
        with open(FABRIC, encoding="utf-8") as file:
            text = re.sub(r"(?m)^(?=Switch|Ca)", "vendid=0x2c9\ndevid=0xd2f0\n", file.read())
        self.topology = self.write("vendor.net", text)
        super().setUp()

    def test_the_subnet_works_and_lists_measurement_gaps(self):
        def gaps(status):
            return {(gap["gap"]["what"], gap["gap"]["reason"]): gap["devices"]
                    for gap in status["gaps"]}

        status = self.telemetry.wait_until(
            "the vendor's attributes are given up", lambda status: gaps(status).get(
                ("vendor GeneralInfo", "NO_ANSWER")) == 4 and gaps(status).get(
                    ("PortSamplesControl", "NO_ANSWER")) == 4)
        # What depends on them is not measured either, and that is what a user looks for.
        for what in ("PDDR module page", "PPCNT 0x16", "GeneralInfo", "ExtPortInfo"):
            self.assertEqual(gaps(status).get((what, "NO_ANSWER")), 4, gaps(status))
        self.assertEqual(status["ports_fresh"], 6)
        self.assertEqual(status["devices_responding"], 4)
        self.set("S-1", 2, {"PortRcvErrors": 8})
        self.check("leaf/2", {(self.leaf, 2): {"PortRcvErrors": 8}}, api=False)
        self.assertRegex(self.fabricd.ctl("describe", "telemetry"), r"PPCNT 0x16 +NO_ANSWER +4")
        self.assertIn("No device tells of its cables", self.fabricd.ctl("inventory"))
        self.assertTrue(self.fabricd.ask("get", "sm")["subnet_up"])


class Standby(ibsim.Case):
    """fabricd where opensm is master."""

    def setUp(self):
        super().setUp()
        self.sim = ibsim.Ibsim(self, FABRIC)
        self.reader = counters.Counters(self.sim, "H-3")
        options = self.write("opensm.conf", "sminfo_polling_timeout 500\nsweep_interval 1\n")
        self.theirs = self.sim.start("H-2", "opensm", "-F", options, "-f", "stdout", "-p", "8",
                                     preload=ibsim.deaf_perf())
        log = ibsim.Lines(self.theirs)
        log.wait_for("SUBNET UP")
        self.oracle = wire.Oracle() if os.path.isdir(wire.WIRE) else None
        if self.oracle:
            self.addCleanup(self.oracle.remove)

    def start_fabricd(self, more):
        # With another key than its own, opensm is master no more.
        self.fabricd = ibsim.Fabricd(self, "sm: {priority: 3, polling_timeout: 500ms, "
                                     "sm_key: '0x1'}\n" + CONFIG % more)
        environment = self.oracle.environment(self.sim, "H-1", self.path("trace")) \
            if self.oracle else self.sim.environment("H-1")
        self.fabricd.start(environment)
        self.fabricd.wait_for("state=STANDBY")
        self.telemetry = telemetry.Telemetry(self.fabricd)

    def lid(self):
        """Of the switch, as the master gave it."""
        seen = self.sim.run("H-3", "ibnetdiscover")
        return int(re.search(r"(?m)^Switch.* lid (\d+) lmc", seen)[1])

    def gmps(self):
        """How many GMPs fabricd has sent, and its Sets of any class."""
        if not self.oracle:
            return None, []
        trace = self.oracle.read(self.path("trace"))
        return (sum(mad.dir == "S" and mad.cls == 4 for mad in trace.mads),
                self.oracle.sets(self.path("trace")))

    def test_polls_as_configured_and_sets_nothing(self):
        self.start_fabricd("")
        self.telemetry.wait_until("standby", lambda status: status["state"] == "STANDBY")
        lid = self.lid()
        self.reader.set("S-1", 2, {"SymbolErrorCounter": 5})
        text = self.fabricd.ctl("errors", code=4)
        self.assertIn("nothing is known of 6 of 6 ports now: telemetry is STANDBY", text)
        self.assertIn("telemetry is STANDBY", self.fabricd.ctl("errors", "--refresh", code=4))
        self.assertEqual(self.telemetry.status()["requests"], 0)
        self.assertIn(self.gmps(), ((0, []), (None, [])))
        # From now on, without a restart.
        with open(self.fabricd.config, "a+", encoding="utf-8") as file:
            file.seek(0)
            text = file.read().replace("classic_interval", "as_standby: true, classic_interval")
            file.truncate(0)
            file.write(text)
        self.fabricd.process.send_signal(signal.SIGHUP)
        self.telemetry.wait_until_read()
        self.telemetry.errors()
        before = self.reader.read(lid, 2)
        self.reader.set("S-1", 2, {"SymbolErrorCounter": 12})
        self.assertEqual(counters.delta(before, self.reader.read(lid, 2))["SymbolErrorCounter"], 7)
        self.assertEqual(self.telemetry.errors(), {(0x200000, 2): {"SymbolErrorCounter": 7}})
        (port,) = self.telemetry.errors_document()["ports"]
        self.assertEqual(port["lid"], lid)
        sent, sets = self.gmps()
        self.assertEqual(sets, [])
        if self.oracle:
            self.assertGreater(sent, 12)
        self.assertEqual(self.telemetry.document("get", "sm")["state"], "STANDBY")
        self.assertIsNone(self.theirs.poll())
        self.assertEqual(self.fabricd.stop(), 0)


if __name__ == "__main__":
    ibsim.main(["ibsim", "perfquery", "ibqueryerrors", "opensm"])
