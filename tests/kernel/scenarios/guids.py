# SPDX-License-Identifier: Apache-2.0
"""GUIDs: an HCA is replaced by another one, a port gets an alias."""
from guest import Failure, run, text_of, wait_for
from scenarios.ipoib import ipoib_device, two_hosts, wait_for_answer
from scenarios.ports import TREE
from scenarios.registry import Breakage, nothing, scenario

SPARE = 0x0253490000FF0000  # The node GUID of the HCA that comes, and a GUID that no port has.
ALIAS = 0x0253490000AA0001


def node_records():
    return text_of("saquery", "-C", "simib0", "NodeRecord")


@scenario(Breakage(nothing, "SA has a node record"))
def replaced_hca(guest):
    """An HCA is replaced by one with other GUIDs: SA forgets the old one, IPoIB reaches the new one."""
    inside = two_hosts(guest)
    # The other host believes in the old HCA for 15-45 s after its last answer (drawn by the kernel).
    device = ipoib_device(inside)
    run(*inside, "sh", "-c", f"echo 1000 >/proc/sys/net/ipv4/neigh/{device}/base_reachable_time_ms")
    wait_for_answer(inside)
    old = guest.guid(2)
    guest.facts["gone_s"] = guest.remove(2)
    guest.add(2, None if guest.is_broken else SPARE)
    guest.facts["active_s"] = guest.wait_for_state("ACTIVE", [2])
    new = f"{SPARE + 1:#018x}"
    guest.facts["record_s"] = wait_for(lambda: new in node_records(), f"SA has a node record of {new}")
    if old in node_records():
        raise Failure(f"SA has a node record of {old} still")
    guest.isolate(2, "c", "10.0.0.2")
    guest.facts["answer_s"] = wait_for_answer(inside, "an answer of the new HCA")


def gid(guid):
    text = f"fe80000000000000{guid:016x}"
    return ":".join(text[i:i + 4] for i in range(0, 32, 4))


@scenario(Breakage(nothing, "the alias in simib1's table"))
def alias_guid(guest):
    """A port gets an alias GUID by SA: the kernel has the GID, its path is found, until it is taken back."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    sm_lid, lid = (int(guest.port(1, name), 16) for name in ("sm_lid", "lid"))

    def change(*words):
        answer = guest.umad(1, sm_lid, "alias", *words)
        if answer["error"] or answer["status"]:
            raise Failure(f"alias {words}: {answer}")

    if not guest.is_broken:
        change(2, f"{ALIAS:#x}")
    guest.facts["written_s"] = wait_for(lambda: guest.port(1, "gids/2") == gid(ALIAS), "the alias in simib1's table")
    pair = f"{gid(int(guest.guid(2), 16))}-{gid(ALIAS)}"
    path = text_of("saquery", "-C", "simib2", "--sgid-to-dgid", pair)
    if f"dlid{'.' * 20}{lid}" not in path.replace(" ", ""):
        raise Failure(f"no path {pair}:\n{path}")
    change(2)
    wait_for(lambda: guest.port(1, "gids/2") != gid(ALIAS), "the alias is taken back")
