# SPDX-License-Identifier: Apache-2.0
"""The scenarios of tools/kernel-test: each a function of the Guest (guest.py), its first line says
what must hold. Names have dashes on the command line. After each the module is taken out and the
kernel's log is checked."""
import json
import pathlib
import re

from guest import Failure, run, text_of, wait_for

TREE = "fat-tree:radix=8,levels=2"
PING = ("ping", "-c", "1", "-W", "1", "10.0.0.2")
CM = pathlib.Path(__file__).with_name("rdma_cm.py")
# What a scenario cannot pass yet, by (scenario, manager): the reason.
EXPECTED_TO_FAIL = {}


def bring_up(guest):
    """3 HCAs: all ports are ACTIVE, have LIDs of their own, and know the subnet manager's."""
    guest.plug_in(TREE)
    guest.wait_for_state("INIT")
    guest.start_manager()
    guest.facts["active_s"] = guest.wait_for_state("ACTIVE")
    lids = {guest.port(hca, "lid") for hca in range(3)}
    if len(lids) != 3 or "0x0" in lids:
        raise Failure(f"LIDs {sorted(lids)}")
    managers = {guest.port(hca, "sm_lid") for hca in range(3)}
    if managers != {guest.port(0, "lid")}:
        raise Failure(f"SM LIDs {managers}, the SM has {guest.port(0, 'lid')}")


def cable(guest):
    """A cable is pulled: its port is DOWN; it is put back: ACTIVE again without being asked."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    node, port = guest.place_of(1)
    guest.console(f"unlink {node} {port}")
    guest.wait_for_state("DOWN", [1], 1)
    guest.console(f"link {node} {port}")
    guest.facts["active_again_s"] = guest.wait_for_state("ACTIVE", [1])


def ping(guest):
    """IPoIB: two namespaces reach each other by ARP, IPv4 and IPv6, and again after a cable fault."""
    guest.plug_in(TREE)
    run("rdma", "system", "set", "netns", "exclusive")
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    inside = guest.isolate(1, "a", "10.0.0.1")
    guest.isolate(2, "b", "10.0.0.2")

    def answers(*options):
        return text_of(*inside, "ping", "-c", "1", "-W", "1", *options)

    guest.facts["first_answer_s"] = wait_for(lambda: answers("10.0.0.2"), "an answer to ping")
    text = run(*inside, "ping", "-i", "0.01", "-c", "100", "10.0.0.2")
    if " 0% packet loss" not in text:
        raise Failure(text)
    guest.facts["round_trip_ms"] = float(re.search(r"= [\d.]+/([\d.]+)/", text).group(1))
    address = re.search(r"inet6 (fe80\S+)/", run("ip", "netns", "exec", "b", "ip", "addr")).group(1)
    device = re.search(r"(ib\d+)", run(*inside, "ip", "-o", "link")).group(1)
    wait_for(lambda: answers("-6", f"{address}%{device}"), "an answer over IPv6")
    node, port = guest.place_of(2)
    guest.console(f"unlink {node} {port}")
    guest.console(f"link {node} {port}")
    guest.facts["answer_after_fault_s"] = wait_for(lambda: answers("10.0.0.2"),
                                                   "an answer after the fault")


def connect(guest):
    """rdma_cm: addresses and routes resolve by the kernel's SA client, and 200 connections at once."""
    guest.plug_in(TREE)
    run("rdma", "system", "set", "netns", "exclusive")
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    inside = guest.isolate(1, "a", "10.0.0.1")
    other = guest.isolate(2, "b", "10.0.0.2")
    wait_for(lambda: " 0% packet loss" in text_of(*inside, *PING), "an answer to ping")
    guest.start("listener", *other, "python3", CM, "listen", "10.0.0.2")
    wait_for(lambda: "listening" in guest.log("listener"), "the listener listens")
    one = json.loads(run(*inside, "python3", CM, "connect", "10.0.0.2"))
    if one["established"] != 1:
        raise Failure(f"one connection: {one}")
    guest.facts["one_ms"] = one["slowest_ms"]
    many = json.loads(run(*inside, "python3", CM, "connect", "10.0.0.2", "200"))
    if many["failed"]:
        raise Failure(f"of 200 connections: {many}")
    guest.facts["slowest_of_200_ms"] = many["slowest_ms"]


def killed_manager(guest):
    """kill -9 of the subnet manager: the kernel clears IsSM, and another one on simib1 takes over."""
    guest.plug_in(TREE)
    guest.start_manager(0, "sm")
    guest.wait_for_state("ACTIVE")
    guest.start_manager(1, "second")
    lid = int(guest.port(1, "lid"), 16)
    wait_for(lambda: "STANDBY" in text_of("sminfo", "-C", "simib2", lid), "the second is on standby", 60)
    guest.stop("sm", 9)
    wait_for(lambda: not _is_sm(guest, 0), "IsSM is cleared", 2)
    own = guest.port(1, "lid")
    guest.facts["takeover_s"] = wait_for(
        lambda: all(guest.port(hca, "sm_lid") == own for hca in range(3)), "the second one's LID", 100)


def _is_sm(guest, hca):
    return int(guest.port(hca, "cap_mask"), 16) & 2 != 0


def removed_hca(guest):
    """An HCA is removed from the running kernel and comes back: its port is ACTIVE again."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    guest.console("remove 2")
    device = pathlib.Path("/sys/class/infiniband/simib2")
    wait_for(lambda: not device.exists(), "simib2 is gone", 5)
    guest.console("add 2")
    wait_for(device.exists, "simib2 is back", 5)
    guest.facts["active_again_s"] = guest.wait_for_state("ACTIVE", [2])


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
    guest.console("count 2 1 0 7")
    counters = text_of("perfquery", "-C", "simib0", lid, 1)
    if not re.search(r"SymbolErrorCounter:\.*7\b", counters):
        raise Failure(f"7 symbol errors of LID {lid}:\n{counters}")
    own = int(guest.port(1, "lid"), 16)
    path = text_of("saquery", "-C", "simib1", "--src-to-dst", f"{own}:{lid}")
    if not re.search(rf"dlid\.+{lid}\b", path):
        raise Failure(f"no path record {own}:{lid}:\n{path}")


def port_traps(guest):
    """Traps 129-131 of an HCA reach the subnet manager."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    for number in (129, 130, 131):
        guest.console(f"trap 1 1 {number}")
        wait_for(lambda: re.search(rf"trap {number} from|num:{number} ", guest.manager_log()),
                 f"the subnet manager logs trap {number}", 5)


def many(guest):
    """64 HCAs: all ports are ACTIVE."""
    guest.plug_in("fat-tree:radix=16,levels=2", 64)
    guest.start_manager()
    guest.facts["active_s"] = guest.wait_for_state("ACTIVE", seconds=60)


QUICK = ("bring-up", "cable", "ping", "connect")
ALL = QUICK + ("diagnostics", "killed-manager", "many", "port-traps", "removed-hca")
