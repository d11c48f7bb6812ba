# SPDX-License-Identifier: Apache-2.0
"""Managers that come, go, stop and meet each other; the device under them that goes."""
import os
import re
import signal
import time

from guest import Failure, text_of, wait_for
from scenarios.ports import TREE
from scenarios.registry import Breakage, kill, lose_all_of, nothing, scenario

OTHER = {"fabricd": "opensm", "opensm": "fabricd"}


def is_sm(guest, hca):
    return int(guest.port(hca, "cap_mask"), 16) & 2 != 0


@scenario(Breakage(kill("second"), "all ports have simib1's LID"))
def killed_manager(guest):
    """kill -9 of the subnet manager: the kernel clears IsSM, and another one on simib1 takes over."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    guest.start_standby(1)
    guest.breakage_point()
    guest.stop("sm", 9)
    wait_for(lambda: not is_sm(guest, 0), "IsSM is cleared", 2)
    guest.facts["takeover_s"] = guest.wait_for_master(1)


@scenario(Breakage(lose_all_of(0), "one master and one standby"))
def stopped_manager(guest):
    """A manager is stopped (SIGSTOP), the standby takes over; it continues: one of them is the master."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    guest.start_standby(1)
    guest.processes["sm"].send_signal(signal.SIGSTOP)
    guest.facts["takeover_s"] = guest.wait_for_master(1)
    guest.breakage_point()
    guest.processes["sm"].send_signal(signal.SIGCONT)
    guest.facts["agreed_s"] = wait_for(lambda: roles(guest) == ["MASTER", "STANDBY"],
                                        "one master and one standby", 60)
    time.sleep(2)
    found = roles(guest)
    if found != ["MASTER", "STANDBY"]:
        raise Failure(f"one master and one standby did not last: {found}")
    if len({guest.port(hca, "sm_lid") for hca in range(3)}) != 1:
        raise Failure("the ports have different masters")


def roles(guest):
    """What simib2 reads from the managers on simib0 and simib1."""
    return sorted(guest.sm_state(hca) for hca in (0, 1))


@scenario(Breakage(kill("second"), "all ports have simib1's LID"))
def handover_to_other(guest):
    """The other kind of manager comes with a higher priority: it becomes master, this one STANDBY."""
    _hand_over(guest, guest.manager, OTHER[guest.manager])


@scenario(Breakage(kill("second"), "all ports have simib1's LID"))
def handover_from_other(guest):
    """The other kind of manager is master, this one comes with a higher priority and becomes master."""
    _hand_over(guest, OTHER[guest.manager], guest.manager)


def _hand_over(guest, first, second):
    guest.plug_in(TREE)
    guest.start_manager(0, "sm", first, priority=3)
    guest.wait_for_state("ACTIVE")
    guest.start_manager(1, "second", second, priority=10)
    guest.breakage_point()
    guest.facts["handover_s"] = guest.wait_for_master(1)
    guest.facts["standby_s"] = wait_for(lambda: guest.sm_state(0) == "STANDBY", "the first is STANDBY",
                                        60)


@scenario(Breakage(nothing, "says that issm is taken"))
def issm_taken(guest):
    """Another process holds issm: the manager says so, and manages the subnet once it is free."""
    guest.plug_in(TREE)
    holder = None if guest.is_broken else os.open("/dev/infiniband/issm0", os.O_RDONLY)
    process = guest.start_manager()
    wait_for(lambda: re.search("issm.*(held by another process|unavailable)",
                               guest.manager_log()), "the manager says that issm is taken", 10)
    os.close(holder)
    time.sleep(1)
    guest.facts["still_runs"] = float(process.poll() is None)
    if process.poll() is not None:  # As systemd does.
        guest.start_manager(name="again")
    guest.facts["active_s"] = guest.wait_for_state("ACTIVE")
    guest.facts["is_sm_s"] = wait_for(lambda: is_sm(guest, 0), "IsSM of simib0")


@scenario(Breakage(kill("sm"), "ACTIVE on HCAs"),
          fails={"opensm": "the device that is gone is not opened again"})
def driver_reset(guest):
    """The driver of the manager's own HCA resets: a fatal event, the device goes and comes back."""
    guest.plug_in(TREE)
    process = guest.start_manager()
    guest.wait_for_state("ACTIVE")
    guest.breakage_point()
    guest.console("fatal 0")
    guest.remove(0)
    guest.add(0)
    time.sleep(1)
    if process.poll() not in (None, -9):  # It may end, with a word about it: systemd starts it again.
        guest.start_manager(name="again", state="sm")
    guest.facts["active_again_s"] = guest.wait_for_state("ACTIVE")
    guest.facts["ended_itself"] = float(process.poll() is not None)


@scenario(Breakage(lose_all_of(2), "the counters of simib2"))
def sm_port_moves(guest):
    """The cable of the manager's own port is pulled and put back: the subnet is managed again."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    node, port = guest.place_of(0)
    guest.console(f"unlink {node} {port}")
    guest.wait_for_state("DOWN", [0], 1)
    guest.console(f"link {node} {port}")
    guest.facts["active_again_s"] = guest.wait_for_state("ACTIVE", [0])
    guest.breakage_point()
    lid = int(guest.port(2, "lid"), 16)
    wait_for(lambda: "PortXmitData" in text_of("perfquery", "-C", "simib0", lid, 1),
             "the counters of simib2 are read", 10)
