# SPDX-License-Identifier: Apache-2.0
"""Damaged copies of an ibsim topology: the same file for every subnet manager that is compared.
Imported by the programs beside it."""
import random

from peers import Topology

# Names of damages and what they take out; `N%` is so much of the cables between switches.
KINDS = ("none", "cable", "1%", "2%", "5%", "10%", "spine", "leaf")


class Net:
    """The text of an ibsim file by node, with its cables."""

    def __init__(self, path):
        self.lines = []   # (node the line belongs to, text)
        self.cables = {}  # (node, port): (node, port), both ways
        node, pending = None, []
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if found := Topology.NODE.match(line):
                    node = found[3]
                    self.lines += [(node, text) for text in pending] + [(node, line)]
                    pending = []
                    continue
                port = Topology.PORT.match(line)
                if node and port:
                    self.cables[node, int(port[1])] = (port[2], int(port[3]))
                    self.lines.append((node, line))
                else:
                    pending.append(line)  # Belongs to the record that follows.
        self.lines += [(None, text) for text in pending]

    def write(self, path, without, nodes_without=()):
        """Without these ends of cables, and without these nodes and all of their cables."""
        gone = set(nodes_without)
        with open(path, "w", encoding="utf-8") as file:
            for node, line in self.lines:
                port = Topology.PORT.match(line)
                if node in gone or port and ((node, int(port[1])) in without or port[2] in gone):
                    continue
                file.write(line)


def ranks(net, topology):
    """Hops of each switch from the nearest switch with hosts."""
    near = {s: set() for s in topology.switch_ports}
    rank = {}
    for (node, _), (peer, _) in net.cables.items():
        if node in near and peer in near:
            near[node].add(peer)
        elif node in near:
            rank[node] = 0
    queue = sorted(rank)
    for at in queue:
        for peer in sorted(near[at]):
            if peer not in rank:
                rank[peer] = rank[at] + 1
                queue.append(peer)
    return rank


def damage(source, topology, kind, seed, path):
    """Writes a copy of `source` with a damage drawn by `seed`; says what was taken out."""
    net, draw = Net(source), random.Random(seed)
    switches = topology.switch_ports
    cables = sorted({min((a, b), (b, a)) for a, b in net.cables.items()
                     if a[0] in switches and b[0] in switches})
    rank = ranks(net, topology)
    top = max(rank.values())
    without, nodes = set(), set()
    if kind == "cable":
        without = set(draw.choice(cables))
    elif kind.endswith("%"):
        count = round(len(cables) * float(kind[:-1]) / 100)
        without = {end for cable in draw.sample(cables, count) for end in cable}
    elif kind == "spine":
        nodes = {draw.choice(sorted(s for s in rank if rank[s] == top))}
    elif kind == "leaf":
        leaf = draw.choice(sorted(s for s in rank if rank[s] == 0))
        # Hosts that hang on nothing else go with it.
        nodes = {leaf} | {ca for ca in topology.cas
                          if all(peer == leaf for (node, _), (peer, _) in net.cables.items()
                                 if node == ca)}
    net.write(path, without, nodes)
    return f"{len(without) // 2} cables, {len(nodes)} nodes"
