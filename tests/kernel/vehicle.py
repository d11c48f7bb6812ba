# SPDX-License-Identifier: Apache-2.0
"""What a scenario's guest kernel runs in: User Mode Linux or QEMU. Each has a side on the host
(prepare, command) and one in the guest (share, stream). The guest's root is the host's file system,
read-only; its run directory is the host's."""
import fcntl
import glob
import os
import pathlib
import subprocess
import sys

SKIPPED = 77  # Exit code of tools/kernel-build, and of ours: this machine cannot.
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Uml:
    """A process of the host: one CPU, a kernel with lockdep."""
    NAME = "uml"
    SLOWNESS = 1  # What timeouts are multiplied by.
    # Its serial lines stop to read for good when input comes faster than it is taken.
    HAS_STREAMS = False

    def __init__(self, kernel):
        self.kernel = kernel

    def command(self, directory, program, stream=None):
        del directory  # Reached by the same means as the root.
        assert stream is None
        return [self.kernel / "linux", "mem=512M", "rootfstype=hostfs", "rootflags=/",
                "root=/dev/root", "ro", "quiet", "con=null", "con0=null,fd:1",
                f"init={program[0]}", "--", *program[1:]]

    @staticmethod
    def share(directory):
        """Mounts the run directory, in the guest."""
        subprocess.run(["mount", "-t", "hostfs", "hostfs", directory, "-o", directory], check=True)


class Qemu:
    """Debian's own kernel on an emulated PC with two CPUs."""
    NAME = "qemu"
    SLOWNESS = 4
    HAS_STREAMS = True

    def __init__(self, kernel):
        self.kernel = kernel

    def command(self, directory, program, stream=None, disk=None):
        """stream: a socket of this process, by its number, that the guest has as a character device.
        disk: the root; what is written to it is forgotten. Without, the root is the host's."""
        share = "local,multidevs=remap,security_model=none"
        words = " ".join(str(word) for word in program)
        root = ["-virtfs", f"{share},path=/,mount_tag=root,readonly=on"]
        if disk:
            root = ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on"]
        port = []
        if stream is not None:
            port = ["-device", "virtio-serial", "-chardev", f"socket,id=stream,fd={stream}",
                    "-device", "virtserialport,chardev=stream,name=stream"]
        return ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "Nehalem,+rdrand",
                "-smp", "2", "-m", "1024", "-nodefaults", "-no-user-config", "-no-reboot",
                "-display", "none", "-serial", "stdio",
                "-kernel", self.kernel / "vmlinuz", "-initrd", self.kernel / "initrd.img",
                *root, *port,
                "-virtfs", f"{share},path={directory},mount_tag=run",
                "-append", f"console=ttyS0 quiet panic=-1 mitigations=off "
                f"guest_root={'disk' if disk else 'host'} -- {words}"]

    @staticmethod
    def stream():
        """The path of command()'s stream, in the guest."""
        return glob.glob("/dev/vport*")[0]

    @staticmethod
    def share(directory):
        subprocess.run(["mount", "-t", "9p", "-o", "trans=virtio,version=9p2000.L,msize=512000",
                        "run", directory], check=True)


ALL = {vehicle.NAME: vehicle for vehicle in (Uml, Qemu)}


def need(*packages):
    """Installs what is missing of these; ends the program where that fails."""
    status = subprocess.run([ROOT / "tools/deps", "--only", *packages], check=False).returncode
    if status == SKIPPED:
        print(f"skipped: no package source has all of: {' '.join(packages)}", file=sys.stderr)
    if status != 0:
        raise SystemExit(status)


def hold(entry):
    """Keeps tools/kernel-build from removing this entry of its cache until this program ends. False: it
    is removed already."""
    lock = os.open(f"{entry}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    try:
        return os.path.samestat(os.fstat(lock), os.stat(f"{entry}.lock")) and entry.is_dir()
    except FileNotFoundError:
        return False


def prepare(kind):
    """A vehicle of this class, and the path of the module for its kernel. Builds what is missing;
    ends the program where this machine cannot."""
    while True:
        built = subprocess.run([ROOT / "tools/kernel-build", kind.NAME], stdout=subprocess.PIPE,
                               text=True, check=False)
        if built.returncode != 0:
            raise SystemExit(built.returncode)
        kernel, module = (pathlib.Path(line) for line in built.stdout.split())
        if hold(kernel) and hold(module):
            return kind(kernel), module / "simib.ko"
