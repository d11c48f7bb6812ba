#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records /metrics of simulated fabrics with a known cause, as input of `promtool test rules`: what
alerts are tested with is what fabricd serves, not what somebody thought that it would serve.

usage: alert_recordings.py BIN_DIR FILE   (contrib/prometheus/fabricd.recorded.test.yml)

All scenarios run at once, each on a fabricd of its own whose clock runs 60 times as fast: the longest
takes about as many seconds as it has minutes. To be done again where series or scenarios change.
"""
import os
import re
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ibsim  # noqa: E402
import metrics  # noqa: E402
from prometheus import FOLDER, free_port  # noqa: E402

RATE = 60
FABRIC = "sim:superpod:sus=1,hosts=4,rails=2"
CONFIG = "http_listen: 127.0.0.1:%d\ntelemetry: {module_interval: 5m}\n"
TARGET = {"job": "fabricd", "instance": "head1:9101"}
LEAF, PEER, HCA = "su1-rail0-leaf/2", "node0002 mlx5_0/1", "node0003 mlx5_1/1"


class Scenario:
    """`steps`: {minute: arguments of fabricctl}. `expected`: {minute: what fires then, as
    (alert, severity, node and port or None)}; nothing else does."""

    def __init__(self, name, steps, expected):
        self.name, self.steps, self.expected = name, steps, expected
        self.minutes = max(expected)


def of_port(alert, severity, port):
    return alert, severity, port.rsplit("/", 1)


SCENARIOS = [
    Scenario("a fabric with traffic and no fault", {
        2: ["sim", "traffic", "start", "job", "ring", "node[0001-0004]", "--load", "0.5"],
    }, {20: [], 50: []}),
    Scenario("a receiver with bit errors from minute 5 on", {
        2: ["sim", "traffic", "start", "job", "ring", "node[0001-0004]", "--load", "0.5"],
        5: ["sim", "errors", LEAF, "raw-ber=1e-6", "effective-ber=1e-10", "symbol-ber=1e-12"],
    }, {4: [], 15: [of_port("FabricVerdictNoisyPhy", "warning", PEER)],
        # Errors are counted where they are received; the transmitter is at the other end.
        59: [of_port("FabricVerdictNoisyPhy", "warning", PEER),
             of_port("FabricEffectiveBerHigh", "warning", LEAF),
             of_port("FabricSymbolBerHigh", "warning", LEAF)]}),
    Scenario("a host that all others send to from minute 12 on", {
        12: ["sim", "traffic", "start", "job", "incast", "node[0001-0004]"],
    }, {11: [], 59: [of_port("FabricCongestionIncast", "info", "su1-rail0-leaf/1"),
                     of_port("FabricCongestionIncast", "info", "su1-rail1-leaf/1")]}),
    Scenario("a cable that is pulled and plugged from minute 15 on", {
        minute: ["sim", "unlink" if minute % 2 else "link", LEAF] for minute in range(15, 23)
    }, {14: [], 25: [of_port("FabricVerdictFlapping", "warning", PEER)]}),
    Scenario("one burst of 50 symbol errors in minute 12", {
        12: ["sim", "errors", LEAF, "symbol-errors=50"],
    }, {20: [], 35: [], 50: []}),
    Scenario("a module that gets hot at minute 5, hotter at 30, and cool at 50", {
        5: ["sim", "errors", HCA, "temperature=75"],
        30: ["sim", "errors", HCA, "temperature=85"],
        50: ["sim", "errors", HCA, "temperature=45"],
    }, {5: [], 29: [of_port("FabricModuleHot", "warning", HCA)],
        49: [of_port("FabricModuleOverheated", "critical", HCA)], 62: []}),
    Scenario("devices that answer nothing about their counters from minute 5 to 22", {
        5: ["sim", "pma", "--all", "unresponsive"],
        22: ["sim", "pma", "--all", "default"],
    }, {6: [], 22: [("FabricTelemetryStale", "warning", None),
                 ("FabricVerdictCommonCause", "warning", None)], 45: []}),
]


def names_of_alerts():
    """The series that alerts ask for, themselves or by recording rules."""
    with open(os.path.join(FOLDER, "fabricd.rules.yml"), encoding="utf-8") as file:
        rules = re.findall(r"^      - (record|alert): (\S+)\n((?:        .*\n)*)", file.read(), re.M)
    recorded = {name: text for kind, name, text in rules if kind == "record"}
    pending, names = [text for kind, _, text in rules if kind == "alert"], set()
    while pending:
        text = pending.pop()
        names.update(re.findall(r"\b(?:fabricd|infiniband)_[a-z0-9_]+", text))
        pending += [recorded.pop(name) for name in list(recorded) if name in text]
    return names


class Recording:
    """{(name, labels): [value by minute]} of a scenario; None: the series was not there."""

    def __init__(self, names):
        self.names, self.minutes, self.values = names, 0, {}

    def add(self, text):
        for name, labels, value in metrics.parse(text):
            if name in self.names:
                key = name, tuple(labels.items())
                earlier = self.values.setdefault(key, [])
                earlier += [None] * (self.minutes - len(earlier)) + [value]
        up = self.values.setdefault(("up", ()), [])
        up.append(1)
        self.minutes += 1

    def lines(self):
        for (name, labels), values in sorted(self.values.items()):
            all_labels = {**TARGET, **dict(labels)}
            text = ", ".join('%s="%s"' % (key, value.replace("\\", "\\\\").replace('"', '\\"'))
                             for key, value in all_labels.items())
            yield "      - series: '%s{%s}'" % (name, text.replace("'", "''"))
            yield "        values: %s" % shorten(values + [None] * (self.minutes - len(values)))


def shorten(values):
    """In promtool's form. What is not there any more is stale, as in Prometheus' own data."""
    parts, at = [], 0
    while at < len(values):
        end = at
        while end < len(values) and values[end] == values[at]:
            end += 1
        count, value = end - at, values[at]
        if value is None:
            parts += ["stale"] if at else ["_"]
            parts += ["_x%d" % (count - 1)] if count > 1 else []
        else:
            parts.append("%.6g" % value + ("x%d" % (count - 1) if count > 1 else ""))
        at = end
    return " ".join(parts)


def record(case, scenario, number, names):
    served = free_port()
    fabricd = ibsim.Fabricd(case, CONFIG % served, name="fabricd%d" % number)
    fabricd.process = case.start(fabricd.command("--clock-rate", str(RATE), fabric=FABRIC))
    fabricd.log = ibsim.Lines(fabricd.process)
    fabricd.wait_for("subnet_up")
    recording = Recording(names)
    start = time.monotonic()
    for minute in range(scenario.minutes + 1):
        time.sleep(max(0, start + minute * 60 / RATE - time.monotonic()))
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % served,
                                    timeout=ibsim.PATIENCE) as answer:
            recording.add(answer.read().decode())
        if minute in scenario.steps:
            fabricd.ctl(*scenario.steps[minute])
    return recording


def expectation(minute, alerts):
    yield "      - expr: count by (alertname, severity, node, port) (ALERTS{alertstate=\"firing\"})"
    yield "        eval_time: %dm" % minute
    yield "        exp_samples:" + ("" if alerts else " []")
    for alert, severity, port in sorted(alerts, key=str):
        labels = {"alertname": alert, "severity": severity}
        if port:
            labels.update(node=port[0], port=port[1])
        yield "          - labels: '{%s}'" % ", ".join('%s="%s"' % each for each in labels.items())
        yield "            value: 1"


def record_all(case):
    """The text of a file for promtool, beside fabricd.rules.yml."""
    names, recordings, threads = names_of_alerts(), {}, []
    for number, scenario in enumerate(SCENARIOS):
        def run(number=number, scenario=scenario):
            recordings[number] = record(case, scenario, number, names)
        threads.append(threading.Thread(target=run))
        threads[-1].start()
    for thread in threads:
        thread.join()
    case.assertEqual(len(recordings), len(SCENARIOS))
    lines = ["# SPDX-License-Identifier: Apache-2.0",
             "# What fabricd served of simulated fabrics, and which alerts fire. Not edited by hand:",
             "#   tests/support/alert_recordings.py build/bin contrib/prometheus/fabricd.recorded.test.yml",
             "rule_files:", "  - %s" % os.path.join(FOLDER, "fabricd.rules.yml"),
             "evaluation_interval: 1m", "tests:"]
    for number, scenario in enumerate(SCENARIOS):
        lines += ["  # %s." % (scenario.name[0].upper() + scenario.name[1:]),
                  "  - interval: 1m", "    input_series:"]
        lines += recordings[number].lines()
        lines.append("    promql_expr_test:")
        for minute, alerts in scenario.expected.items():
            lines += expectation(minute, alerts)
    return "\n".join(lines) + "\n"


class Recorder(ibsim.Case):
    """Only what starts programs and cleans up behind them."""

    def runTest(self):
        text = record_all(self).replace(FOLDER + os.sep, "")
        with open(self.target, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    ibsim.Fabricd.bin, Recorder.target = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    result = ibsim.unittest.TextTestRunner().run(Recorder())
    sys.exit(not result.wasSuccessful())
