#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text formats of fabric/ judged by the programs whose formats they are.

For each topology: ibsim simulates it, Debian's opensm brings it up and dumps its tables, the real
ibnetdiscover prints it. Then
  * what fabric_text writes of ibnetdiscover's output equals that output, record by record;
  * ibsim loads the .net that fabric_text writes, and ibnetdiscover sees the same fabric on it;
  * the dumps that fabric_text writes equal OpenSM's own;
  * ibdmchk finds every path on them.

usage: text_judged.py FABRIC_TEXT SHARED_TOPOLOGIES
"""
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import unittest

UMAD2SIM = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
FABRIC_TEXT, SHARED = (os.path.abspath(p) for p in sys.argv[1:3])

# Multi-port adapters, a router, loop-back cables, unlike widths and speeds, odd descriptions.
ODD = """
vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8599f0300fc6de4
switchguid=0xb8599f0300fc6de4(b8599f0300fc6de4)
Switch	8 "S-b8599f0300fc6de4"		# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 13 lmc 0
[1]	"H-0000000000100000"[1](100001) 	# "x" lid 0 4xEDR
[2]	"H-0000000000100010"[1](100011) 	# "x" lid 0 4xHDR
[3]	"S-b8599f0300fc6d00"[3] 	# "x" lid 0 2xHDR
[4]	"S-b8599f0300fc6d00"[4] 	# "x" lid 0 4xFDR
[7]	"S-b8599f0300fc6de4"[8] 	# "x" lid 0 1xFDR
[8]	"S-b8599f0300fc6de4"[7] 	# "x" lid 0 1xFDR

vendid=0x2c9
devid=0xb924
sysimgguid=0xb8599f0300fc6d08
switchguid=0xb8599f0300fc6d00(b8599f0300fc6d00)
Switch	24 "S-b8599f0300fc6d00"		# "leaf 2 'quoted' # / MT47396" base port 0 lid 14 lmc 0
[1]	"H-0000000000100000"[2](100002) 	# "x" lid 0 12xQDR
[3]	"S-b8599f0300fc6de4"[3] 	# "x" lid 0 2xHDR
[4]	"S-b8599f0300fc6de4"[4] 	# "x" lid 0 4xFDR
[20]	"R-0000000000300000"[1] 	# "x" lid 0 4xDDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x100000
caguid=0x100000
Ca	2 "H-0000000000100000"		# "node1 mlx5_0"
[1](100001) 	"S-b8599f0300fc6de4"[1]		# lid 5 lmc 0 "x" lid 0 4xEDR
[2](100002) 	"S-b8599f0300fc6d00"[1]		# lid 0 lmc 0 "x" lid 0 12xQDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x100010
caguid=0x100010
Ca	1 "H-0000000000100010"		# "node1 mlx5_1"
[1](100011) 	"S-b8599f0300fc6de4"[2]		# lid 6 lmc 0 "x" lid 0 4xHDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x300000
rtguid=0x300000
Rt	2 "R-0000000000300000"		# "router one"
[1](300001) 	"S-b8599f0300fc6d00"[20]		# lid 7 lmc 0 "x" lid 0 4xDDR
"""


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def fabric_text(*arguments):
    return run(FABRIC_TEXT, *arguments).decode("latin-1")


def records(text):
    """The node records of ibnetdiscover's output, in any order, without comments of the file."""
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    return sorted(r.strip("\n") for r in re.split(r"\n\n+", "\n".join(lines)) if r.strip())


def links(text):
    """Records without what an SM or ibsim's GUIDs may change: LIDs, LMCs, port GUIDs."""
    text = re.sub(r"(lid|lmc) [0-9]+", r"\1 *", text)
    return records(re.sub(r"\([0-9a-f]+\)", "(*)", text))


def by_switch(text, heading):
    """A dump's parts, one a switch, in any order."""
    return sorted(part for part in re.split("(?m)^(?=%s)" % heading, text) if part.strip())


class Ibsim:
    """ibsim on one topology, until the with-block ends."""

    def __init__(self, folder, topology):
        self.folder = folder
        self.topology = topology
        self.name = "fabric-text-%d-%s" % (os.getpid(), os.path.basename(folder))

    def __enter__(self):
        # ibsim keeps its output back unless told otherwise, and "ready" is what we wait for.
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", "ibsim", "-s", "-n", "-N", "4096", "-S", "1024", "-P", "60000",
             self.topology],
            env=dict(os.environ, IBSIM_SOCKNAME=self.name), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=self.folder)
        try:
            self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_until_ready(self):
        selector = selectors.DefaultSelector()
        selector.register(self.process.stdout, selectors.EVENT_READ)
        seen = b""
        while b"Network simulator ready." not in seen:
            if not selector.select(timeout=30):
                raise TimeoutError("ibsim is not ready: %r" % seen)
            piece = os.read(self.process.stdout.fileno(), 4096)
            if not piece:
                raise RuntimeError("ibsim refuses %s: %r" % (self.topology, seen[-500:]))
            seen += piece

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def run(self, *command):
        # opensm leaves without freeing; under a sanitizer build only our own programs are checked.
        environment = dict(os.environ, IBSIM_SOCKNAME=self.name, LD_PRELOAD=UMAD2SIM,
                           OSM_TMP_DIR=self.folder, OSM_CACHE_DIR=self.folder)
        return run(*command, env=environment, cwd=self.folder, stderr=subprocess.DEVNULL,
                   timeout=240).decode("latin-1")

    def opensm(self):
        log = os.path.join(self.folder, "osm.log")
        self.run("opensm", "-o", "-f", log, "-D", "0x43", "-L", "3")


class TextJudged(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fabric-text-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, text):
        with open(self.path(name), "w", encoding="latin-1", newline="") as file:
            file.write(text)
        return self.path(name)

    def load(self, name):
        with open(self.path(name), encoding="latin-1", newline="") as file:
            return file.read()

    def bring_up(self, topology):
        """ibnetdiscover's output once opensm has brought it up, whose dumps are in folder."""
        with Ibsim(self.folder, topology) as sim:
            sim.opensm()
            return sim.run("ibnetdiscover")

    def judge_text(self, real):
        real_path = self.save("real", real)
        self.assertEqual(records(fabric_text("ibnetdiscover", real_path)), records(real))
        net = self.save("ours.net", fabric_text("ibsim", real_path))
        with Ibsim(self.folder, net) as sim:
            self.assertEqual(links(sim.run("ibnetdiscover")), links(real))

    def judge_dumps(self, real):
        real_path = self.path("real")
        sm_guid = re.search("from node ([0-9a-f]+)", real).group(1)
        ours = fabric_text("subnet-lst", real_path, "0x" + sm_guid)
        self.save("ours.lst", ours)

        def told(text):
            """The lines without what ibnetdiscover's text does not tell: revision and state."""
            return sorted(re.sub(" (Rev:[0-9A-F]{8}|LOG=[A-Z]+)", "", text).splitlines())
        self.assertEqual(told(ours), told(self.load("opensm-subnet.lst")))
        for kind, theirs, heading in (("fdbs", "opensm.fdbs", "dump_ucast"),
                                      ("lfts", "opensm-lfts.dump", "Unicast")):
            text = fabric_text(kind, real_path, self.path(theirs))
            self.save("ours." + kind, text)
            self.assertEqual(by_switch(text, heading), by_switch(self.load(theirs), heading))

    def judge_paths(self, multicast=""):
        mcfdbs = self.save("ours.mcfdbs", multicast)
        # Debian's ibdmchk dies in its own clean-up after the last verdict, on OpenSM's dumps as on
        # ours: what it says counts, not how it ends.
        report = subprocess.run(
            ["ibdmchk", "-s", self.path("ours.lst"), "-f", self.path("ours.fdbs"), "-m", mcfdbs],
            stdout=subprocess.PIPE, cwd=self.folder, check=False).stdout.decode("latin-1")
        self.assertNotIn("-E-", report)
        self.assertRegex(report, r"-I- Scanned:[1-9][0-9]* CA to CA paths")
        self.assertIn("-I- no credit loops found", report)
        return report

    def judge_shared(self, name, paths=True):
        topology = os.path.join(SHARED, name)
        if not os.path.exists(topology):
            self.skipTest("%s is absent" % topology)
        real = self.bring_up(topology)
        self.judge_text(real)
        self.judge_dumps(real)
        if paths:
            self.judge_paths()

    def test_fabric_with_irregular_links(self):
        real = self.bring_up(self.save("odd.net", ODD))
        self.judge_text(real)
        self.judge_dumps(real)

    def test_tree_of_two_levels(self):
        self.judge_shared("trees/4-ary-2-tree.net")

    def test_tree_of_three_levels(self):
        self.judge_shared("trees/4-ary-3-tree.net")

    def test_real_fabric_of_many_speeds(self):
        self.judge_shared("ut-loginoff-topo.ibnetdiscover", paths=False)

    def test_multicast_tables(self):
        real = self.bring_up(self.save("odd.net", ODD))
        self.save("real", real)
        # As OpenSM 3.3.23 wrote it with three members of one group.
        theirs = ("\nSwitch 0xb8599f0300fc6d00\nLID    : Out Port(s)\n"
                  "0xC000 : 0x003  0x014 \n"
                  "\nSwitch 0xb8599f0300fc6de4\nLID    : Out Port(s)\n"
                  "0xC000 : 0x001  0x002  0x003 \n")
        ours = fabric_text("mcfdbs", self.path("real"), self.save("theirs", theirs))
        self.assertEqual(ours, theirs)
        self.save("ours.lst", fabric_text("subnet-lst", self.path("real"), "0x0"))
        self.save("ours.fdbs", fabric_text("fdbs", self.path("real"), self.path("opensm.fdbs")))
        report = self.judge_paths(ours)
        self.assertIn("Defined 5 Multicast Fdb entries for:2 switches", report)


if __name__ == "__main__":
    for tool in ("ibsim", "opensm", "ibnetdiscover", "ibdmchk", "stdbuf"):
        if not shutil.which(tool):
            print("skipped: %s is not installed" % tool)
            sys.exit(77)
    if not os.path.exists(UMAD2SIM):
        print("skipped: %s is not installed" % UMAD2SIM)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
