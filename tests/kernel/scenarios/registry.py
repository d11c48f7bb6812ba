# SPDX-License-Identifier: Apache-2.0
"""What tools/kernel-test knows of a scenario, and the breakages that several of them share.

A scenario is a function of the Guest. It calls guest.breakage_point() where its breakage is to happen:
nothing in an ordinary run. With --break the breakage is carried out there, and the scenario must fail
with an error that matches the breakage's reason: it checks what it says it checks.
"""
import ctypes
import dataclasses
import os
import typing

from guest import Failure, Guest

SYS_PIDFD_GETFD = 438


@dataclasses.dataclass(frozen=True)
class Breakage:
    """What makes a scenario fail, and what its error must say then (a regular expression)."""
    act: typing.Callable[[Guest], None]
    reason: str


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One entry of the registry."""
    name: str
    run: typing.Callable[[Guest], None]
    breakages: tuple
    quick: bool
    seconds: int  # A guest that runs for longer is ended; times the slowness of the vehicle.
    fails: dict  # By manager: why it cannot pass yet.
    topology: str | None  # Of the fabric that is served outside to several kernels.
    direct: typing.Callable | None  # What happens to those from outside: a function of Machines.

    @property
    def summary(self):
        return self.run.__doc__.splitlines()[0]


ALL = {}


def scenario(*breakages, quick=False, fails=None, topology=None, direct=None):
    """Enters a function under its name, with dashes. With `direct`, two kernels run it on one fabric."""
    def enter(function):
        name = function.__name__.replace("_", "-")
        ALL[name] = Scenario(name, function, breakages, quick, 60 if quick else 180, fails or {},
                             topology, direct)
        return function
    return enter


# ---- breakages

def console(line):
    """A command of the fabric's console."""
    return lambda guest: guest.console(line)


def lose(hca, probability):
    """The cable of that HCA loses each packet with that probability."""
    def act(guest):
        node, port = guest.place_of(hca)
        guest.console(f"loss {node} {port} {probability}")
    return act


def lose_all_of(hca):
    return lose(hca, 1)


def nothing(_guest):
    """For scenarios that do something wrong themselves where guest.is_broken."""


def kill(name):
    """kill -9 of a program that was started."""
    return lambda guest: guest.stop(name, 9)


def log_a_warning(_guest):
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write("WARNING: kernel-test: written by the breakage\n")


def hold_the_wire(guest):
    """This process gets the fabric's open /dev/simib and keeps it: the module stays in use."""
    pid = guest.processes["fabric"].pid
    number = next((name for name in os.listdir(f"/proc/{pid}/fd")
                   if os.readlink(f"/proc/{pid}/fd/{name}") == "/dev/simib"), None)
    libc = ctypes.CDLL(None, use_errno=True)
    if number is None or libc.syscall(SYS_PIDFD_GETFD, os.pidfd_open(pid), int(number), 0) < 0:
        raise Failure("the fabric's device cannot be had")
