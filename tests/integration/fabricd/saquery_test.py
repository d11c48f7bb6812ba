#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of record that saquery asks for, of fabricd and of OpenSM on the same fabric with the
same LIDs, field by field. Prints each difference; one that EXPLAINED does not name fails the test.

usage: saquery_test.py BIN_DIR [TEST...]
"""
import collections
import itertools
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

TREE = ("topologies", "trees", "4-ary-2-tree.net")
ASKER = "H-0002c90200000100"
JOIN = os.path.join(os.path.dirname(ibsim.__file__), "join.py")
# On one leaf: a tree of a single switch, whoever makes it.
MEMBERS = ("H-0002c90200000400", "H-0002c90200000500")
GROUPS = ["ff12:401b:ffff::%x" % number for number in (1, 2)]

# (query, field) as patterns -> why the two may differ. docs/SA.md says more.
EXPLAINED = [
    ("CPI", "Capability mask 2", "OpenSM offers multicast service records and more, fabricd does not"),
    ("CPI", "Capability mask", "TraceRecords are optional records, which OpenSM does not have"),
    ("LFTR .*", ".*", "each computes its own routes"),
    ("SMIR.*", "ActCount|Priority", "of the SM itself"),
    ("PKTR external .*", ".*", "fabricd reads the P_Key tables of end ports that have a LID only"),
    ("PIR unplugged .*", ".*", "OpenSM shows zeros for ports without a cable"),
    ("PIR switch .*", "LocalPort", "the port that the question came in by: each asks by its own path"),
    ("SL2VL .*|VLAR .*", ".*", "OpenSM shows zeros for tables that it has not read; fabricd reads"),
    ("PR .*", "sl", "each chooses lanes by itself"),
]


class Differences(ibsim.Case):
    def test_every_record(self):
        topology = ibsim.shared(self, *TREE)
        host = ibsim.Topology(topology).host()
        # The same simulated devices in the same state, for each by itself.
        sim = ibsim.Ibsim(self, topology)
        options = self.write("opensm.conf", "force_log_flush TRUE\n")
        opensm = sim.start(host, "opensm", "-F", options, "-f", "stdout")
        ibsim.Lines(opensm).wait_for("SUBNET UP")
        theirs = self.ask_all(sim)
        ibsim.stop(opensm)
        self.assertTrue(os.path.exists(self.path("guid2lid")), os.listdir(self.folder))

        sim = ibsim.Ibsim(self, topology)
        daemon = ibsim.Fabricd(self, "lid: {guid2lid_file: %s}\n" % self.path("guid2lid"))
        daemon.start(sim.environment(host))
        daemon.wait_for("subnet_up")
        ours = self.ask_all(sim)
        self.assertEqual(daemon.stop(), 0)

        self.assertEqual(sorted(theirs), sorted(ours), "not the same LIDs")
        unexplained, explained = [], collections.Counter()
        for query in ours:
            kind = self.kind_of(query)
            for field, a, b in differences(theirs[query], ours[query]):
                why = next((why for what, fields, why in EXPLAINED
                            if re.fullmatch(what, kind) and re.fullmatch(fields, field)), None)
                explained[why] += 1
                if why is None:
                    unexplained.append("%s: %s: OpenSM %s, fabricd %s" % (query, field, a, b))
        compared = sum(len(record) for records in ours.values() for record in records)
        print("%d queries, %d fields; explained differences:" % (len(ours), compared))
        for why, count in sorted((item for item in explained.items() if item[0])):
            print("%6d  %s" % (count, why))
        self.assertGreater(compared, 3000)
        self.assertEqual(unexplained, [], "\n" + "\n".join(unexplained))

    def join(self, sim):
        """Hosts join groups; back when a switch's table says so."""
        lid = re.search(r"sm lid (\d+)", sim.run(ASKER, "sminfo"))[1]
        for node in MEMBERS:
            guid = "%016x" % (int(node[2:], 16) + 1)  # Of ibsim's first port.
            gid = "fe80::" + ":".join(guid[at:at + 4] for at in range(0, 16, 4))
            sim.run(node, sys.executable, JOIN, "join", lid, gid, *GROUPS)
        deadline = time.monotonic() + ibsim.PATIENCE
        while len(re.findall(r"(?m)^0x\w+ .*x", sim.run(ASKER, "dump_fts", "-M"))) < len(GROUPS):
            self.assertLess(time.monotonic(), deadline, "no multicast tables")
            time.sleep(0.1)

    def kind_of(self, query):
        """The query, with what is special of the port that it is about."""
        port = re.fullmatch(r"(PIR|PKTR) (\d+)/(\d+)(.*)", query)
        if not port:
            return query
        is_switch, cabled = self.ends[int(port[2])], (int(port[2]), int(port[3])) in self.cabled
        special = "external " if port[1] == "PKTR" and (port[3] != "0" if is_switch else not cabled) \
            else "unplugged " if port[1] == "PIR" and port[3] != "0" and not cabled \
            else "switch " if port[1] == "PIR" and is_switch else ""
        return "%s %s%s/%s%s" % (port[1], special, port[2], port[3], port[4])

    def ask_all(self, sim):
        """Query -> list of records, each a list of (field, value)."""
        answers = {}
        self.join(sim)

        def ask(query, *options):
            answers[query] = records(sim.run(ASKER, "saquery", *(query.split() + list(options)),
                                             code=None))
            return answers[query]

        # One segment to an answer is what ibsim carries, so that whole tables are asked in parts.
        ends = {}
        for lid in range(1, 25):
            node = dict(ask("NR %d" % lid)[0])
            ends[lid] = node["node_type"] == "Switch", int(node["num_ports"])
        self.ends = {lid: is_switch for lid, (is_switch, _) in ends.items()}
        self.cabled = set()
        for query in ("CPI", "SMIR", "-g", "SR", "IIR", "-s"):
            ask(query)
        ask("-m", "--smkey", "1")
        for lid, (is_switch, ports) in ends.items():
            for number in range(0 if is_switch else 1, ports + 1):
                ask("PIR %d/%d" % (lid, number))
                if ask("LR %d/%d" % (lid, number)):
                    self.cabled.add((lid, number))
                ask("PKTR %d/%d/0" % (lid, number), "--smkey", "1")
            ask("GIR %d/0" % lid)
            ask("SWIR %d" % lid)
            ask("LFTR %d/0" % lid)
            ask("MFTR %d" % lid)
            ask("SL2VL %d" % lid)
            ask("VLAR %d" % lid)
        for a, b in itertools.product(ends, ends):
            if (a + b) % 5 == 0 or a == b:
                ask("--src-to-dst %d:%d" % (a, b))
        return answers


def records(text):
    found = []
    for line in text.splitlines():
        field = re.match(r"\s+([\w ]+?):?\.{2,}\s*(.*)", line)
        if not line.startswith(("\t", " ")):
            found.append([])
        elif field:
            found[-1].append((field[1], field[2]))
        elif found:
            found[-1].append(("line %d" % len(found[-1]), line.strip()))
    return [record for record in found if record]


def differences(theirs, ours):
    if len(theirs) != len(ours):
        yield "records", len(theirs), len(ours)
    for a, b in zip(theirs, ours):
        if len(a) != len(b):
            yield "fields", a, b
        for (field, x), (_, y) in zip(a, b):
            if x != y:
                yield field, x, y


if __name__ == "__main__":
    ibsim.main(["dump_fts", "ibsim", "opensm", "saquery", "sminfo"])
