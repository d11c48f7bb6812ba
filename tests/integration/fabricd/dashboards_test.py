#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard, and every recording rule, on what a real Prometheus has recorded
of fabricd on a simulated fabric with traffic, errors and faults. A query without a series is a panel
without a line: a name, a label or a join in it is wrong.

usage: dashboards_test.py BIN_DIR [TEST...]
"""
import glob
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import prometheus  # noqa: E402

GRAFANA = os.path.join(ibsim.ROOT, "contrib", "grafana")
RULES = os.path.join(prometheus.FOLDER, "fabricd.rules.yml")
CONFIG = """\
http_listen: 127.0.0.1:%d
telemetry: {interval: 1s, classic_interval: 10s, ber_interval: 10s, module_interval: 10s}
"""
LEAF, PORT, PEER = "su1-rail0-leaf", "2", "node0002 mlx5_0/1"
# Queries that need not give a series, and why.
EXCEPTIONS = {
    "infiniband:switch_port_down:uplink":
        "a port that is not Active and has a peer: fabricd makes it Active at once",
}
# The same of queries with these series: links are assessed once they were up for 10 minutes.
LATE = re.compile("link_verdict|fabricd_verdict_|fabricd_congestion_")


def dashboards():
    for path in sorted(glob.glob(os.path.join(GRAFANA, "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), json.load(file)


def panels(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def recorded_names():
    with open(RULES, encoding="utf-8") as file:
        return re.findall(r"^      - record: (\S+)$", file.read(), re.M)


class Dashboards(ibsim.Case):
    maxDiff = None

    def setUp(self):
        super().setUp()
        served = prometheus.free_port()
        self.fabricd = ibsim.Fabricd(self, CONFIG % served)
        self.fabricd.start(fabric="sim:superpod:sus=2,hosts=2,rails=2")
        self.fabricd.wait_for("subnet_up")
        self.prometheus = prometheus.Prometheus(self, served)
        self.prometheus.wait_for('fabricd_telemetry_ports{freshness="FRESH"} > 0')

    def make_history(self):
        """What panels are about."""
        ctl = self.fabricd.ctl
        for port in (LEAF + "/" + PORT, PEER):
            ctl("sim", "errors", port, "symbol-errors=40", "rcv-errors=3", "raw-ber=1e-6",
                "effective-ber=1e-10", "symbol-ber=1e-10")
        ctl("sim", "pma", "node0004 mlx5_1", "no_vendor")
        ctl("cordon", "node0002", "--reason", "a test")
        cable = next(link for link in self.fabricd.ask("get", "links")["links"]
                     if link["b"]["node_type"] == "SWITCH")
        switch, number = cable["a"]["node_name"], cable["a"]["number"]
        # Only what a rule has recorded while it was there can be recorded as gone.
        self.prometheus.wait_for(
            'fabric:switch_uplink:gone{switch="%s", port="%d"} == 0' % (switch, number))
        end = "%s/%d" % (switch, number)
        for what in ("unlink", "link") * 10 + ("unlink",):
            ctl("sim", what, end)
        # Two senders to one receiver: both, and a port of a switch, wait for credits.
        for sender in ("node0001", "node0003"):
            ctl("sim", "traffic", "start", sender, "ring", sender, "node0002", "--load", "0.9")

    def values_of(self, dashboard):
        """Dashboard variables, each with a value that its own query gives."""
        chosen = {"datasource": "prometheus", "instance": ".*", "switch": LEAF, "port": PORT}
        for variable in dashboard["templating"]["list"]:
            name = variable["name"]
            self.assertIn(name, chosen)
            if variable["type"] != "query":
                continue
            query = self.insert(variable["query"]["query"], chosen)
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
            known = {metric.get(label) for metric in self.prometheus.ask(series)}
            self.assertTrue(known, query)
            if not variable["includeAll"]:
                self.assertIn(chosen[name], known, query)
        return chosen

    def insert(self, query, values):
        query = re.sub(r"\$\{?(\w+)\}?", lambda match: values.get(match[1], match[0]), query)
        return query.replace("$__rate_interval", "5m")

    def pending(self):
        """(where it stands, query, labels that its legend names)."""
        queries = [(name, name, set()) for name in recorded_names()]
        self.assertGreater(len(queries), 10)
        for path, dashboard in dashboards():
            values = self.values_of(dashboard)
            # A label_replace has "$1", which is no variable.
            for panel in panels(dashboard):
                for target in panel.get("targets", []):
                    query = self.insert(target["expr"], values)
                    self.assertNotRegex(query, r"\$[a-z_{]", panel["title"])
                    queries.append(("%s: %s" % (path, panel["title"]), query,
                                    set(re.findall(r"{{(\w+)}}", target["legendFormat"]))))
        return queries

    def test_every_query_gives_series(self):
        # What the test is for: a query of something that is not there.
        self.assertFalse(self.gives("nowhere", "infiniband_nothing", set()))
        with self.assertRaises(AssertionError):
            self.gives("a legend without its label", "fabricd_build_info", {"switch"})
        self.make_history()
        pending = self.pending()
        tried = len(pending)
        deadline = time.monotonic() + ibsim.PATIENCE
        while pending and time.monotonic() < deadline:
            pending = [each for each in pending if not self.gives(*each)]
            time.sleep(0.5 if pending else 0)
        self.assertEqual([(where, query) for where, query, _ in pending], [])
        print("%d queries" % tried)

    def gives(self, where, query, legend):
        if query in EXCEPTIONS or LATE.search(query):
            return True
        series = self.prometheus.ask(query)
        for metric in series:
            self.assertLessEqual(legend, set(metric), "%s: %s" % (where, query))
        return bool(series)


if __name__ == "__main__":
    ibsim.main(["prometheus"])
