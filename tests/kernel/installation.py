#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/package-test --systemd: the packages of build/packages/ on a Debian that boots systemd, under
QEMU, with virtual HCAs (kernel/) on a simulated fabric. What is checked there is
installation_guest.sh, in the order of its functions; it reports to the run directory,
build/package-test/, that both sides see, with the guest's journal and console.

The disk is made by debootstrap from the distribution's packages and kept in
${XDG_CACHE_HOME:-~/.cache}/fabricd/systemd by a hash of what is on it; a run changes a copy-on-write
layer. Our own packages come by the run directory, so a rebuild of them needs no new disk.

  --break        runs each check with a breakage, with which it must fail, before it runs it without
  --until CHECK  ends after that one
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import vehicle as vehicles

HERE = pathlib.Path(__file__).resolve().parent
ROOT = vehicles.ROOT
RUN = ROOT / "build/package-test"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "fabricd/systemd"
SECONDS = 1500  # Of a whole run: a guest that hangs is ended. With breakages three times that.
HOST_PACKAGES = ("debootstrap", "e2fsprogs", "python3")
# The guest's own, and what opensm's package needs; that package is installed by a check.
BASE = ("systemd", "systemd-sysv", "udev", "dbus", "kmod", "rdma-core", "infiniband-diags",
        "libopensm9", "libosmcomp5", "libosmvendor5", "libwrap0", "lsb-base")
UNIT = """[Unit]
Description=Checks of the packages
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=exec
Environment=LC_ALL=C.UTF-8
ExecStartPre=/bin/sh -c 'mkdir -p /host && mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 run /host'
ExecStart=/bin/bash /host/installation_guest.sh
StandardOutput=journal+console

[Install]
WantedBy=multi-user.target
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def output(*command):
    return run(*command, stdout=subprocess.PIPE, text=True).stdout.strip()


def real(name):
    """The package that provides a name that is none: debootstrap knows packages only."""
    _, _, providers = output("apt-cache", "showpkg", name).partition("Reverse Provides:")
    is_package = "Package: " in output("apt-cache", "show", "--no-all-versions", name)
    return name if is_package else providers.split()[0]


def dependencies(packages):
    """What our packages need of the distribution: the first of each group of alternatives."""
    names = set()
    for package in packages:
        for group in output("dpkg-deb", "-f", package, "Depends").split(","):
            names.add(re.split(r"[ (|:]", group.strip())[0])
    own = {output("dpkg-deb", "-f", package, "Package").strip() for package in packages}
    return {real(name) for name in names - own - {""}}


def make_disk(target, names):
    """A bare Debian with these packages, whose systemd runs the checks and powers off."""
    scratch = target.with_name(f"{target.name}.building.{os.getpid()}")
    tree = scratch / "root"
    print(f"tools/package-test: making {target} (minutes)", flush=True)
    try:
        tree.mkdir(parents=True)
        with open(scratch / "log", "wb") as log:
            done = subprocess.run(["debootstrap", "--variant=minbase", f"--include={','.join(sorted(names))}",
                                   "bookworm", str(tree)], stdout=log, stderr=log, check=False)
        if done.returncode != 0:
            print((scratch / "log").read_text(errors="replace")[-1000:], file=sys.stderr)
            sys.exit("tools/package-test: debootstrap failed")
        (tree / "packages").mkdir()
        run("apt-get", "-q", "download", "opensm", cwd=tree / "packages", stdout=subprocess.DEVNULL)
        (tree / "etc/systemd/system/package-test.service").write_text(UNIT)
        run("chroot", tree, "systemctl", "enable", "package-test.service")
        shutil.rmtree(tree / "var/cache/apt")
        (tree / "etc/hostname").write_text("guest\n")
        run("mke2fs", "-q", "-t", "ext4", "-E", "root_owner=0:0", "-d", tree, scratch / "disk", "3G")
        (scratch / "disk").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for old in CACHE.glob("*.img"):
        if old != target:
            old.unlink()


def disk_for(packages):
    names = dependencies(packages) | set(BASE)
    key = hashlib.sha256("\n".join([*sorted(names), UNIT]).encode()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    disk = CACHE / f"{key}.img"
    if not disk.exists():
        make_disk(disk, names)
    return disk


def newer(package, directory):
    """The same package with a higher version, and its own maintainer scripts."""
    tree = directory / "tree"
    run("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1.1", control.read_text(), count=1))
    run("dpkg-deb", "-b", tree, directory / package.name, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


def prepare(packages, module, arguments):
    shutil.rmtree(RUN, ignore_errors=True)
    for name in ("packages", "newer"):
        (RUN / name).mkdir(parents=True)
    for package in packages:
        shutil.copy(package, RUN / "packages")
    newer(next(p for p in packages if p.name.startswith("fabricd_")), RUN / "newer")
    shutil.copy(module, RUN)
    for name in ("installation_guest.sh", "installation_breakages.sh"):
        shutil.copy(HERE / name, RUN)
    if arguments.broken:
        (RUN / "break").touch()
    (RUN / "until").write_text(arguments.until)


def boot(vehicle, disk, seconds):
    """False where the guest had to be ended."""
    command = vehicle.command(RUN, ["/sbin/init"], disk=disk)
    with open(RUN / "console.log", "wb") as console:
        guest = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                 stdout=console, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            guest.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            os.killpg(guest.pid, 9)
            guest.wait()
            return False


def main():
    parser = argparse.ArgumentParser(prog="tools/package-test --systemd", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--break", dest="broken", action="store_true")
    parser.add_argument("--until", metavar="CHECK", default="")
    arguments = parser.parse_args()
    seconds = 3 * SECONDS if arguments.broken else SECONDS
    packages = sorted((ROOT / "build/packages").glob("*.deb"))
    if not packages:
        sys.exit("tools/package-test: no packages; run tools/package")
    if os.geteuid() != 0:
        sys.exit("tools/package-test: needs root")
    vehicles.need(*HOST_PACKAGES)
    vehicle, module = vehicles.prepare(vehicles.Qemu)
    disk = disk_for(packages)
    prepare(packages, module, arguments)
    ended = boot(vehicle, disk, seconds)
    results = RUN / "results"
    text = results.read_text(errors="replace") if results.exists() else ""
    print(text, end="")
    if not ended:
        print(f"FAIL  the guest ran for more than {seconds} s")
    elif not text.endswith("end\n"):
        print("FAIL  the guest died")
    good = ended and text.endswith("end\n") and "FAIL" not in text
    if not good:
        print(f"logs: {RUN.relative_to(ROOT)}/ (journal, console.log)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
