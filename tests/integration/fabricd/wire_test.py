#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fabricd puts on the wire, recorded below libibumad and judged by ../shared/wire: all rules of
`madtrace.py --check` hold, and `--diff` against OpenSM's recordings of the same fabrics shows those
kinds of difference only that docs/WIRE.md lists for that recording, and all of those.

usage: wire_test.py BIN_DIR [TEST...]
"""
import fnmatch
import os
import re
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import wire  # noqa: E402

PAGE = os.path.join(ibsim.ROOT, "docs", "WIRE.md")
TWO_SWITCHES = "/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca"
LMC2 = "lid: {lmc: 2}\n"
LMC2_EVERYWHERE = "lid: {lmc: 2, lmc_enhanced_port0: true}\n"
M_KEY = ('sm: {m_key: "0x1234567890abcdef", m_key_lease_period: 60s, m_key_protect: 1}\n')
TRAPS_ONLY = "sweep: {light_interval: 0s}\n"

# The fabric of e-edr-cold, from what its recording says of nodes, links and speeds.
MIXED_SPEEDS = """\
Switch\t8 "sw1"
[1]\t"h1"[1]\t# lid 0 4xEDR
[2]\t"h2"[1]\t# lid 0 4xEDR
[3]\t"sw2"[3]\t# lid 0 4xEDR
[4]\t"sw2"[4]\t# lid 0 4xFDR10

Switch\t8 "sw2"
[1]\t"h3"[1]\t# lid 0 4xHDR
[2]\t"h4"[1]\t# lid 0 4xQDR
[3]\t"sw1"[3]\t# lid 0 4xEDR
[4]\t"sw1"[4]\t# lid 0 4xFDR10

Ca\t1 "h1"
[1]\t"sw1"[1]\t# lid 0 4xEDR

Ca\t1 "h2"
[1]\t"sw1"[2]\t# lid 0 4xEDR

Ca\t1 "h3"
[1]\t"sw2"[1]\t# lid 0 4xHDR

Ca\t1 "h4"
[1]\t"sw2"[2]\t# lid 0 4xQDR
"""


def listed(heading, recording):
    """The first columns of the table under a heading of WIRE.md, of the rows for this recording: those
    that must and those that may apply. Its second column names recordings by shell patterns, after
    "maybe" where timing decides."""
    with open(PAGE, encoding="utf-8") as page:
        part = page.read().partition("\n## " + heading + "\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| `([^`]+)` \| ([^|]+) \| .+ \|$", part)
    assert rows, "docs/WIRE.md has no table under %r" % heading
    rows = [(kind, names.replace(",", " ").split()) for kind, names in rows]
    rows = [(kind, names[0] == "maybe") for kind, names in rows
            if any(fnmatch.fnmatchcase(recording, name) for name in names)]
    return [kind for kind, maybe in rows if not maybe], [kind for kind, maybe in rows if maybe]


def with_guids_of_the_recording(text):
    """A unit of `fabricsim generate superpod` as d-rail-cold has it: the GUIDs that ibsim gives, no
    speeds, ids in its own form."""
    def guid(word):
        number = int(word, 16)
        if number >> 32 == 0x02FAB001:
            return 0x200004 + (number & 0xFFFF)
        if number >> 32 == 0x02FAB002:
            return 0x200000 + (number & 0xFFFF)
        return 0x100000 + 0x10 * ((number >> 16 & 0xFFFF) - 1) + 2 * (number >> 8 & 0xFF)
    text = re.sub(r'"([SH])-(\w{16})"', lambda m: '"%s-%016x"' % (m[1], guid(m[2])), text)
    text = re.sub(r"(?m)^(?:vendid|devid|#).*\n", "", text)
    text = re.sub(r"(?m)^(\w+guid)=0x(\w+).*$", lambda m: "%s=0x%x" % (m[1], guid(m[2])), text)
    return re.sub(r"(?m)\(\w+\)|[ \t]*#.*$", "", text)


class WireCase(ibsim.Case):
    @classmethod
    def setUpClass(cls):
        if not os.path.isdir(wire.WIRE):
            print("skipped: %s is absent" % wire.WIRE, file=sys.stderr)
            sys.exit(ibsim.SKIPPED)
        cls.oracle = wire.Oracle()

    @classmethod
    def tearDownClass(cls):
        cls.oracle.remove()

    def record_once(self, topology, host, config="", tweak=""):
        sim = ibsim.Ibsim(self, topology)
        ibsim.Fabricd(self, config).once(
            self.oracle.environment(sim, host, self.path("trace"), tweak))
        return self.path("trace")

    def keeps_the_rules(self, trace, recording):
        broken = self.oracle.broken_rules(trace)
        must, may = listed("Rules that do not hold", recording)
        self.assertEqual(sorted(set(broken) - set(may)), sorted(must), "".join(broken.values()))

    def differs_as_explained(self, trace, recording):
        self.keeps_the_rules(trace, recording)
        found = self.oracle.differences(recording, trace)
        must, may = listed("Differences from OpenSM", recording)
        unexplained = [kind for kind in found
                       if not any(fnmatch.fnmatchcase(kind, row) for row in must + may)]
        self.assertEqual(unexplained, [], "kinds that docs/WIRE.md does not explain")
        stale = [row for row in must if not fnmatch.filter(found, row)]
        self.assertEqual(stale, [], "docs/WIRE.md explains what is not so")


class Cold(WireCase):
    """Fabrics that nobody has touched, or with LIDs that an SM left."""

    def tree(self):
        return ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net")

    def two_switches(self):
        if not os.path.exists(TWO_SWITCHES):
            self.skipTest("%s is absent" % TWO_SWITCHES)
        return TWO_SWITCHES

    def test_a(self):
        self.differs_as_explained(self.record_once(self.two_switches(), "Hca1"), "a-2sw-cold")

    def test_a_from_a_switch(self):
        self.differs_as_explained(self.record_once(self.two_switches(), "Switch1"),
                                  "a-2sw-cold-sm-on-switch")

    def test_a_lmc2(self):
        self.differs_as_explained(self.record_once(self.two_switches(), "Hca1", LMC2), "a-2sw-lmc2")

    def test_a_mkey(self):
        self.differs_as_explained(self.record_once(self.two_switches(), "Hca1", M_KEY), "a-2sw-mkey")

    def test_b(self):
        self.differs_as_explained(self.record_once(self.tree(), "H-0002c90200000000"), "b-tree-cold")

    def test_b_lmc2(self):
        self.differs_as_explained(self.record_once(self.tree(), "H-0002c90200000000", LMC2),
                                  "b-tree-lmc2")

    def test_b_mkey(self):
        self.differs_as_explained(self.record_once(self.tree(), "H-0002c90200000000", M_KEY),
                                  "b-tree-mkey")

    def test_c(self):
        topology = ibsim.shared(self, "topologies", "ibtopotool-1.ibnetdiscover")
        self.differs_as_explained(self.record_once(topology, "H-0008f10403960558"), "c-isr-cold")

    def test_c_from_a_single_port_adapter(self):
        """The dual-port one is asked and set by way of each of its ports."""
        topology = ibsim.shared(self, "topologies", "ibtopotool-1.ibnetdiscover")
        self.keeps_the_rules(self.record_once(topology, "H-0008f10403960984"), "c")

    def test_d(self):
        text = self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricsim"), "generate", "superpod",
                                 "--hosts-per-su", "32", "--rails", "8", "--format", "ibsim"])
        unit = self.write("unit.net", with_guids_of_the_recording(text))
        self.differs_as_explained(self.record_once(unit, "H-0000000000100000"), "d-rail-cold")

    def test_e(self):
        mixed = self.write("mixed.net", MIXED_SPEEDS)
        self.differs_as_explained(self.record_once(mixed, "h1"), "e-edr-cold")


class Devices(WireCase):
    """Devices that ibsim cannot play: madtweak changes what fabricd reads."""

    def differs(self, recording, tweak, config=""):
        if not os.path.exists(TWO_SWITCHES):
            self.skipTest("%s is absent" % TWO_SWITCHES)
        self.differs_as_explained(self.record_once(TWO_SWITCHES, "Hca1", config, tweak), recording)

    def test_client_reregister(self):
        self.differs("t-rereg", "0x15:160:32:|0x02000000:c")

    def test_enhanced_port_0(self):
        self.differs("t-ep0", "0x12:132:1:=1")

    def test_enhanced_port_0_with_lmc(self):
        self.differs("t-ep0-lmc2", "0x12:132:1:=1", LMC2_EVERYWHERE)

    def test_unequal_mtu_and_vls(self):
        self.differs("t-mtu-vl", "0x15:296:4:=1:c,0x15:332:4:=3:c")

    def test_15_vls(self):
        self.differs("t-vl15", "0x15:296:4:=5")

    def test_no_extended_speeds(self):
        self.differs("t-noext", "0x15:160:32:&0xffffbfff")

    def test_no_partition_enforcement(self):
        self.differs("t-noenf", "0x12:112:16:=0")

    def test_multicast_top(self):
        self.differs("t-mfttop", "0x15:160:32:|0x40000000")

    def test_m_key_that_reads_back(self):
        self.differs("t-mkey", "0x15:0:64:=0x1234567890abcdef:c,0x15:272:2:=1:c", M_KEY)


class Running(WireCase):
    """A fabric in use: restarts, cables, lost MADs."""

    LEAF = "0002c90100000000"

    def setUp(self):
        super().setUp()
        self.topology = ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net")
        self.sim = ibsim.Ibsim(self, self.topology)
        self.trace = self.path("trace")
        self.recorded = self.oracle.environment(self.sim, "H-0002c90200000000", self.trace)

    def length(self):
        return len(self.oracle.read(self.trace).mads)

    def after(self, fabricd, action, why):
        """The Sets that an action causes, up to the end of a heavy sweep after it."""
        since, before = self.length(), len(fabricd.log.lines)
        action()
        fabricd.log.wait_for("RerouteCompleted: .*" + why, since=before)
        fabricd.log.wait_for("change ended", since=before)
        fabricd.ctl("sweep", "--heavy", "--wait")
        return self.oracle.sets(self.trace, since)

    def test_cables(self):
        fabricd = ibsim.Fabricd(self, TRAPS_ONLY).start(self.recorded)
        fabricd.log.wait_for("subnet up")
        host = "0002c90200000600"  # H-7 at port 3 of SW-1-1.
        leaf = "0002c90100000500"

        sets = self.after(fabricd, lambda: self.sim.console('Unlink "H-%s"[1]' % host), "trap 128")
        # Its LID keeps its entries until the ideal plan: they end at the dead port, and need not be
        # written again when the host comes back soon.
        self.assertEqual({attribute for attribute, *_ in sets}, {"SwitchInfo"})
        self.assertEqual({node for attribute, node, *_ in sets if attribute == "SwitchInfo"}, {leaf})

        sets = self.after(fabricd, lambda: self.sim.console('ReLink "H-%s"[1]' % host), "trap 128")
        ends = {(host, 1), (leaf, 3)}
        states = {}
        for attribute, node, port, mad in sets:
            if attribute == "PortInfo":
                states.setdefault((node, port), []).append(mad.fields()["PortState"])
        self.assertEqual(set(states), ends)
        for asked in states.values():
            self.assertEqual([state for state in asked if state != "nochange"], ["ARMED", "ACTIVE"])
        self.assertEqual({node for attribute, node, *_ in sets if attribute == "SwitchInfo"}, {leaf})

        sets = self.after(fabricd, lambda: self.sim.console('Unlink "S-%s"[5]' % self.LEAF), "trap 128")
        self.assertEqual([key for *key, _ in sets if key[0] == "PortInfo"], [])
        sets = self.after(fabricd, lambda: self.sim.console('ReLink "S-%s"[5]' % self.LEAF), "trap 128")
        ports = {(node, port) for attribute, node, port, _ in sets if attribute == "PortInfo"}
        self.assertEqual(ports, {(self.LEAF, 5), ("0002c90100000100", 1)})
        self.assertEqual(fabricd.stop(), 0)
        self.keeps_the_rules(self.trace, "cables")

    def test_a_second_sweep_sets_nothing(self):
        fabricd = ibsim.Fabricd(self, TRAPS_ONLY).start(self.recorded)
        fabricd.log.wait_for("subnet up")
        since = self.length()
        fabricd.ctl("sweep", "--heavy", "--wait")
        self.assertEqual(self.oracle.sets(self.trace, since), [])
        since, before = self.length(), len(fabricd.log.lines)
        fabricd.process.send_signal(signal.SIGHUP)
        fabricd.log.wait_for("heavy sweep ended", since=before)
        self.assertEqual(self.oracle.sets(self.trace, since), [])
        since = self.length()
        fabricd.ctl("sweep", "--wait")  # A light one: one SwitchInfo a switch, then some tables.
        sent = [mad for mad in self.oracle.read(self.trace).mads if mad.n > since and mad.dir == "S"]
        infos = [mad.node for mad in sent if mad.attr_name == "SwitchInfo"]
        self.assertEqual(len(infos), 8)
        self.assertEqual(len(set(infos)), 8)
        self.assertEqual({mad.method for mad in sent}, {0x01}, "Gets")
        tables = [mad.node for mad in sent if mad.attr_name == "LFT"]
        self.assertEqual(set(tables), set(infos), "of each switch")
        self.assertEqual(fabricd.stop(), 0)
        self.keeps_the_rules(self.trace, "sweeps")

    def restart(self, tweak):
        """The port changes of a fabricd that starts on what another has programmed."""
        fabricd = ibsim.Fabricd(self)
        fabricd.once(self.sim.environment("H-0002c90200000000"))
        trace = self.path("restart")
        fabricd.once(self.oracle.environment(self.sim, "H-0002c90200000000", trace, tweak))
        sets = self.oracle.sets(trace)
        self.assertEqual({attribute for attribute, *_ in sets}, {"PortInfo"})
        for _, _, _, mad in sets:
            self.assertEqual(mad.fields()["PortState"], "nochange")
        # Those for what ibsim does not store come once to each port, not again and again.
        ports = [(node, port) for _, node, port, _ in sets]
        self.assertEqual(len(ports), len(set(ports)))
        self.keeps_the_rules(trace, "restart")
        return self.oracle.port_changes(trace)

    def test_a_restart_writes_nothing_again(self):
        changes = self.restart("")
        self.assertEqual(len(changes), 72, "16 CA ports, 8 ports 0, 48 of cables: all were seen")
        self.assertEqual([change for change in changes if change[2]], [])

    def test_a_restart_asks_each_client_once_to_register_again(self):
        changes = [change for change in self.restart(wire.REREGISTER) if change[2]]
        ports = [(node, 1) for node, kind in ibsim.Topology(self.topology).kinds.items()
                 if kind == "CA"]
        self.assertEqual(sorted(changes), sorted((node[2:], port, {"ClientReregister": ("0", "1")})
                                                 for node, port in ports))

    def test_lost_mads(self):
        self.sim.console('Error "S-0002c90100000500" 15')
        ibsim.Fabricd(self, "smp: {timeout: 10ms, retries: 8}\n").once(self.recorded)
        self.keeps_the_rules(self.trace, "drops")


if __name__ == "__main__":
    if not shutil.which("cc"):
        print("skipped: no C compiler for ../shared/wire", file=sys.stderr)
        sys.exit(ibsim.SKIPPED)
    ibsim.main(["ibsim"])
