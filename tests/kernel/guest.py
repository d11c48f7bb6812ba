# SPDX-License-Identifier: Apache-2.0
"""What a scenario of tools/kernel-test works with, inside the guest kernel: the module, the simulated
fabric behind it, a subnet manager, namespaces. As init: guest.py VEHICLE SCENARIO SM RUN_DIRECTORY
MODULE [broken].

The guest's root is the host's, read-only; only the run directory is shared for writing. There the
result is left (result.json) with the logs of all programs.
"""
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

import vehicle

BIN = pathlib.Path(__file__).resolve().parents[2] / "build/bin"
POWER_OFF = 0x4321FEDC
WAIT_SECONDS = 20.0
slowness = 1  # Of the vehicle: all timeouts are multiplied by it.


class Failure(Exception):
    """The scenario found what it must not find."""


def wait_for(condition, what, seconds=WAIT_SECONDS):
    """Seconds until condition() was true; Failure if it never was."""
    start = time.monotonic()
    seconds *= slowness
    while not condition():
        if time.monotonic() - start > seconds:
            raise Failure(f"not within {seconds:g} s: {what}")
        time.sleep(0.01)
    return time.monotonic() - start


def run(*command, **options):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stdout.strip()}")
    return done.stdout


def text_of(*command):
    """The same, or nothing where the command fails."""
    try:
        return run(*command)
    except Failure:
        return ""


class Guest:
    """The machine, with all that a scenario has started on it."""

    def __init__(self, manager, directory, module, is_broken):
        self.manager, self.directory, self.module = manager, pathlib.Path(directory), module
        self.is_broken = is_broken  # The cable of the last HCA loses every packet.
        self.processes = {}
        self.facts = {}  # What the report shows of a scenario that passed.
        self.hcas = 0

    # ---- programs
    def start(self, name, *command, **options):
        log = open(self.directory / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen([str(word) for word in command], stdout=log,
                                                stderr=subprocess.STDOUT,
                                                stdin=subprocess.DEVNULL, **options)
        return self.processes[name]

    def stop(self, name, sig=signal.SIGTERM):
        """Ends a program and returns its exit code."""
        process = self.processes.pop(name)
        if process.poll() is None:
            process.send_signal(sig)
        try:
            return process.wait(10 * slowness)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failure(f"{name} did not end within {10 * slowness} s of signal {sig}") from None

    def log(self, name):
        return (self.directory / f"{name}.log").read_text(errors="replace")

    # ---- HCAs and the fabric
    def plug_in(self, topology, hcas=3, ports=1):
        """Loads the module and serves it a fabric."""
        self.hcas = hcas
        run("insmod", self.module, f"hcas={hcas}", f"ports={ports}")
        os.mkfifo("/tmp/console")
        self.start("fabric", BIN / "fabricsim", "serve", topology, "--kernel", "/dev/simib",
                   "--console", "/tmp/console")
        wait_for(lambda: f"simib{hcas - 1} port 1 sits on" in self.log("fabric"),
                 "the fabric serves the module")
        if self.is_broken:
            node, port = self.place_of(hcas - 1)
            self.console(f"loss {node} {port} 1")

    def console(self, line):
        """A command of `fabricsim serve`, carried out when this returns."""
        before = self.log("fabric").count("console: ")
        with open("/tmp/console", "w", encoding="ascii") as console:
            console.write(line + "\n")
        wait_for(lambda: self.log("fabric").count("console: ") > before, f"console: {line}")
        if not self.log("fabric").rstrip().splitlines()[-1].endswith(": done"):
            raise Failure(f"console: {self.log('fabric').rstrip().splitlines()[-1]}")

    def place_of(self, hca):
        """Description and port of the host that an HCA sits on."""
        for line in self.log("fabric").splitlines():
            if f"simib{hca} port 1 sits on" in line:
                return line.split("'")[1], int(line.rsplit(" ", 1)[1])
        raise Failure(f"simib{hca} sits nowhere")

    def port(self, hca, attribute, number=1):
        path = pathlib.Path(f"/sys/class/infiniband/simib{hca}/ports/{number}/{attribute}")
        return path.read_text().strip()

    def state(self, hca, number=1):
        return self.port(hca, "state", number).split(": ")[1]

    def wait_for_state(self, state, hcas=None, seconds=WAIT_SECONDS):
        """Seconds until the first port of each of these HCAs (all of them) had that state."""
        hcas = range(self.hcas) if hcas is None else hcas
        return wait_for(lambda: all(self.state(hca) == state for hca in hcas),
                        f"{state} on HCAs {list(hcas)}", seconds)

    # ---- subnet managers
    def start_manager(self, hca=0, name="sm", manager=None, **options):
        if (manager or self.manager) == "opensm":
            guid = self.port(hca, "gids/0").replace(":", "")[16:]
            environment = dict(os.environ, OSM_TMP_DIR="/tmp", OSM_CACHE_DIR="/tmp")
            return self.start(name, "opensm", "-g", f"0x{guid}", "-f",
                              self.directory / f"{name}-opensm.log", env=environment, **options)
        return self.start(name, BIN / "fabricd", "--fabric", f"umad:simib{hca}:1", "--mode", "manage",
                          "--state-dir", f"/tmp/state-{name}", "--listen", f"unix:/tmp/{name}.sock",
                          **options)

    def manager_log(self, name="sm"):
        own = self.directory / f"{name}-opensm.log"
        return self.log(name) + (own.read_text(errors="replace") if own.exists() else "")

    # ---- namespaces, one HCA each
    def isolate(self, hca, name, address):
        """Moves an HCA and its IPoIB device into a namespace of its own."""
        run("ip", "netns", "add", name)
        run("rdma", "dev", "set", f"simib{hca}", "netns", name)
        device = self.ipoib_device(hca)
        run("ip", "link", "set", device, "netns", name)
        inside = ("ip", "netns", "exec", name)
        run(*inside, "ip", "addr", "add", f"{address}/24", "dev", device)
        run(*inside, "ip", "link", "set", device, "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        return inside

    def ipoib_device(self, hca):
        guid = f"{0x0253490000000000 + 16 * hca + 1:016x}"
        wanted = ":".join(guid[i:i + 2] for i in range(0, 16, 2))
        found = []

        def is_there():
            for path in pathlib.Path("/sys/class/net").glob("ib*/address"):
                if path.read_text().strip().endswith(wanted):
                    found.append(path.parent.name)
            return found

        wait_for(is_there, f"an IPoIB device of simib{hca}")
        return found[0]

    # ---- the end
    def unplug(self):
        """Stops what runs and takes the module out; what is left then is a leak."""
        for name in [name for name in self.processes if name != "fabric"]:
            self.stop(name)
        if "fabric" in self.processes:
            code = self.stop("fabric")
            if code != 0:
                raise Failure(f"fabricsim serve ended with {code}")
        for path in pathlib.Path("/run/netns").glob("*"):
            run("ip", "netns", "delete", path.name)
        if os.path.exists("/sys/module/simib"):
            wait_for(lambda: subprocess.run(["rmmod", "simib"], check=False,
                                            stderr=subprocess.DEVNULL).returncode == 0,
                     "rmmod simib", 10)


def prepare(kind_of_vehicle, directory):
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp"), ("tmpfs", "/run"),
                        ("tmpfs", "/var/log")):
        subprocess.run(["mount", "-t", kind, kind, where], check=True)
    if not os.path.exists("/dev/null"):
        subprocess.run(["mount", "-t", "devtmpfs", "dev", "/dev"], check=True)
    kind_of_vehicle.share(directory)
    # Without verbs for programs, libibverbs has the kernel look for a module for each HCA, at 60 ms.
    pathlib.Path("/proc/sys/kernel/modprobe").write_text("\n", encoding="ascii")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def perform(scenario, manager, directory, module, is_broken):
    """Runs one scenario; its result as the report wants it."""
    import scenarios  # pylint: disable=import-outside-toplevel
    guest = Guest(manager, directory, module, is_broken)
    start = time.monotonic()
    error = None
    try:
        getattr(scenarios, scenario.replace("-", "_"))(guest)
        guest.unplug()
    except Failure as failure:
        error = str(failure)
    except Exception:  # pylint: disable=broad-except
        error = traceback.format_exc()
    return {"error": error, "seconds": time.monotonic() - start, "facts": guest.facts}


def main():
    global slowness  # pylint: disable=global-statement
    kind = vehicle.ALL[sys.argv[1]]
    slowness = kind.SLOWNESS
    scenario, manager, directory, module = sys.argv[2:6]
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/tmp", LC_ALL="C.UTF-8")
    prepare(kind, directory)
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write("kernel-test: the scenario begins\n")
    result = perform(scenario, manager, directory, module, "broken" in sys.argv[6:])
    with open(os.path.join(directory, "kernel.log"), "w", encoding="utf-8") as log:
        log.write(subprocess.run(["dmesg"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    with open(os.path.join(directory, "result.json"), "w", encoding="utf-8") as out:
        json.dump(result, out)
    ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    main()
