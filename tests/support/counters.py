# SPDX-License-Identifier: Apache-2.0
"""Counters of a fabric on ibsim: set by its console, read by perfquery and ibqueryerrors. Telemetry
is compared with these; they share no code with fabricd.

What ibsim is and is not (0.10, measured):
- It answers PortCounters (0x12) and of PortCountersExtended (0x1D) the 8 data counters, never errors.
  PortSamplesControl (0x10), PortExtendedSpeedsCounters (0x1F) and class 0x0A it drops.
- NodeInfo.VendorID is 0 unless the topology file says vendid=…. Of NVIDIA's (0x2c9) vendor
  attributes are asked, and time out.
- Below its shim nothing tells of a timeout: who asks has to look at the clock.
- PortMulticastRcvPkts can be set, but is read as 0.
- VL15Dropped is read as QP1Dropped too, which CapabilityMask does not claim.
- It counts its own MADs: 72 units of 4 octets and 1 packet each. Reading a port changes its traffic.
- Set of PortCounters, so perfquery -R, leaves PortCountersExtended as it was.
- A value above a counter's maximum is clamped to that maximum.
- ibqueryerrors asks the SA for a path: some SM must be running, LIDs alone do not do.
"""
import collections
import re

# One block of perfquery. port 255 is the sum over all ports (perfquery -a).
Reading = collections.namedtuple("Reading", "lid port cap_mask extended counters")

# What ibqueryerrors says of the whole fabric. `ports`: (GUID, port) -> {counter: value}, with the
# node's GUID for a switch and the port's for a CA; `sums`: GUID of a switch -> {counter: value}, its
# line "port ALL"; `names`: GUID -> node description; the last three from its summary.
Report = collections.namedtuple("Report", "ports sums names bad_nodes ports_checked bad_ports")

_HEAD = re.compile(r"# Port (extended )?counters: Lid (\d+) port (\d+) \(CapMask: (0x\w+)"
                   r"(?: CapMask2: 0x\w+)?\)")
_FIELD = re.compile(r"(\w+):\.*(0x[0-9a-fA-F]+|\d+)")
_NODE = re.compile(r'(?:Errors|Data Counters) for (?:0x[0-9a-f]+ )?"(.*)"')
_PORT = re.compile(r"   GUID (0x[0-9a-f]+) port (ALL|\d+): (\[.*\])")
_COUNTER = re.compile(r"\[(\w+) == (\d+)(?: \([^)]*\))?\] ?")
_LINK = re.compile(r"       Link info: ")
_NODES = re.compile(r"## Summary: \d+ nodes checked, (\d+) bad nodes found")
_PORTS = re.compile(r"##\s+(\d+) ports checked, (\d+) ports have errors beyond threshold")
_NOISE = re.compile(r"## (Thresholds|Suppressed):")


class Unread(AssertionError):
    """A text that these readers do not know: what is not understood must not pass as absent."""


def parse_perfquery(text):
    """The blocks of perfquery's output, in their order, as a list of Reading."""
    readings = []
    for line in text.splitlines():
        if head := _HEAD.fullmatch(line):
            readings.append(Reading(int(head[2]), int(head[3]), int(head[4], 16), bool(head[1]), {}))
        elif (field := _FIELD.fullmatch(line)) and readings:
            readings[-1].counters[field[1]] = int(field[2], 0)
        elif line:
            raise Unread("perfquery: " + line)
    # Not counters: what the block was asked for.
    for reading in readings:
        for name in ("PortSelect", "CounterSelect", "CounterSelect2"):
            reading.counters.pop(name, None)
    return readings


def _counters(text):
    found = _COUNTER.findall(text)
    if "".join(match[0] for match in _COUNTER.finditer(text)) != text:
        raise Unread("ibqueryerrors: " + text)
    return {name: int(value) for name, value in found}


def parse_ibqueryerrors(text):
    """The output of ibqueryerrors, with or without --data, -r and --counters, as a Report."""
    report = Report({}, {}, {}, None, None, None)
    name = None
    for line in text.splitlines():
        if node := _NODE.fullmatch(line):
            name = node[1]
        elif (port := _PORT.fullmatch(line)) and name is not None:
            guid = int(port[1], 16)
            report.names[guid] = name
            if port[2] == "ALL":
                report.sums[guid] = _counters(port[3])
            else:
                report.ports[guid, int(port[2])] = _counters(port[3])
        elif found := _NODES.fullmatch(line):
            report = report._replace(bad_nodes=int(found[1]))
        elif found := _PORTS.fullmatch(line):
            report = report._replace(ports_checked=int(found[1]), bad_ports=int(found[2]))
        elif line and not _LINK.match(line) and not _NOISE.match(line):
            raise Unread("ibqueryerrors: " + line)
    if report.bad_nodes is None or report.bad_ports is None:
        raise Unread("ibqueryerrors ended early:\n" + text)
    return report


def delta(before, after):
    """What changed between two dictionaries of counters: {counter: after - before}, negative where a
    counter was cleared."""
    return {name: after.get(name, 0) - before.get(name, 0) for name in {*before, *after}
            if after.get(name, 0) != before.get(name, 0)}


class Counters:
    """The counters of the fabric on an ibsim.Ibsim, read by diags that run on the node `host`."""

    def __init__(self, sim, host):
        self.sim, self.host = sim, host

    def set(self, node, port, fields, attribute="PortCounters"):
        """Types PerformanceSet for each of the fields, {name: value}. `node` is its id in the topology
        file. The values that ibsim took, after clamping."""
        taken = {}
        for name, value in fields.items():
            command = f'PerformanceSet "{node}"[{port}] {attribute}.{name}={value}'
            said = "\n".join(self.sim.console(command))
            done = re.search(rf"{attribute}\.{name} has been set to (\d+)", said)
            if not done:
                raise AssertionError(f"{command}: {said}")
            taken[name] = int(done[1])
        return taken

    def read(self, lid, port, extended=False):
        """{counter: value} of one port: PortCounters, or PortCountersExtended."""
        options = ["-x"] if extended else []
        text = self.sim.run(self.host, "perfquery", *options, str(lid), str(port))
        (reading,) = parse_perfquery(text)
        if (reading.lid, reading.port, reading.extended) != (lid, port, extended):
            raise AssertionError(f"perfquery {lid} {port} says {reading}")
        return reading.counters

    def clear(self, lid, port):
        """perfquery -R: PortCounters of the port become 0, by a Set from another program."""
        self.sim.run(self.host, "perfquery", "-R", str(lid), str(port))

    def report(self, *options):
        """The Report of ibqueryerrors: errors without options, traffic with --data and --counters."""
        # Its exit code says whether there are errors; that it came to its end says the summary.
        return parse_ibqueryerrors(self.sim.run(self.host, "ibqueryerrors", *options, code=None))
