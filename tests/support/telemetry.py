# SPDX-License-Identifier: Apache-2.0
"""What fabricd says of its counters, in each form: fabricctl's tables and
documents, the API, /metrics. Read by code that shares nothing with it."""
import json
import os
import re
import socket
import subprocess
import time
import urllib.request

import ibsim
import metrics

PYTHON = "/usr/bin/python3"  # Whose modules Debian's packages are.


def _series():
    """{perfquery's name: what follows infiniband_switch_port_}, as the manual says."""
    with open(os.path.join(ibsim.ROOT, "docs", "METRICS.md"), encoding="utf-8") as file:
        found = re.findall(r"\| `infiniband_switch_port_(\w+_total)` \| (\w+)", file.read())
    return {name: suffix for suffix, name in found}


SERIES = _series()


def has_api():
    """Whether a client of the API can be made here."""
    return subprocess.run([PYTHON, "-c", "import grpc, google.protobuf"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def key(port):
    """(GUID of the node, number) of a PortId."""
    return int(port["node_guid"], 16), port["number"]


class Telemetry:
    """The telemetry of a running ibsim.Fabricd. `http`: the port of its pages, or None."""

    def __init__(self, fabricd, http=None):
        self.fabricd, self.http = fabricd, http
        self.api_lines = None

    # ---- fabricctl

    def document(self, *arguments, code=None):
        """What a verb prints as JSON. ibsim.Case joins the standard error to it, so that notes stand
        before and behind."""
        text = self.fabricd.ctl(*arguments, "-o", "json", code=code)
        if "{" not in text:
            raise AssertionError("%s: %s" % (" ".join(arguments), text))
        return json.JSONDecoder().raw_decode(text[text.index("{"):])[0]

    def errors(self, *arguments, refresh=True):
        """{(GUID, port): {counter by perfquery's name: increase}} of `fabricctl errors`, after a
        reading of every port."""
        answer = self.errors_document(*arguments, refresh=refresh)
        return {key(port["id"]): {error["name"]: error["count"] for error in port["errors"]}
                for port in answer["ports"]}

    def errors_document(self, *arguments, refresh=True):
        return self.document("errors", *(["--refresh"] if refresh else []), *arguments)

    def status(self):
        return self.document("get", "telemetry")

    def described(self, name, names):
        """{counter by perfquery's name: (total, is a lower bound, raw)} that are not 0, of
        `fabricctl describe port`. `names`: {key: perfquery's name}."""
        text = self.fabricd.ctl("describe", "port", name)
        found, _, table = text.partition("\nCounters that are not 0:\n")
        counters = {}
        for line in table.partition("\n\n")[0].splitlines()[1:] if table else []:
            match = re.match(r"(\w+) +(>=)?(\d+) +(\d+|invalid) ", line)
            if not match:
                raise AssertionError("describe port: " + line + " in " + found + table)
            counters[names[match[1]]] = int(match[3]), bool(match[2]), match[4]
        return counters

    def wait_until(self, what, condition):
        """Polls get telemetry until the condition holds of it."""
        deadline = time.monotonic() + ibsim.PATIENCE
        while not condition(status := self.status()):
            if time.monotonic() > deadline:
                raise AssertionError("%s: %s" % (what, status))
            time.sleep(0.2)
        return status

    def wait_until_read(self):
        return self.wait_until("all ports are read", lambda status: status["state"] == "POLLING" and
                               status["ports"] == status["ports_fresh"] > 0)

    # ---- the API

    def api(self, method, **request):
        if self.api_lines is None:
            script = os.path.join(ibsim.ROOT, "tests", "support", "telemetry_api.py")
            self.client = self.fabricd.case.start([PYTHON, script, "unix:" + self.fabricd.socket],
                                                  stdin=subprocess.PIPE)
            self.api_lines = ibsim.Lines(self.client)
            self.api_lines.wait_for("^ready$")
        before = len(self.api_lines.lines)
        self.client.stdin.write("%s %s\n" % (method, json.dumps(request)))
        self.client.stdin.flush()
        return json.loads(self.api_lines.wait_for(".", since=before).string)

    def counters(self, *names):
        """{(GUID, port): {perfquery's name: the API's Counter}}, of all ports or of these."""
        answer = self.api("ListPortCounters", names=list(names))
        return {key(port["id"]): {counter["name"]: counter for counter in port["counters"]}
                for port in answer["ports"]}

    def api_errors(self):
        return {key(port["id"]): {error["name"]: error["count"] for error in port["errors"]}
                for port in self.api("ListErrors")["ports"]}

    # ---- /metrics

    def metrics(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.http,
                                    timeout=ibsim.PATIENCE) as answer:
            return metrics.parse(answer.read().decode())

    def exported(self, kind, guid, port):
        """{perfquery's name: value} of the counters that a port has in /metrics. `kind`, `guid` as
        in metrics.of_ports."""
        series = self.metrics()
        found = {name: metrics.of_ports(series, kind, suffix).get((guid, port))
                 for name, suffix in SERIES.items()}
        return {name: value for name, value in found.items() if value is not None}
