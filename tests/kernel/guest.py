# SPDX-License-Identifier: Apache-2.0
"""What a scenario of tools/kernel-test works with, inside the guest kernel: the module, the simulated
fabric behind it, a subnet manager, namespaces. As init: guest.py VEHICLE SCENARIO SM RUN_DIRECTORY
MODULE BREAKAGE KERNEL, the number of the breakage or -, that of this kernel in the scenario.

The guest's root is the host's, read-only; only the run directory is shared for writing. There the
result is left (result.json) with the logs of all programs.
"""
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import traceback

import managers
import vehicle

GUID_BASE = 0x0253490000000000  # As the module has it.
UMAD = pathlib.Path(__file__).resolve().parent / "umad.py"
POWER_OFF = 0x4321FEDC
MS_BIND = 0x1000
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


def inside(namespace):
    """What a command begins with that is to run there."""
    return "ip", "netns", "exec", namespace


class Guest:
    """The machine, with all that a scenario has started on it."""

    def __init__(self, manager, directory, module, breakage=None, kernel=0):
        self.manager, self.directory, self.module = manager, pathlib.Path(directory), module
        self.kernel = kernel  # Its number where several share a fabric.
        self.is_broken = breakage is not None
        self.breakage = breakage  # A registry.Breakage, or None.
        self.processes = {}
        self.facts = {}  # What the report shows of a scenario that passed.
        self.hcas = range(0)  # Of this kernel.
        self.namespaces = {}  # Of the HCAs that are not in the first one.
        self.replaced = {}  # Node GUIDs of HCAs that replaced others.

    def breakage_point(self):
        """Here the scenario's breakage happens, if it is to be broken."""
        if self.breakage:
            self.breakage.act(self)

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
    def plug_in(self, topology, hcas=3, ports=1, places=None):
        """Loads the module and serves it a fabric; places: {HCA: name of the host it sits on}."""
        self.hcas = range(hcas)
        run("insmod", self.module, f"hcas={hcas}", f"ports={ports}")
        os.mkfifo("/tmp/console")
        self.start("fabric", managers.BIN / "fabricsim", "serve", topology, "--kernel", "/dev/simib",
                   "--console", "/tmp/console",
                   *(word for hca, host in (places or {}).items() for word in ("--place", f"{hca}={host}")))
        wait_for(lambda: f"simib{hcas - 1} port 1 sits on" in self.log("fabric"),
                 "the fabric serves the module")

    def join_fabric(self, hcas):
        """Loads the module for one of several kernels. Their fabric is served outside; each has as many
        HCAs, kernel 1 begins with the number behind kernel 0's last."""
        first = self.kernel * hcas
        self.hcas = range(first, first + hcas)
        run("insmod", self.module, f"hcas={hcas}", f"first={first}")
        self.start("fabric", managers.BIN / "fabricsim", "relay", "/dev/simib", vehicle.Qemu.stream())
        wait_for(lambda: all(self.state(hca) != "DOWN" for hca in self.hcas), "links come up")

    def say(self, word):
        """To the part of the scenario that runs outside, with several kernels."""
        with open(self.directory / "said", "a", encoding="ascii") as said:
            said.write(f"{word}\n")

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
        path = f"/sys/class/infiniband/simib{hca}/ports/{number}/{attribute}"
        if hca in self.namespaces:
            return run(*inside(self.namespaces[hca]), "cat", path).strip()
        return pathlib.Path(path).read_text().strip()

    def state(self, hca, number=1):
        return self.port(hca, "state", number).split(": ")[1]

    def wait_for_state(self, state, hcas=None, seconds=WAIT_SECONDS):
        """Seconds until the first port of each of these HCAs (all of them) had that state."""
        hcas = self.hcas if hcas is None else hcas
        return wait_for(lambda: all(self.state(hca) == state for hca in hcas),
                        f"{state} on HCAs {list(hcas)}", seconds)

    def guid(self, hca):
        """The GUID of its first port."""
        return f"{self.replaced.get(hca, GUID_BASE + 16 * hca) + 1:#018x}"

    def exists(self, hca):
        """Where the HCA is: a class of sysfs shows each namespace its own devices."""
        path = f"/sys/class/infiniband/simib{hca}"
        if hca in self.namespaces:
            return text_of(*inside(self.namespaces[hca]), "ls", "-d", path) != ""
        return os.path.exists(path)

    def remove(self, hca):
        """Unplugs an HCA; seconds until the kernel has let it go. The next one is in the first namespace."""
        self.console(f"remove {hca}")
        seconds = wait_for(lambda: not self.exists(hca), f"simib{hca} is gone")
        self.namespaces.pop(hca, None)
        return seconds

    def add(self, hca, node_guid=None):
        """Plugs in what was removed, or another one with that GUID in its place."""
        self.console(f"replace {hca} {node_guid:#x}" if node_guid else f"add {hca}")
        if node_guid:
            self.replaced[hca] = node_guid
        wait_for(lambda: self.exists(hca), f"simib{hca} is back")

    def umad(self, hca, lid, *words):
        """What tests/kernel/umad.py prints, as a value."""
        return json.loads(run("python3", UMAD, hca, lid, *words).splitlines()[-1])

    def pkeys(self, hca):
        """The table of its first port."""
        folder = pathlib.Path(f"/sys/class/infiniband/simib{hca}/ports/1/pkeys")
        return [(folder / str(index)).read_text().strip() for index in range(len(list(folder.iterdir())))]

    # ---- subnet managers
    def start_manager(self, hca=0, name="sm", manager=None, state=None, **settings):
        """state: the name whose durable state it goes on with. Settings: see managers.py."""
        options = managers.Options(self, hca, name, state or name, settings)
        make = managers.opensm if (manager or self.manager) == "opensm" else managers.fabricd
        command, environment = make(options)
        return self.start(name, *command, env=dict(os.environ, **environment))

    def start_standby(self, hca):
        self.start_manager(hca, "second")
        wait_for(lambda: self.sm_state(hca) == "STANDBY", "the second manager is STANDBY", 60)

    def sm_state(self, hca):
        """What another HCA reads: MASTER, STANDBY, …; empty without an answer."""
        requester = max(i for i in self.hcas if i != hca and i not in self.namespaces)
        lid = int(self.port(hca, "lid"), 16)
        found = re.search(r"SMINFO_(\w+)", text_of("sminfo", "-C", f"simib{requester}", lid))
        return found.group(1) if found else ""

    def wait_for_master(self, hca, seconds=100):
        """Seconds until all ports had that HCA's LID as their SM's."""
        def is_master():
            own = self.port(hca, "lid")  # It may get another one.
            return all(self.port(i, "sm_lid") == own for i in self.hcas)

        return wait_for(is_master, f"all ports have simib{hca}'s LID as their SM's", seconds)

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
        self.namespaces[hca] = name
        run(*inside(name), "ip", "addr", "add", f"{address}/24", "dev", device)
        run(*inside(name), "ip", "link", "set", device, "up")
        run(*inside(name), "ip", "link", "set", "lo", "up")
        return inside(name)

    def ipoib_device(self, hca):
        guid = self.guid(hca).removeprefix("0x")
        wanted = ":".join(guid[i:i + 2] for i in range(0, 16, 2))
        found = []

        def is_there():
            for path in pathlib.Path("/sys/class/net").glob("ib*/address"):
                if path.read_text().strip().endswith(wanted):
                    found.append(path.parent.name)
            return found

        wait_for(is_there, f"an IPoIB device of simib{hca}")
        return found[0]

    # ---- cables between switches
    def first_cable(self, from_lid, to_lid):
        """The switch and port by which packets leave the first switch between two LIDs."""
        text = run("ibtracert", "-C", "simib0", from_lid, to_lid)
        hops = re.findall(r"\[(\d+)\] -> (\w+) port \{0x(\w+)\}\[(\d+)\]", text)
        if len(hops) < 3:
            raise Failure(f"no cable between switches:\n{text}")
        return f"0x{hops[0][2]}", int(hops[1][0])

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


def hide(folders, keep):
    """Mounts an empty, writable file system over each folder. Trees of the host below one of them stay
    where they are, read-only."""
    libc = ctypes.CDLL(None, use_errno=True)
    kept = {path: os.open(path, os.O_PATH) for path in keep
            if any(pathlib.Path(path).is_relative_to(folder) for folder in folders)}
    for folder in folders:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    for path, handle in kept.items():
        os.makedirs(path, exist_ok=True)
        # mount(8) would look for the name of the handle, which is hidden now.
        if libc.mount(f"/proc/self/fd/{handle}".encode(), os.fsencode(path), None, MS_BIND, None) != 0:
            raise OSError(ctypes.get_errno(), f"bind mount of {path}")
        os.close(handle)


def prepare(kind_of_vehicle, directory, module):
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys")):
        subprocess.run(["mount", "-t", kind, kind, where], check=True)
    hide(("/tmp", "/run", "/var/log"), (vehicle.ROOT, os.path.dirname(module)))
    if not os.path.exists("/dev/null"):
        subprocess.run(["mount", "-t", "devtmpfs", "dev", "/dev"], check=True)
    kind_of_vehicle.share(directory)
    # Without verbs for programs, libibverbs has the kernel look for a module for each HCA, at 60 ms.
    pathlib.Path("/proc/sys/kernel/modprobe").write_text("\n", encoding="ascii")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def perform(scenario, guest):
    """Runs one scenario; its result as the report wants it."""
    start = time.monotonic()
    error = None
    try:
        scenario.run(guest)
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
    name, manager, directory, module, breakage, kernel = sys.argv[2:8]  # User Mode Linux adds its own.
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/tmp", LC_ALL="C.UTF-8")
    prepare(kind, directory, module)
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write("kernel-test: the scenario begins\n")
    from scenarios import ALL  # pylint: disable=import-outside-toplevel
    scenario = ALL[name]
    guest = Guest(manager, directory, module,
                  None if breakage == "-" else scenario.breakages[int(breakage)], int(kernel))
    result = perform(scenario, guest)
    with open(os.path.join(directory, "kernel.log"), "w", encoding="utf-8") as log:
        log.write(subprocess.run(["dmesg"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    with open(os.path.join(directory, "result.json"), "w", encoding="utf-8") as out:
        json.dump(result, out)
    ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    sys.modules["guest"] = sys.modules["__main__"]  # The scenarios import the classes of this program.
    main()
