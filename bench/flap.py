# SPDX-License-Identifier: Apache-2.0
"""versus_opensm --flap: cables, switches and HCAs that go and come back on a running subnet, at
ibsim's console, for one SM after the other. What counts is the time from the command to the last
answer about a forwarding table, taken by the shim that counts MADs, and what was sent."""
import itertools
import re
import subprocess
import tempfile
import threading
import time

from peers import (RunError, Simulator, cpu_times, find_umad2sim, opensm_environment, pinned,
                   stop_process)

QUIET = {"opensm": 4.0, "fabricd": 0.5}  # Seconds without a MAD after which it has ended.
LONGEST = 300.0
# The bars, for a cable between switches that goes away, on the fabric they are set for.
BAR_MS, BAR_FASTER, BAR_SMPS = 100.0, 200.0, 1500


class Log:
    """Reads what a process says, on a thread of its own."""

    def __init__(self, process):
        self.lines = []
        self.changed = threading.Condition()
        threading.Thread(target=self.read, args=(process.stdout,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            with self.changed:
                self.lines.append(line.decode(errors="replace").rstrip())
                self.changed.notify_all()

    def wait(self, pattern, since, timeout):
        """The first match among the lines from `since` on; None: it did not come."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                for line in self.lines[since:]:
                    if re.search(pattern, line):
                        return line
                since = len(self.lines)
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(left)


class Processes:
    """Programs of a bench, and what they say."""

    def __init__(self, folder, patience=60):
        self.folder, self.patience, self.started = folder, patience, []

    def start(self, command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, cwd=self.folder)
        self.started.append(process)
        process.log = Log(process)
        return process

    def wait(self, process, pattern):
        if process.log.wait(pattern, 0, self.patience) is None:
            raise RunError(f"no {pattern!r} in:\n" + "\n".join(process.log.lines[-15:]))

    def stop(self):
        for process in reversed(self.started):
            stop_process(process)


def pick_cables(topology, count):
    """As pick_faults: cables of leaves, each of another leaf as far as there are some."""
    by_leaf = {}
    for ends in topology.cables:
        leaves = [end for end in ends if topology.rank.get(end[0]) == 0]
        if len(leaves) == 1 and all(end[0] in topology.rank for end in ends):
            by_leaf.setdefault(leaves[0][0], []).append(leaves[0])
    in_turn = [cable for row in itertools.zip_longest(*by_leaf.values()) for cable in row if cable]
    return {f"cable {number + 1}": (f'Unlink "{switch}"[{port}]', f'ReLink "{switch}"[{port}]')
            for number, (switch, port) in enumerate(in_turn[:count])}


def pick_faults(topology):
    """By name: the console's lines that make it and that undo it."""
    def cable(one, other):
        for (a, port), (b, peer) in reversed(topology.cables):
            ranks = {topology.rank.get(a, -1), topology.rank.get(b, -1)}
            if ranks == {one, other}:
                return f'"{a}"[{port}]'
        return None

    top = max(topology.rank.values())
    own = {end[0] for pair in topology.cables for end in pair
           if topology.sm_host in (pair[0][0], pair[1][0])}
    leaf = [s for s, rank in topology.rank.items() if rank == 0 and s not in own][-1]
    spine = [s for s, rank in topology.rank.items() if rank == top][-1]
    faults = {"cable to a leaf": cable(0, 1)}
    if top > 1:
        faults["cable to a core switch"] = cable(top, top - 1)
    for end, other in reversed(topology.cables):
        host, switch = (end, other) if end[0] in topology.cas else (other, end)
        if host[0] in topology.cas and switch[0] not in own:
            faults["a host's port"] = f'"{switch[0]}"[{switch[1]}]'
            break
    faults["a spine"] = f'"{spine}"'
    faults["a leaf"] = f'"{leaf}"'
    return {name: (f"Unlink {what}", f"ReLink {what}") for name, what in faults.items() if what}


class Subject:
    """One SM, up on a fresh ibsim."""

    def __init__(self, bench, manager, command, counters, directory):
        self.manager, self.counters = manager, counters
        self.simulator = Simulator(bench.net, bench.topology, directory, bench.args.ibsim_cpus,
                                   bench.args.timeout)
        environment = dict(opensm_environment(self.simulator, bench.topology, directory),
                           LD_PRELOAD=f"{bench.shim} {find_umad2sim()}",
                           COUNT_MADS_FILE=counters.path)
        self.process = subprocess.Popen(
            pinned(bench.args.sm_cpus, command), env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=directory)
        self.log = Log(self.process)
        up = r"SUBNET UP" if manager == "opensm" else r"\bsubnet up$"
        if self.log.wait(up, 0, bench.args.timeout) is None:
            raise RunError(f"{manager}: the subnet did not come up")
        self.wait_quiet()

    def wait_quiet(self):
        """Until nothing was sent for a while and nothing is computed."""
        deadline = time.monotonic() + LONGEST
        last, since, cpu = None, time.monotonic(), 0.0
        while time.monotonic() < deadline:
            sent = sum(self.counters.read().values())
            busy = sum(cpu_times(self.process.pid))
            if sent != last or busy - cpu > 0.2:
                last, since, cpu = sent, time.monotonic(), busy
            elif time.monotonic() - since > QUIET[self.manager]:
                return
            time.sleep(0.02 if self.manager == "fabricd" else 0.2)
        raise RunError(f"{self.manager} does not come to rest")

    def do(self, line, waits_for_ideal=True):
        """One command at the console, and its result."""
        before, said = self.counters.read(), len(self.log.lines)
        start = time.monotonic()
        self.simulator.command(line)
        if self.manager == "fabricd":
            report = self.log.wait(r"RerouteCompleted", said, 60)
        else:
            report = self.log.wait(r"SUBNET UP|Errors during init", said, LONGEST)
        self.wait_quiet()
        after = self.counters.read()
        delta = {key: after[key] - before.get(key, 0) for key in after}
        answered = self.counters.last_table_answer()
        record = {"smps": sum(delta.values()),
                  "blocks": delta.get("LinearForwardingTable.Set", 0),
                  "ms": (answered - start) * 1e3 if answered > start else None,
                  "report": report.split("RerouteCompleted: ")[-1] if report else ""}
        # The ideal plan comes later: it is not what is measured.
        if self.manager == "fabricd" and waits_for_ideal:
            self.log.wait(r"settling", said, 15)
            self.wait_quiet()
            final = self.counters.read()
            record["later_blocks"] = (final.get("LinearForwardingTable.Set", 0)
                                        - after.get("LinearForwardingTable.Set", 0))
        return record

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.simulator.stop()


def run(bench, managers, make_counters, commands):
    """{manager: {fault: {"down": record, "up": record}}}"""
    cables = bench.args.cables
    faults = pick_cables(bench.topology, cables) if cables else pick_faults(bench.topology)
    result = {}
    for manager in managers:
        with tempfile.TemporaryDirectory(prefix="versus.") as directory:
            command = [word for word in commands[manager](bench, directory) if word != "--once"]
            subject = Subject(bench, manager, command, make_counters(directory), directory)
            try:
                result[manager] = {name: {"down": subject.do(down, not cables),
                                          "up": subject.do(up, not cables)}
                                   for name, (down, up) in faults.items()}
            finally:
                subject.stop()
    return result


def show(result):
    """Prints the table and the ratios of a cable that goes away."""
    print(f"{'fault':24} {'':5} {'SM':8} {'ms':>10} {'SMPs':>8} {'LFT Sets':>9} {'settled':>8}")
    for name in next(iter(result.values())):
        for way in ("down", "up"):
            for manager, faults in result.items():
                record = faults[name][way]
                ms = "-" if record["ms"] is None else f"{record['ms']:.1f}"
                print(f"{name:24} {way:5} {manager:8} {ms:>10} {record['smps']:>8} "
                      f"{record['blocks']:>9} {record.get('later_blocks', ''):>8}")
    for name in [n for n in next(iter(result.values())) if n.startswith("cable")]:
        ours = result.get("fabricd", {}).get(name, {}).get("down")
        theirs = result.get("opensm", {}).get(name, {}).get("down")
        if not ours:
            continue
        print(f"{name}: {ours['report']}")
        print(f"{name}: {ours['ms'] or 0:.1f} ms (at most {BAR_MS:.0f}), {ours['smps']} SMPs "
              f"(at most {BAR_SMPS})"
              + (f", {theirs['ms'] / ours['ms']:.0f} times as fast as opensm (at least "
                 f"{BAR_FASTER:.0f})" if theirs and theirs["ms"] and ours["ms"] else ""))
