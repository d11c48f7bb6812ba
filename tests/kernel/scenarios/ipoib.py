# SPDX-License-Identifier: Apache-2.0
"""IPoIB between network namespaces."""
import re

from guest import Failure, run, text_of, wait_for
from scenarios.ports import TREE
from scenarios.registry import Breakage, kill, lose, lose_all_of, nothing, scenario

NEW_LID = 0x20


def two_hosts(guest, hcas=3, places=None):
    """A subnet with simib1 and simib2 in namespaces that reach each other; how to run in the first."""
    guest.plug_in(TREE, hcas, places=places)
    run("rdma", "system", "set", "netns", "exclusive")
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    inside = guest.isolate(1, "a", "10.0.0.1")
    guest.isolate(2, "b", "10.0.0.2")
    return inside


def ipoib_device(inside):
    """The first one there."""
    return re.search(r"(ib\d+)", run(*inside, "ip", "-o", "link")).group(1)


def answers(inside, address, *options):
    return "1 received" in text_of(*inside, "ping", "-c", "1", "-W", "1", *options, address)


def wait_for_answer(inside, what="an answer to ping"):
    return wait_for(lambda: answers(inside, "10.0.0.2"), what)


@scenario(Breakage(lose_all_of(2), "an answer to ping"), quick=True)
def ping(guest):
    """IPoIB: two namespaces reach each other by ARP, IPv4 and IPv6, and again after a cable fault."""
    inside = two_hosts(guest)
    guest.breakage_point()
    guest.facts["first_answer_s"] = wait_for_answer(inside)
    text = run(*inside, "ping", "-i", "0.01", "-c", "100", "10.0.0.2")
    if " 0% packet loss" not in text:
        raise Failure(text)
    guest.facts["round_trip_ms"] = float(re.search(r"= [\d.]+/([\d.]+)/", text).group(1))
    address = re.search(r"inet6 (fe80\S+)/", run("ip", "netns", "exec", "b", "ip", "addr")).group(1)
    device = ipoib_device(inside)
    wait_for(lambda: answers(inside, f"{address}%{device}", "-6"), "an answer over IPv6")
    node, port = guest.place_of(2)
    guest.console(f"unlink {node} {port}")
    guest.console(f"link {node} {port}")
    guest.facts["answer_after_fault_s"] = wait_for_answer(inside, "an answer after the fault")


def child(inside, name, pkey, address):
    """An IPoIB interface of one more partition."""
    parent = ipoib_device(inside)
    run(*inside, "ip", "link", "add", "link", parent, "name", name, "type", "ipoib", "pkey", pkey)
    run(*inside, "ip", "addr", "add", f"{address}/24", "dev", name)
    run(*inside, "ip", "link", "set", name, "up")


def partitions(guest, members):
    """A file of partitions: the default one of limited members, and those of {P_Key: HCAs}."""
    lines = ["Default=0x7fff, ipoib: ALL=limited, SELF=full;"]
    for pkey, hcas in members.items():
        guids = ", ".join(f"{guest.guid(hca)}=full" for hca in hcas)
        lines.append(f"p{pkey:x}={pkey:#x}, ipoib: {guids};")
    return "\n".join(lines) + "\n"


@scenario(Breakage(nothing, "simib3 of another partition answers"))
def p_keys(guest):
    """Partitions: members of one reach each other over IPoIB; members of two, and limited ones, do not."""
    guest.plug_in(TREE, 4)
    run("rdma", "system", "set", "netns", "exclusive")
    red, blue = 1, 1 if guest.is_broken else 2
    members = {red: [1, 2, 3]} if guest.is_broken else {red: [1, 2], blue: [3]}
    guest.start_manager(partitions=partitions(guest, members))
    guest.wait_for_state("ACTIVE")
    for hca, pkey in ((1, red), (2, red), (3, blue)):
        wait_for(lambda: f"{pkey | 0x8000:#x}" in guest.pkeys(hca), f"P_Key {pkey:#x} of simib{hca}")
    inside = {}
    for hca, pkey in ((1, red), (2, red), (3, blue)):
        inside[hca] = guest.isolate(hca, f"n{hca}", f"10.1.0.{hca}")
        child(inside[hca], "child", 0x8000 | pkey, f"10.0.0.{hca}")
    guest.facts["first_answer_s"] = wait_for_answer(inside[1], "an answer within the partition")
    # Three tries, a second each: the ARP request has been lost by then, or it never arrives.
    for address, whose in (("10.0.0.3", "simib3 of another partition"),
                           ("10.1.0.2", "simib2, a limited member as simib1 is,")):
        if any(answers(inside[1], address) for _ in range(3)):
            raise Failure(f"{whose} answers")


@scenario(Breakage(nothing, f"LID {NEW_LID:#x} of simib2"))
def lid_change(guest):
    """Another manager gives a host another LID: ib_sa and IPoIB follow, ping goes on."""
    inside = two_hosts(guest)
    wait_for_answer(inside)
    guest.stop("sm")
    table = {guest.guid(hca): int(guest.port(hca, "lid"), 16) for hca in (0, 1, 2)}
    if not guest.is_broken:
        table[guest.guid(2)] = NEW_LID
    guest.start_manager(0, "second", lids=table)
    guest.facts["lid_s"] = wait_for(lambda: int(guest.port(2, "lid"), 16) == NEW_LID,
                                    f"LID {NEW_LID:#x} of simib2")
    guest.facts["answer_s"] = wait_for_answer(inside, "an answer at the new LID")
    # ClientReregister has reached IPoIB: the new manager knows the members of its broadcast group.
    wait_for(lambda: all(f"simib{hca}" in broadcast_members() for hca in (1, 2)),
             "simib1 and simib2 in the broadcast group")


def broadcast_members():
    """The members of the groups as SA tells them to simib0."""
    return text_of("saquery", "-C", "simib0", "--smkey", 1, "-m")


PACKETS, BEFORE = 500, 100  # Of a ping, and of those answered before the fault. Each takes 10 ms.


def begin_ping(guest, inside, name, address):
    guest.start(name, *inside, "ping", "-D", "-i", "0.01", "-c", PACKETS, address)
    wait_for(lambda: f"icmp_seq={BEFORE} " in guest.log(name), f"{BEFORE} answers of {address}")


def ends_of_ping(guest, name):
    """{number of a packet: when it was answered} once all are sent, and the numbers of those that were not."""
    guest.processes.pop(name).wait(60)
    answered = {int(number): float(when) for when, number in
                re.findall(r"\[([\d.]+)\].* icmp_seq=(\d+) ", guest.log(name))}
    return answered, sorted(set(range(1, PACKETS + 1)) - set(answered))


@scenario(Breakage(kill("sm"), "to the end"),
          Breakage(lose(2, 0.1), "not in one gap"),
          Breakage(lose(3, 0.1), "of a path that does not have that cable"))
def redundant_cable(guest):
    """A cable between switches is pulled under ping: one gap, and nothing is lost beyond it or elsewhere."""
    inside = two_hosts(guest, 4, places={2: "node0005 mlx5_0"})
    guest.isolate(3, "c", "10.0.0.3")
    wait_for_answer(inside)
    wait_for(lambda: answers(inside, "10.0.0.3"), "an answer of simib3")
    lids = [int(guest.port(hca, "lid"), 16) for hca in (1, 2)]
    node, port = guest.first_cable(*lids)
    begin_ping(guest, inside, "across", "10.0.0.2")
    begin_ping(guest, inside, "beside", "10.0.0.3")
    guest.breakage_point()
    guest.console(f"unlink {node} {port}")
    answered, lost = ends_of_ping(guest, "across")
    _, elsewhere = ends_of_ping(guest, "beside")
    guest.facts["lost"] = len(lost)
    if not lost:
        raise Failure("no packet was lost: the cable was on no path")
    if lost[-1] == PACKETS:
        raise Failure(f"{len(lost)} packets were lost, to the end")
    if lost != list(range(lost[0], lost[-1] + 1)):
        raise Failure(f"{len(lost)} packets were lost, not in one gap: {lost}")
    if elsewhere:
        raise Failure(f"{len(elsewhere)} packets were lost of a path that does not have that cable: {elsewhere}")
    guest.facts["gap_s"] = answered[lost[-1] + 1] - answered[lost[0] - 1]
