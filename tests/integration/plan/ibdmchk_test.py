#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ibdmchk on what fabricplan writes: every path between two CA ports of one connected piece is
there, and no credit loop is. Each topology of ../shared/topologies and each generated kind, intact
and with 1, 2, 5 and 10 % of the cables between switches gone, by every engine that fits.

The engines that any fabric fits must give a plan; the others may decline with a reason. With
FABRICD_NIGHTLY=1 all of it; without, of each topology the intact fabric and one damaged one.

usage: ibdmchk_test.py BIN_DIR [TEST...]; a TEST is such as Generated.test_torus
"""
import collections
import json
import os
import re
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

NIGHTLY = bool(os.environ.get("FABRICD_NIGHTLY"))
DAMAGE = ("0%", "1%", "2%", "5%", "10%")
FIT_ANYWHERE = ("up_down", "layered")
LANES = "8"
# Without a cable between two nodes there is no dump to judge.
LONELY = "nvidia-topograph-example-bad.ibnetdiscover"
# Paths between CA ports above which a commit's run takes only the default chain, damaged, and the
# nightly one each engine at the worst damage only: ibdmchk takes most of a minute for a million.
LARGE = 200_000

KINDS = {
    "fat_tree_2": "fat-tree --radix 12 --levels 2",
    "fat_tree_3": "fat-tree --radix 8 --levels 3",
    "superpod": "superpod --sus 3 --hosts 8 --rails 4 --radix 16",
    "torus": "torus --dims 4x4x3",
    "dragonfly_plus": "dragonfly-plus --groups 5 --leaves 3 --spines 3 --hosts 3",
    "hypercube": "hypercube --dimensions 5 --hosts 2",
    "random": "random --switches 24 --degree 4 --hosts 2",
}

END = re.compile(r"\{ (SW|CA|RT) .*?NodeGUID:(\w+) .*? PN:(\w+) \}")


class Dumps:
    """OpenSM-format dumps, to be cut into the connected pieces of the fabric: ibdmchk refuses a
    fabric that hangs apart."""

    def __init__(self, folder):
        self.folder = folder
        self.cables = []  # (line, one end's node, the other's)
        self.ports = collections.defaultdict(set)  # CA GUID: ports
        piece = {}

        def find(node):
            while piece.setdefault(node, node) != node:
                node = piece[node]
            return node
        for line in self.lines("opensm-subnet.lst"):
            ends = END.findall(line)
            for kind, node, port in ends:
                if kind != "SW":
                    self.ports[node].add(port)
            self.cables.append((line, ends[0][1], ends[1][1]))
            piece[find(ends[0][1])] = find(ends[1][1])
        self.pieces = collections.defaultdict(set)
        for node in list(piece):
            self.pieces[find(node)].add(node)
        # What connects two switches at most through a CA is two pieces for packets.
        self.blocks = self.sections(self.lines("opensm.fdbs"))

    def lines(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
            return file.readlines()

    @staticmethod
    def sections(lines):
        """The text of each switch by its GUID."""
        blocks = collections.defaultdict(list)
        switch = None
        for line in lines:
            head = re.search(r"Switch 0x0*(\w+)", line)
            if head:
                switch = head[1]
            blocks[switch].append(line)
        return blocks

    def write_piece(self, nodes, folder):
        """Writes the piece's files and gives its number of CA ports."""
        os.makedirs(folder, exist_ok=True)
        bare = {node.lstrip("0") for node in nodes}
        with open(os.path.join(folder, "opensm-subnet.lst"), "w", encoding="utf-8") as file:
            file.writelines(line for line, one, _ in self.cables if one in nodes)
        with open(os.path.join(folder, "opensm.fdbs"), "w", encoding="utf-8") as file:
            for switch, lines in self.blocks.items():
                if switch in bare:
                    file.writelines(lines)
        for name in ("opensm-path-sl.dump", "opensm-sl2vl.dump"):
            if os.path.exists(os.path.join(self.folder, name)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.writelines(line for line in self.lines(name)
                                    if line.split()[0][2:].lstrip("0") in bare or
                                    not line.startswith("0x"))
        with open(os.path.join(folder, "opensm.mcfdbs"), "w", encoding="utf-8"):
            pass
        return sum(len(ports) for node, ports in self.ports.items() if node in nodes)


class Judged(ibsim.Case):
    def program(self, name):
        return os.path.join(ibsim.Fabricd.bin, name)

    def judge_everywhere(self, topology, label):
        damages = DAMAGE
        if not NIGHTLY:  # A different one for each topology.
            damages = ("0%", DAMAGE[1 + zlib.crc32(label.encode()) % (len(DAMAGE) - 1)])
        paths = 0
        self.most_ends = 0  # CA ports in one piece.
        large = False
        for damage in reversed(damages):
            paths += self.judge(self.plan(topology, damage, None, label))
            if large:
                continue
            large = paths > LARGE
            if large and not NIGHTLY:
                break
            for engine in self.engines():
                with self.subTest(label, damage=damage, engine=engine):
                    paths += self.judge(self.plan(topology, damage, engine, label))
        if self.most_ends > 1:
            self.assertGreater(paths, 0, "nothing was judged")

    def engines(self):
        if not hasattr(Judged, "known"):
            complaint = self.run_program([self.program("fabricplan"), "--topology", os.devnull,
                                          "--engine", "?"], code=2)
            Judged.known = re.findall(r"\w+", complaint.split("the engines are")[1])
        return Judged.known

    def plan(self, topology, damage, engine, label):
        """The folder of the dumps; None where the engine has no valid plan and needs none."""
        folder = self.path("%s-%s-%s" % (label, damage.rstrip("%"), engine))
        command = [self.program("fabricplan"), "--topology", topology, "--fail-links", damage,
                   "--report", "json", "--dump-dir", folder, "--no-quality"]
        if engine:
            command += ["--engine", engine, "--lanes-max", LANES]
        output = self.run_program(command, code=None)
        report = json.loads(output[output.index("\n{") if output[0] != "{" else 0:])
        if not report["verified"]:
            self.assertNotIn(engine, FIT_ANYWHERE, "%s of %s: %s" % (damage, label, report["chain"]))
            self.assertNotEqual(report["chain"][0]["reason"], "")
            return None
        self.assertEqual(report["unreachable_pairs"], 0)
        return folder

    def judge(self, folder):
        """Runs ibdmchk on each piece that has two CA ports and more; gives the paths it saw."""
        if folder is None:
            return 0
        dumps = Dumps(folder)
        paths = 0
        for number, nodes in enumerate(sorted(dumps.pieces.values(), key=min)):
            piece = os.path.join(folder, "piece-%d" % number)
            ends = dumps.write_piece(nodes, piece)
            self.most_ends = max(self.most_ends, ends)
            if ends < 2 or not any(node not in dumps.ports for node in nodes):
                continue
            expected = ends * (ends - 1)
            self.judge_piece(piece, expected)
            paths += expected
        return paths

    def judge_piece(self, folder, expected):
        def file(name):
            return os.path.join(folder, name)
        command = ["ibdmchk", "-s", file("opensm-subnet.lst"), "-f", file("opensm.fdbs"),
                   "-m", file("opensm.mcfdbs")]
        for option, name in (("-c", "opensm-path-sl.dump"), ("-d", "opensm-sl2vl.dump")):
            if os.path.exists(file(name)):
                command += [option, file(name)]
        roomy = os.path.join(ibsim.Fabricd.bin, "..", "tests", "roomy_malloc.so")
        # Debian's ibdmchk dies in its own clean-up after the last verdict: what it says counts.
        report = self.run_program(command, {"LD_PRELOAD": os.path.abspath(roomy)}, code=None)
        errors = re.findall(r"(?m)^-E-.*", report)
        self.assertEqual(errors, [], folder)
        self.assertIn("-I- Scanned:%d CA to CA paths" % expected, report)
        self.assertIn("-I- no credit loops found", report)


class Generated(Judged):
    pass


class Shared(Judged):
    pass


def add_tests():
    for kind, arguments in KINDS.items():
        def test(self, kind=kind, arguments=arguments):
            text = self.run_program([self.program("fabricsim"), "generate", *arguments.split()])
            self.judge_everywhere(self.write(kind + ".net", text), kind)
        setattr(Generated, "test_" + kind, test)
    if not os.path.isdir(ibsim.TOPOLOGIES):
        print("left out: %s is absent" % ibsim.TOPOLOGIES, file=sys.stderr)
        return
    for folder, _, files in os.walk(ibsim.TOPOLOGIES):
        for file in files:
            name = os.path.relpath(os.path.join(folder, file), ibsim.TOPOLOGIES)
            if not re.search(r"\.net$|\.ibnetdiscover", name) or name == LONELY:
                continue
            label = re.sub(r"\W", "_", name)
            path = os.path.join(folder, file)
            setattr(Shared, "test_" + label,
                    lambda self, path=path, label=label: self.judge_everywhere(path, label))


if __name__ == "__main__":
    add_tests()
    ibsim.main(["ibdmchk"])
