# SPDX-License-Identifier: Apache-2.0
"""Two subnet managers of one kind on different hosts of one ibsim, fabricds with their state in
etcds on loopback. Imported by versus_opensm_takeover and by tools/ha-soak."""
import json
import os
import signal
import subprocess
import sys
import time

from counting import Counters
from flap import Log, Processes
from peers import ROOT, RunError, Simulator, find_umad2sim, opensm_environment, stop_process

sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import etcd  # noqa: E402

PATIENCE = 180.0


class Ended(RunError):
    """A manager has ended by itself."""


class Manager:
    """One SM: its process, its log, and what it sends."""

    def __init__(self, pair, name, host):
        self.pair, self.name, self.host = pair, name, host
        self.folder = os.path.join(pair.folder, name)
        os.makedirs(self.folder)
        self.starts, self.process, self.log, self.counters = 0, None, None, None

    def start(self):
        self.starts += 1
        self.counters = Counters(self.folder, f"counters{self.starts}")
        environment = dict(
            opensm_environment(self.pair.simulator, self.pair.topology, self.folder),
            SIM_HOST=self.host, LD_PRELOAD=f"{self.pair.shim} {find_umad2sim()}",
            COUNT_MADS_FILE=self.counters.path, COUNT_MADS_REREGISTER="1",
            COUNT_MADS_REPORTS="1")
        self.process = subprocess.Popen(
            self.command(), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, cwd=self.folder)
        self.log = Log(self.process)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        stop_process(self.process)

    def wait(self, pattern, since=0, timeout=PATIENCE):
        """time.monotonic() when a line of the log from `since` on matched. Raises Ended."""
        deadline = time.monotonic() + timeout
        while self.log.wait(pattern, since, min(timeout, 1)) is None:
            if self.process.poll() is not None:
                raise Ended(f"{self.name} has ended with status {self.process.returncode}")
            if time.monotonic() > deadline:
                raise RunError(f"{self.name}: no {pattern!r} within {timeout:.0f} s; the log ends:"
                               "\n" + "\n".join(self.log.lines[-15:]))
        return time.monotonic()


class Fabricd(Manager):
    MASTER, UP = r"-> MASTER$", r"\bsubnet up$"

    def __init__(self, pair, name, host):
        super().__init__(pair, name, host)
        self.socket = os.path.join(self.folder, "sock")
        self.state = os.path.join(self.folder, "state")
        self.proxies = [etcd.Proxy(client) for client in pair.etcds.clients] if pair.proxies else []
        self.config = os.path.join(self.folder, "fabricd.yaml")
        endpoints = [proxy.address for proxy in self.proxies] or pair.etcds.clients
        with open(self.config, "w", encoding="ascii") as file:
            file.write("store: etcd\netcd: {endpoints: [%s], advertise: 'unix:%s'%s}\n" % (
                ", ".join(f"'{each}'" for each in endpoints), self.socket, pair.etcd_options)
                + pair.config)

    def command(self):
        return [os.path.join(self.pair.bin, "fabricd"), "--config", self.config, "--fabric", "umad",
                "--mode", "manage", "--state-dir", self.state, "--listen", "unix:" + self.socket]

    def ctl(self, *words, timeout=15):
        """fabricctl's exit code, and what it says."""
        done = subprocess.run(
            [os.path.join(self.pair.bin, "fabricctl"), "--server", "unix:" + self.socket,
             "--timeout", f"{timeout}s", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def ask(self, *words):
        """What fabricctl shows as JSON; None where it does not answer."""
        code, text = self.ctl(*words, "-o", "json")
        # A node that is not master says so first.
        return json.loads(text[text.index("{"):]) if code == 0 and "{" in text else None

    def wait_sm(self, holds, what, timeout=PATIENCE):
        """Until that holds of `get sm`."""
        deadline = time.monotonic() + timeout
        while True:
            sm = self.ask("get", "sm")
            if sm is not None and holds(sm):
                return sm
            if time.monotonic() > deadline:
                raise RunError(f"{self.name}: not {what} within {timeout:.0f} s: {sm}\n"
                               + "\n".join(self.log.lines[-15:]))
            time.sleep(0.05)

    @staticmethod
    def is_up(sm):
        """Whether `get sm` is that of a master whose subnet is up."""
        return sm.get("state") == "MASTER" and sm["subnet_up"]

    @staticmethod
    def is_beside(sm):
        """Whether `get sm` is that of one that waits beside the master, and has read the fabric:
        one whose port has no link sweeps itself alone."""
        return sm.get("mode") == "standby" and sm["sweeps_done"] > 0 and sm["switches"] > 0 and \
            sm["phase"] in ("IDLE", "STANDBY")

    def wait_up(self):
        self.wait_sm(self.is_up, "up")

    def wait_beside(self):
        self.wait_sm(self.is_beside, "beside the master")

    def cut(self):
        for proxy in self.proxies:
            proxy.cut()

    def repair(self):
        for proxy in self.proxies:
            proxy.repair()


class OpenSm(Manager):
    MASTER, UP = r"Entering MASTER state", r"SUBNET UP"

    def command(self):
        command = ["/usr/sbin/opensm", "-R", "ftree", "-f", "stdout", "-d", "2"]
        return command + (["-a", self.pair.roots] if self.pair.roots else [])

    def wait_up(self):
        self.wait(self.UP)

    def wait_beside(self):
        self.wait(r"Entering STANDBY state")


KINDS = {"fabricd": Fabricd, "opensm": OpenSm}


class Pair:
    """A fabric with two managers; nothing runs but ibsim and the etcds. `hosts`: names of the nodes
    on which they are. `proxies`: fabricds reach the etcds through an etcd.Proxy each.
    `etcd_options`: further keys of `etcd`, as ", lease: 2s"; `config`: further lines."""

    def __init__(self, kind, folder, net, topology, hosts, *, bin_dir, shim, members=3, roots=None,
                 proxies=False, etcd_options="", config="", ibsim_cpus=""):
        self.folder, self.topology, self.bin, self.shim = folder, topology, bin_dir, shim
        self.roots, self.proxies = roots, proxies
        self.etcd_options, self.config = etcd_options, config
        self.processes, self.etcds = Processes(folder, PATIENCE), None
        self.simulator = Simulator(net, topology, folder, ibsim_cpus)
        self.managers = []
        try:
            if kind == "fabricd":
                self.etcds = etcd.Etcds(members, self.processes.start, self.processes.wait,
                                        stop_process,
                                        lambda name: os.path.join(folder, name))
            self.managers = [KINDS[kind](self, f"head{n}", host) for n, host in enumerate(hosts, 1)]
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for manager in self.managers:
            manager.stop()
        self.processes.stop()
        self.simulator.stop()
