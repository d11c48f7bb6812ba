# SPDX-License-Identifier: Apache-2.0
"""Programs of a test on a private ibsim: the simulator, fabricd, infiniband-diags, opensm,
recordings.

Every process is started by its full command, waited for by what it says, and stopped by its own id.
"""
import glob
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SHIMS = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
TOPOLOGIES = os.path.join(SHARED, "topologies")
PATIENCE = 180  # Seconds; only a failing test, or a very busy machine, comes near.
SKIPPED = 77    # ctest's SKIP_RETURN_CODE

_numbers = itertools.count(1)


class Lines:
    """The output of a process, line by line, with waiting for one of them."""

    def __init__(self, process):
        self.lines = []
        self.changed = threading.Condition()
        self.ended = False
        self.reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        process.reader = self.reader
        self.reader.start()

    def _read(self, stream):
        for line in stream:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def text(self):
        with self.changed:
            return "\n".join(self.lines)

    def has(self, pattern, since, seconds):
        """Whether a line from `since` on matches within that time."""
        try:
            self.wait_for(pattern, since=since, seconds=seconds)
            return True
        except AssertionError:
            return False

    def wait_for(self, pattern, times=1, since=0, seconds=PATIENCE):
        """The first match; `times` matches must be there among the lines from `since` on."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                found = [m for m in (re.search(pattern, l) for l in self.lines[since:]) if m]
                if len(found) >= times:
                    return found[0]
                left = deadline - time.monotonic()
                if left <= 0 or self.ended:
                    raise AssertionError("no %r x%d in:\n%s" %
                                         (pattern, times, "\n".join(self.lines[-60:])))
                self.changed.wait(left)


class Case(unittest.TestCase):
    """A test with a folder of its own, that stops what it started."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="fabricd-it-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def start(self, command, environment=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(
            command, env=dict(os.environ, **(environment or {})), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", cwd=self.folder, **options)
        self.addCleanup(stop, process)
        return process

    def run_program(self, command, environment=None, code=0):
        """The output; `code` is the expected exit code, None for any."""
        process = self.start(command, environment)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            self.fail("%s does not end:\n%s" % (" ".join(command), output[-2000:]))
        if code is not None:
            self.assertEqual(process.returncode, code, "%s:\n%s" %
                             (" ".join(command), output[-4000:]))
        return output


def stop(process, number=signal.SIGKILL):
    """Ends a process that a test started; its exit code."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        code = process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if hasattr(process, "reader"):
        process.reader.join(PATIENCE)
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
    return code


class Refused(Exception):
    """ibsim does not load the file; the text is its last words."""


class Ibsim:
    """ibsim on one topology. Its stdin stays open: without one it spins."""

    def __init__(self, case, topology):
        self.case = case
        self.name = "fabricd.%d.%d" % (os.getpid(), next(_numbers))
        self.process = case.start(
            ["ibsim", "-s", "-N", "4000", "-S", "400", "-P", "60000", "-L", "30720", topology],
            {"IBSIM_SOCKNAME": self.name}, stdin=subprocess.PIPE)
        self.log = Lines(self.process)
        try:
            self.log.wait_for("simulator ready")
        except AssertionError:
            if self.process.poll() is None and not self.log.ended:
                raise
            raise Refused(self.log.text()[-300:]) from None

    def console(self, command):
        """Types a command and waits until ibsim has done it and all before it; the lines that it
        said meanwhile."""
        before = len(self.log.lines)
        # Commands are done in order: the dump of a node that does not exist ends this one.
        self.process.stdin.write(command + "\nDump \"no such node\"\n")
        self.process.stdin.flush()
        self.log.wait_for("nodeid .no such node. not found", since=before)
        return self.log.lines[before:]

    def environment(self, host, preload="", **more):
        return dict({"IBSIM_SOCKNAME": self.name, "SIM_HOST": host,
                     "LD_PRELOAD": " ".join((preload + " " + SHIMS[0]).split()),
                     "OSM_CACHE_DIR": self.case.folder, "OSM_TMP_DIR": self.case.folder}, **more)

    def start(self, host, *command, **more):
        return self.case.start(list(command), self.environment(host, **more))

    def run(self, host, *command, code=0):
        return self.case.run_program(list(command), self.environment(host), code)


class Fabricd:
    """fabricd's command line and its gRPC client, with a state directory and socket of
    their own."""

    bin = ""  # The folder of fabricd, fabricctl and fabricsim, set by main().

    def __init__(self, case, config="", name="fabricd", mode="manage"):
        self.case = case
        self.program = os.path.join(self.bin, "fabricd")
        self.mode = mode  # None: the command line names none.
        self.state = case.path(name + ".state")
        self.dumps = case.path(name + ".dumps")
        self.socket = case.path(name + ".sock")
        self.config = case.write(name + ".yaml", config or "log: {level: info}\n")
        self.process = self.log = None

    def command(self, *more, fabric="umad"):
        return [self.program, "--config", self.config, "--fabric", fabric,
                *(["--mode", self.mode] if self.mode else []), "--state-dir", self.state,
                "--listen", "unix:" + self.socket, "--dump-dir", self.dumps, *more]

    def once(self, environment=None, code=0, fabric="umad"):
        return self.case.run_program(self.command("--once", fabric=fabric), environment, code)

    def start(self, environment=None, fabric="umad", more=()):
        self.process = self.case.start(self.command(*more, fabric=fabric), environment)
        self.log = Lines(self.process)
        return self

    def stop(self):
        """SIGTERM; the exit code. The log stays readable."""
        return stop(self.process, signal.SIGTERM)

    def kill(self):
        stop(self.process)

    def ctl(self, *arguments, code=0):
        return self.case.run_program([os.path.join(self.bin, "fabricctl"), "--server",
                                      "unix:" + self.socket, *arguments], code=code)

    def ask(self, *arguments):
        """What fabricctl shows as JSON."""
        return json.loads(self.ctl(*arguments, "-o", "json"))

    def wait_for(self, condition):
        """Waits until `get sm -o json` fulfils the condition, for example state=MASTER."""
        try:
            self.ctl("--timeout", "%ds" % PATIENCE, "wait", "sm", "--for", condition)
        except AssertionError as error:
            # What the daemon said last tells more than what its client waited for.
            raise AssertionError("%s\nfabricd (exit code %s):\n%s" % (
                error, self.process.poll(), "\n".join(self.log.lines[-40:]))) from error


def deaf_perf():
    """The preload of an opensm that is to live beside a fabricd that reads counters: on ibsim it
    dies of requests that a kernel keeps from it (tests/integration/umad/deaf_perf.c)."""
    return os.path.join(Fabricd.bin, "..", "tests", "deaf_perf.so")


def lose_port():
    """The preload under which a port can be lost (tests/integration/umad/lose_port.c)."""
    return os.path.join(Fabricd.bin, "..", "tests", "lose_port.so")


class Topology:
    """The nodes and cables of an ibsim or ibnetdiscover file, as far as a test must know them to
    choose where the SM sits and how much must come up. Read leniently, with no code
    of fabricd's."""

    def __init__(self, path):
        self.kinds, self.cables = {}, {}  # id -> kind; (id, port) -> (id, port)
        node = None
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                head = re.match(r'\s*(Switch|Hca|Ca|Rt|Router)\s+\d+\s+"([^"]+)"', line)
                if head:
                    node = head[2]
                    self.kinds[node] = "CA" if head[1] in ("Hca", "Ca") else head[1]
                    continue
                port = re.match(r'\s*\[(\d+)\](?:\s*\(\w*\))?\s*"([^"]+)"\s*\[(\d+)\]', line)
                if port and node:
                    self.cables[node, int(port[1])] = (port[2], int(port[3]))
        for here, there in list(self.cables.items()):
            if there[0] not in self.kinds:
                del self.cables[here]
            else:
                self.cables.setdefault(there, here)

    def component(self):
        """The ids of the largest connected piece; of equal ones the first in the file."""
        neighbours = {node: set() for node in self.kinds}
        for (here, _), (there, _) in self.cables.items():
            neighbours[here].add(there)
        best, seen = set(), set()
        for node in self.kinds:
            if node in seen:
                continue
            piece, todo = {node}, [node]
            while todo:
                for other in neighbours[todo.pop()] - piece:
                    piece.add(other)
                    todo.append(other)
            seen |= piece
            if len(piece) > len(best):
                best = piece
        return best

    def host(self):
        """Where the SM can sit: a CA whose first port has a cable (the shim shows no other), or
        where there is none, a switch."""
        piece = self.component()
        for kind in ("CA", "Switch"):
            for node in self.kinds:
                if node in piece and self.kinds[node] == kind and \
                        (kind == "Switch" or (node, 1) in self.cables):
                    return node
        return next(iter(self.kinds), "")


def shared(case, *parts):
    """A file of ../shared; without it the test is skipped."""
    path = os.path.join(SHARED, *parts)
    if not os.path.exists(path):
        case.skipTest("%s is absent" % path)
    return path


def main(programs):
    """usage: THE_TEST.py BIN_DIR [TEST...]; exit 77 where a program that it needs is not
    installed, or nothing was tested."""
    if len(sys.argv) < 2:
        print("usage: %s BIN_DIR [TEST...]" % sys.argv[0], file=sys.stderr)
        sys.exit(2)
    Fabricd.bin = os.path.abspath(sys.argv.pop(1))
    missing = [program for program in programs if not shutil.which(program)]
    if "ibsim" in programs and not SHIMS:
        missing.append("libumad2sim.so")
    if missing:
        print("skipped: not installed: " + ", ".join(missing), file=sys.stderr)
        sys.exit(SKIPPED)
    result = unittest.main(module="__main__", verbosity=2, exit=False).result
    if result.wasSuccessful() and len(result.skipped) >= result.testsRun > 0:
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())
