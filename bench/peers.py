# SPDX-License-Identifier: Apache-2.0
"""What the comparisons with other subnet managers share: generated topologies, a private ibsim,
the processes' CPU and memory. Imported by the programs beside it."""
import collections
import glob
import os
import re
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TICKS = os.sysconf("SC_CLK_TCK")
LFT_BLOCK = 64

# Arguments of fabricsim generate. Speed says nothing here; ibsim knows none above HDR.
PRESETS = {
    "superpod-4su": ["superpod", "--sus", "4"],
    "superpod-16su": ["superpod", "--sus", "16"],
    "k18": ["fat-tree", "--radix", "18", "--levels", "3"],
    "k36": ["fat-tree", "--radix", "36", "--levels", "3"],
    "k36-2": ["fat-tree", "--radix", "36", "--levels", "2"],
    "k48": ["fat-tree", "--radix", "48", "--levels", "3"],
}


class RunError(Exception):
    """A run that cannot be made or did not come up; the text is for the operator."""


def tool(directory, name):
    """The path of one of the project's programs."""
    path = os.path.join(directory, name)
    if not os.access(path, os.X_OK):
        raise RunError(f"{path} not found: run tools/build (for a *_benchmark then `cmake --build build --target "
                       "benchmarks`), or give --bin DIR")
    return path


def generate(fabricsim, arguments, path):
    """Writes the topology that fabricsim generate makes of the arguments, as ibsim reads it."""
    with open(path, "wb") as file:
        subprocess.run([fabricsim, "generate", *arguments, "--speed", "HDR", "--format", "ibsim"],
                       stdout=file, check=True)
    return path


def write_roots(topology, path):
    """The file for opensm -a."""
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(topology.roots) + "\n")
    return path


# ---- the topology


class Topology:
    """What the comparison must know of an ibsim file: counts, roots, the SM's host."""

    NODE = re.compile(r'^(Switch|Ca|Hca|Rt|Router)\s+(\d+)\s+"([^"]+)"')
    PORT = re.compile(r'^\[(\d+)\]\s*(?:\([^)]*\)\s*)?"([^"]+)"\s*\[(\d+)\]')
    SWITCH_GUID = re.compile(r"^switchguid=(?:0x)?([0-9a-fA-F]+)")

    def __init__(self, path):
        self.switch_ports = {}
        self.switch_guids = {}
        self.cas = {}
        links = collections.defaultdict(set)
        node, guid = None, None
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if found := self.SWITCH_GUID.match(line):
                    guid = found[1]
                elif found := self.NODE.match(line):
                    node = found[3]
                    if found[1] == "Switch":
                        self.switch_ports[node] = int(found[2])
                        self.switch_guids[node] = guid or node.split("-")[-1]
                    else:
                        self.cas[node] = int(found[2])
                    guid = None
                elif node and (found := self.PORT.match(line)):
                    links[node].add((int(found[1]), found[2], int(found[3])))
        if not self.switch_ports or not self.cas:
            raise RunError(f"{path}: no switch or no CA found in it")
        ends = {frozenset(((n, port), (peer, peer_port)))
                for n, ports in links.items() for port, peer, peer_port in ports}
        self.links = len(ends)
        self.cables = sorted(tuple(sorted(pair)) for pair in ends if len(pair) == 2)
        self.ca_ports = sum(1 for pair in ends for end in pair if end[0] in self.cas)
        self.roots = self.find_roots(links)
        self.sm_host = next(n for n in self.cas if links[n])

    def find_roots(self, links):
        """GUIDs of the switches farther from the hosts than each neighbour: the top of a tree."""
        peers = {s: {peer for _, peer, _ in links[s]} for s in self.switch_ports}
        rank = {s: 0 for s, near in peers.items() if any(peer in self.cas for peer in near)}
        queue = collections.deque(rank)
        while queue:
            at = queue.popleft()
            for peer in peers[at]:
                if peer in peers and peer not in rank:
                    rank[peer] = rank[at] + 1
                    queue.append(peer)
        self.rank = rank
        tops = [s for s in rank
                if all(rank.get(peer, -1) < rank[s] for peer in peers[s] if peer in peers)]
        return sorted("0x" + self.switch_guids[s].zfill(16) for s in tops)

    def counts(self):
        """The sizes that the computed minimum and the table need."""
        switches = len(self.switch_ports)
        lids = switches + self.ca_ports
        return {"ca_ports": self.ca_ports, "nodes": switches + len(self.cas), "switches": switches,
                "links": self.links, "lids": lids, "lft_blocks": lids // LFT_BLOCK + 1,
                "switch_ports": sum(self.switch_ports.values()) + switches}

    def minimum(self):
        """The fewest SMPs of a cold bring-up by attribute: each fact read once, each link end set
        ARMED with its parameters and then ACTIVE, each table block written once."""
        count = self.counts()
        switches = count["switches"]
        return {
            "NodeInfo.Get": 1 + count["links"],
            "NodeDescription.Get": count["nodes"],
            "PortInfo.Get": count["ca_ports"] + count["switch_ports"],
            "SwitchInfo.Get": switches,
            "SwitchInfo.Set": switches,
            "PortInfo.Set": switches + 4 * count["links"],
            "LinearForwardingTable.Set": switches * count["lft_blocks"],
        }

    def memory_needed(self):
        """Bytes that ibsim and the larger of the two SMs take at most; measured factors."""
        count = self.counts()
        return (200 << 20) + 48 * count["switches"] * count["lids"] + 8192 * count["switch_ports"]


def cable_of(topology, host):
    """The switch port at the other end of the cable of an HCA's first port, as ibsim's console
    takes it."""
    for pair in topology.cables:
        for end, peer in (pair, pair[::-1]):
            if end == (host, 1):
                return f'"{peer[0]}"[{peer[1]}]'
    raise RunError(f"{host} has no cable")


# A line of ibsim's Dump about a port that has LIDs.
END_PORT = re.compile(
    r"(?m)^([0-9a-f]+)\t\[\d+\]\t.*\t lid (\d+) lmc (\d+) smlid (\d+) .* (\w+)/(\w+)")
EndPort = collections.namedtuple("EndPort", "lid lmc sm_lid state")


# ---- processes


def pinned(cpus, command):
    """The command, kept to the processors given ("0,2-3"; empty: all)."""
    return ["taskset", "-c", cpus, *command] if cpus else command


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def read_proc(pid, name):
    return read_text(f"/proc/{pid}/{name}")


def cpu_times(pid):
    """User and system seconds of a live process, all its threads."""
    fields = read_proc(pid, "stat").rpartition(")")[2].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


def starved(pid):
    """Seconds that the live threads of a process stood ready without getting a processor."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[1])
        except (OSError, IndexError):
            continue  # A thread that ended meanwhile.
    return total / 1e9


def peak_kib(pid):
    found = re.search(r"^VmHWM:\s+(\d+) kB", read_proc(pid, "status"), re.MULTILINE)
    return int(found[1]) if found else 0


class Simulator:
    """A private ibsim, ready when the constructor returns. It needs a stdin that stays open."""
    DUMPED_AT_ONCE = 32

    def __init__(self, net, topology, directory, cpus="", timeout=1800):
        self.socket = f"versus.{os.getpid()}.{time.monotonic_ns()}"
        # For clients: each leaves a folder sys-PID where it runs.
        self.directory = directory
        self.nodes = [*topology.cas, *topology.switch_ports]
        fifo = os.path.join(directory, "console")
        os.mkfifo(fifo)
        self.console = os.open(fifo, os.O_RDWR | os.O_CLOEXEC)
        self.log = os.path.join(directory, "ibsim.log")
        count = topology.counts()
        limits = ["-N", count["nodes"] + 64, "-S", count["switches"] + 64,
                  "-P", count["switch_ports"] + 2 * sum(topology.cas.values()) + 4096,
                  "-L", 49151]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                pinned(cpus, ["ibsim", "-s", *map(str, limits), net]),
                stdin=self.console, stdout=log, stderr=subprocess.STDOUT,
                env=dict(os.environ, IBSIM_SOCKNAME=self.socket))
        try:
            self.wait_ready(timeout)
        except BaseException:
            self.stop()
            raise

    def wait_ready(self, timeout):
        """ibsim tells its readiness by a line only; nothing is measured while we look for it."""
        deadline = time.monotonic() + timeout
        while True:
            with open(self.log, "rb") as log:
                text = log.read()
            if b"simulator ready" in text:
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RunError("ibsim did not start: " + text[-500:].decode(errors="replace"))
            time.sleep(0.05)

    def command(self, line):
        """Types a line at the console."""
        os.write(self.console, line.encode("ascii") + b"\n")

    def dump(self, nodes=None):
        """What ibsim says of these nodes, by name, or all: {port GUID: EndPort} of HCA ports and
        switches."""
        return {found[1]: EndPort(*map(int, found.groups()[1:4]), found[5])
                for found in END_PORT.finditer(self._dump_text(nodes or self.nodes))}

    def not_active(self):
        """The ports with a link that no subnet manager has made active, as ibsim prints them."""
        return [line.strip() for line in self._dump_text(self.nodes).splitlines()
                if line.endswith("/LinkUp") and not line.endswith(" Active/LinkUp")]

    def _dump_text(self, nodes):
        """A few nodes at a time. Of a whole fabric of 13,284 nodes it is a second of work, in which
        ibsim answers no MAD: a subnet manager takes the other one for dead."""
        texts = []
        with open(self.log, encoding="ascii", errors="replace") as log:
            log.seek(0, os.SEEK_END)
            for at in range(0, len(nodes), self.DUMPED_AT_ONCE):
                names, text = nodes[at:at + self.DUMPED_AT_ONCE], ""
                self.command("\n".join(f'Dump "{name}"' for name in names))
                deadline = time.monotonic() + 60
                while text.count("#  dumped 1 nodes") < len(names):
                    if time.monotonic() > deadline:
                        raise RunError("ibsim does not dump: " + text[-500:])
                    time.sleep(0.002)
                    text += log.read()
                texts.append(text)
        return "".join(texts)

    def stop(self):
        stop_process(self.process)
        os.close(self.console)


def stop_process(process, patience=30):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def find_umad2sim():
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + \
        glob.glob("/usr/lib*/umad2sim/libumad2sim.so")
    if not found:
        raise RunError("libumad2sim.so not found: install ibsim-utils")
    return found[0]


def opensm_environment(simulator, topology, directory):
    """Of an SM that shall run on that ibsim and keep its files in that directory."""
    return dict(os.environ, IBSIM_SOCKNAME=simulator.socket, SIM_HOST=topology.sm_host,
                LD_PRELOAD=find_umad2sim(), OSM_TMP_DIR=directory, OSM_CACHE_DIR=directory)
