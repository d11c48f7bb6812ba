# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus of a test's own, on loopback, with the project's rules: it scrapes fabricd and
evaluates the rules every second."""
import json
import os
import socket
import time
import urllib.error
import urllib.parse
import urllib.request

import ibsim

FOLDER = os.path.join(ibsim.ROOT, "contrib", "prometheus")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """`served`: the port of fabricd's pages."""

    def __init__(self, case, served):
        self.case = case
        self.port = free_port()
        with open(os.path.join(FOLDER, "prometheus.yml"), encoding="utf-8") as file:
            config = file.read()
        for ours, here in (("127.0.0.1:9101", "127.0.0.1:%d" % served), ("15s", "1s"),
                           ("/etc/prometheus", FOLDER)):
            case.assertIn(ours, config)
            config = config.replace(ours, here)
        case.start(["prometheus", "--config.file",
                    case.write("prometheus.yml", config + "global: {evaluation_interval: 1s}\n"),
                    "--storage.tsdb.path", case.path("tsdb"),
                    "--web.listen-address", "127.0.0.1:%d" % self.port])

    def get(self, path, **arguments):
        """The data of an answer of its API; None while it is not up. What it refuses fails."""
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (self.port, path,
                                                    urllib.parse.urlencode(arguments, doseq=True))
        try:
            with urllib.request.urlopen(url, timeout=ibsim.PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            raise AssertionError("%s: %s" % (arguments, error.read().decode())) from error
        except (urllib.error.URLError, ConnectionError):
            return None

    def ask(self, query):
        """The series that the query gives now, as dictionaries of their labels."""
        data = self.get("query", query=query)
        return [each["metric"] for each in data["result"]] if data else []

    def wait_for(self, query):
        deadline = time.monotonic() + ibsim.PATIENCE
        while not self.ask(query):
            self.case.assertLess(time.monotonic(), deadline, query)
            time.sleep(0.2)
        return self.ask(query)
