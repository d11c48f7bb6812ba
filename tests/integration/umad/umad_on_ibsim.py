#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""UmadTransport and TransactionEngine on ibsim, by umad_probe: discovery, answers to
infiniband-diags, traps, pipelining, counters, errors. Judged by sminfo and ibsim's log, not by our reader.

usage: umad_on_ibsim.py UMAD_PROBE KERNEL_REPORTS REFUSE_VENDOR [TEST...]
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE, KERNEL_REPORTS, REFUSE_VENDOR = [os.path.abspath(sys.argv.pop(1)) for _ in range(3)]
SHIMS = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
PROGRAMS = ["ibsim", "opensm", "sminfo", "smpquery"]
PATIENCE = 20  # seconds


class Lines:
    """The output of a process, line by line, with waiting for one of them."""

    def __init__(self, stream):
        self.lines = []
        self.changed = threading.Condition()
        self.ended = False
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_for(self, pattern, times=1):
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            while True:
                if sum(bool(re.search(pattern, line)) for line in self.lines) >= times:
                    return
                left = deadline - time.monotonic()
                if left <= 0 or self.ended:
                    raise AssertionError(f"no {pattern!r} x{times} in: {self.lines}")
                self.changed.wait(left)


class OnIbsim(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="fabricd-umad-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.environment = dict(os.environ, IBSIM_SOCKNAME=f"fabricd.umad.{os.getpid()}",
                                OSM_CACHE_DIR=self.dir, OSM_TMP_DIR=self.dir)
        self.sim = self.start(["ibsim", "-s", os.path.join(HERE, "three_hosts.net")], host=None,
                              stdin=subprocess.PIPE)
        self.sim_log = Lines(self.sim.stdout)
        self.sim_log.wait_for("simulator ready")

    def start(self, command, host, preload="", **options):
        environment = dict(self.environment)
        if host:
            environment.update(SIM_HOST=host, LD_PRELOAD=f"{preload} {SHIMS[0]}")
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.STDOUT, cwd=self.dir, **options)
        self.addCleanup(self.stop, process)
        return process

    def stop(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()

    def run_on(self, host, command, preload=""):
        process = self.start(command, host, preload, stdin=subprocess.DEVNULL)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output

    def console(self, line):
        self.sim.stdin.write(line + "\n")
        self.sim.stdin.flush()

    def test_discovers_itself_and_its_neighbour(self):
        code, output = self.run_on("H-2", [PROBE, "umad", "discover"])
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"own path 0 node 0x[0-9a-f]{16} type 1 ports 1")
        self.assertRegex(output, r"peer path 0,1 node 0x[0-9a-f]{16} type 2 ports 4")

    def test_answers_sminfo_and_represses_traps(self):
        # LIDs, so that LID routed MADs and traps arrive: ibsim sends traps to the SM's LID.
        self.give_lids()
        server = self.start([PROBE, "umad", "serve", "2", "2"], "H-1")
        said = Lines(server.stdout)
        said.wait_for("^serving")
        said.wait_for("^trap 144 issuer 1 from 1")  # IsSM is a capability change.
        for arguments in (["-D", "0,1,1"], ["1"]):
            code, output = self.run_on("H-3", ["sminfo"] + arguments)
            self.assertEqual(code, 0, output)
            self.assertRegex(output, r"activity count 42 priority 7 state 3 SMINFO_MASTER")
        self.console('Unlink "H-2"[1]')
        said.wait_for("^trap 128 ")
        self.assertEqual(server.wait(PATIENCE), 0, said.lines)
        said.wait_for("^sminfo directed hops 2 ")
        said.wait_for("^sminfo lid ")
        self.sim_log.wait_for("got trap repress", times=2)

    def test_keeps_the_pipe_full_in_every_window(self):
        for window in (1, 4, 32, 128):
            command = [PROBE, "umad", "rate", str(window), "5000", "1", "2"]
            code, output = self.run_on("H-1", command)
            self.assertEqual(code, 0, output)
            self.assertIn("answered 5000 of 5000", output)
            print(output.strip(), file=sys.stderr)

    def test_unlinked_peer_times_out_and_the_node_itself_answers(self):
        self.console('Unlink "H-1"[1]')
        self.console('Dump "H-1"')  # Done in order: its answer follows the unlinking.
        self.sim_log.wait_for("dumped 1 nodes")
        for preload in ("", KERNEL_REPORTS):
            code, output = self.run_on("H-1", [PROBE, "umad", "discover"], preload)
            self.assertEqual(code, 1, output)
            self.assertIn("own path 0", output)
            self.assertNotIn("peer path", output)
            # Reported by the transport, not found out by the engine's safety net.
            self.assertIn("ended 2 timeouts 4 unmatched 0", output)

    def give_lids(self):
        code, output = self.run_on("H-1", ["opensm", "-o", "-f", os.path.join(self.dir, "osm.log")])
        self.assertEqual(code, 0, output)

    def test_reads_a_thousand_counters_and_unanswered_gets_time_out(self):
        self.give_lids()
        self.console('PerformanceSet "S-1"[2] PortCounters.SymbolErrorCounter=5')
        _, output = self.run_on("H-1", ["smpquery", "-D", "portinfo", "0,1", "0"])
        lid = re.search(r"^Lid:\.+(\d+)$", output, re.MULTILINE)[1]
        for preload in ("", KERNEL_REPORTS):
            code, output = self.run_on("H-1", [PROBE, "umad", "counters", lid, "2", "1024"], preload)
            self.assertEqual(code, 0, output)
            # ibsim knows neither PortSamplesControl nor the vendors' class: it answers nothing.
            self.assertEqual(output.splitlines(), [
                "perf answered 1024", "perf timed out 1", "vendor timed out 1",
                "had to wait for room", "symbol errors 5"])

    def test_does_without_the_vendor_class_where_the_kernel_refuses_it(self):
        self.give_lids()
        code, output = self.run_on("H-1", [PROBE, "umad", "counters", "1", "1", "1"], REFUSE_VENDOR)
        self.assertEqual(code, 0, output)
        self.assertEqual(output.splitlines(), [
            "UNAVAILABLE: cannot register management class 0x0a on ibsim0 port 1: Invalid argument",
            "perf answered 1", "perf timed out 1", "vendor refused 1", "symbol errors 0"])
        code, output = self.run_on("H-1", [PROBE, "umad", "discover"], REFUSE_VENDOR)
        self.assertEqual(code, 0, output)

    def test_names_a_missing_port(self):
        code, output = self.run_on("H-1", [PROBE, "umad:mlx5_7:1", "discover"])
        self.assertEqual(code, 2, output)
        self.assertIn("no InfiniBand port mlx5_7:1 among ibsim0:1", output)
        if not os.path.exists("/dev/infiniband"):
            code, output = self.run_on(None, [PROBE, "umad", "discover"])
            self.assertEqual(code, 2, output)
            self.assertIn("no InfiniBand device found (/dev/infiniband/umad*): load ib_umad",
                          output)


if __name__ == "__main__":
    if not SHIMS or not all(shutil.which(program) for program in PROGRAMS):
        print("ibsim, its preload shim, opensm or infiniband-diags is not installed",
              file=sys.stderr)
        sys.exit(77)
    unittest.main(verbosity=2)
