# SPDX-License-Identifier: Apache-2.0
"""Metrics in Prometheus' text form, as /metrics shows them. Shares no code with fabricd."""
import re

_SERIES = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Unread(AssertionError):
    """A line that this reader does not know."""


def _labels(text, line):
    labels, at = {}, 0
    while at < len(text):
        label = _LABEL.match(text, at)
        if not label or label[1] in labels:
            raise Unread(line)
        labels[label[1]] = re.sub(r"\\.", lambda escape: _ESCAPES[escape[0]], label[2])
        at = label.end()
    return labels


def parse(text):
    """[(name, {label: value}, number)] of all series, in their order."""
    series, seen = [], set()
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        found = _SERIES.fullmatch(line)
        if not found:
            raise Unread(line)
        labels = _labels(found[2] or "", line)
        key = found[1], frozenset(labels.items())
        if key in seen:
            raise Unread("twice: " + line)
        seen.add(key)
        series.append((found[1], labels, float(found[3])))
    return series


def of_ports(series, kind, name):
    """{(GUID, port): value} of infiniband_KIND_port_NAME. KIND is switch, with the node's GUID, or
    hca, with the port's."""
    full = "infiniband_%s_port_%s" % (kind, name)
    return {(int(labels["guid"], 16), int(labels["port"])): value
            for found, labels, value in series if found == full}
