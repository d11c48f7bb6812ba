# SPDX-License-Identifier: Apache-2.0
"""Ports and HCAs: they come up, go and come back, and are read."""
import re

from guest import Failure, run, text_of, wait_for
from scenarios.registry import (Breakage, hold_the_wire, kill, log_a_warning, lose_all_of, nothing,
                                scenario)

TREE = "fat-tree:radix=8,levels=2"


@scenario(Breakage(lose_all_of(2), "ACTIVE on HCAs"),
          Breakage(log_a_warning, "kernel log: .*written by the breakage"),
          Breakage(hold_the_wire, "rmmod simib"), quick=True)
def bring_up(guest):
    """3 HCAs: all ports are ACTIVE, have LIDs of their own, and know the subnet manager's."""
    guest.plug_in(TREE)
    guest.wait_for_state("INIT")
    guest.breakage_point()
    guest.start_manager()
    guest.facts["active_s"] = guest.wait_for_state("ACTIVE")
    lids = {guest.port(hca, "lid") for hca in range(3)}
    if len(lids) != 3 or "0x0" in lids:
        raise Failure(f"LIDs {sorted(lids)}")
    managers = {guest.port(hca, "sm_lid") for hca in range(3)}
    if managers != {guest.port(0, "lid")}:
        raise Failure(f"SM LIDs {managers}, the SM has {guest.port(0, 'lid')}")


@scenario(Breakage(kill("sm"), r"ACTIVE on HCAs \[1\]"), quick=True)
def cable(guest):
    """A cable is pulled: its port is DOWN; it is put back: ACTIVE again without being asked."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    node, port = guest.place_of(1)
    guest.console(f"unlink {node} {port}")
    guest.wait_for_state("DOWN", [1], 1)
    guest.breakage_point()
    guest.console(f"link {node} {port}")
    guest.facts["active_again_s"] = guest.wait_for_state("ACTIVE", [1])


@scenario(Breakage(kill("sm"), r"ACTIVE on HCAs \[2\]"))
def removed_hca(guest):
    """An HCA is removed from the running kernel and comes back: its port is ACTIVE again."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    guest.remove(2)
    guest.breakage_point()
    guest.add(2)
    guest.facts["active_again_s"] = guest.wait_for_state("ACTIVE", [2])


@scenario(Breakage(nothing, "7 symbol errors of LID"))
def diagnostics(guest):
    """The tools of infiniband-diags: nodes, path records and counters as they are, over the wire too."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    found = run("ibnetdiscover", "-C", "simib1")
    for hca in range(3):
        if f"simib{hca}" not in found:
            raise Failure(f"ibnetdiscover finds no simib{hca}:\n{found}")
    lid = int(guest.port(2, "lid"), 16)
    guest.console(f"count {1 if guest.is_broken else 2} 1 0 7")
    counters = text_of("perfquery", "-C", "simib0", lid, 1)
    if not re.search(r"SymbolErrorCounter:\.*7\b", counters):
        raise Failure(f"7 symbol errors of LID {lid}:\n{counters}")
    own = int(guest.port(1, "lid"), 16)
    path = text_of("saquery", "-C", "simib1", "--src-to-dst", f"{own}:{lid}")
    if not re.search(rf"dlid\.+{lid}\b", path):
        raise Failure(f"no path record {own}:{lid}:\n{path}")


@scenario(Breakage(lose_all_of(1), "logs trap 129"))
def port_traps(guest):
    """Traps 129-131 of an HCA reach the subnet manager."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    guest.breakage_point()
    for number in (129, 130, 131):
        guest.console(f"trap 1 1 {number}")
        wait_for_trap(guest, number)


def wait_for_trap(guest, number):
    """As either manager logs it."""
    return wait_for(lambda: re.search(rf"trap {number}( from|:)|num:{number} ", guest.manager_log()),
                    f"the subnet manager logs trap {number}", 5)


@scenario(Breakage(lose_all_of(0), "logs trap 128"))
def switch_trap(guest):
    """Trap 128 of the switch that a cable is pulled from reaches the subnet manager."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    guest.breakage_point()
    node, port = guest.place_of(2)
    guest.console(f"unlink {node} {port}")
    guest.facts["trap_s"] = wait_for_trap(guest, 128)


@scenario(Breakage(nothing, "logs trap 259"))
def switch_p_key_trap(guest):
    """A packet of a partition that its receiver is not in ends at the switch, which sends trap 259."""
    guest.plug_in(TREE)
    members = "ALL=full" if guest.is_broken else f"{guest.guid(1)}=full"
    guest.start_manager(partitions=f"Default=0x7fff, ipoib: ALL=full;\np1=0x1: {members};\n")
    guest.wait_for_state("ACTIVE")
    wait_for(lambda: "0x8001" in guest.pkeys(1), "P_Key 0x8001 of simib1")
    index = guest.pkeys(1).index("0x8001")
    result = guest.umad(1, int(guest.port(2, "lid"), 16), "counters", index)
    if not guest.is_broken and not result["error"]:
        raise Failure("simib2 of another partition answers")
    guest.facts["trap_s"] = wait_for_trap(guest, 259)


@scenario(Breakage(lose_all_of(63), "ACTIVE on HCAs"))
def many(guest):
    """64 HCAs: all ports are ACTIVE."""
    guest.plug_in("fat-tree:radix=16,levels=2", 64)
    guest.breakage_point()
    guest.start_manager()
    guest.facts["active_s"] = guest.wait_for_state("ACTIVE", seconds=60)
