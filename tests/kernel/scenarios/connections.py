# SPDX-License-Identifier: Apache-2.0
"""rdma_cm over the kernel's SA client: no resolution fails, whatever the subnet manager goes through."""
import json
import pathlib
import time

from guest import Failure, run, wait_for
from scenarios.ipoib import two_hosts, wait_for_answer
from scenarios.registry import Breakage, kill, lose_all_of, nothing, scenario

# Of every kind of change of the master.
GAP = {"opensm": "SA answers with an error, or not at all, while it is not up"}
CM = pathlib.Path(__file__).resolve().parents[1] / "rdma_cm.py"


def listening_hosts(guest, hcas=3):
    """Two hosts that reach each other, the second accepts connections; how to run in the first."""
    inside = two_hosts(guest, hcas)
    wait_for_answer(inside)
    guest.start("listener", "ip", "netns", "exec", "b", "python3", CM, "listen", "10.0.0.2")
    wait_for(lambda: "listening" in guest.log("listener"), "the listener listens")
    return inside


def begin_storm(guest, inside, count, seconds):
    """So many connections, begun evenly over that time; in the background."""
    guest.start("storm", *inside, "python3", CM, "connect", "10.0.0.2", count, seconds)
    wait_for(lambda: "begun" in guest.log("storm"), "the storm begins")


def end_storm(guest, count, may_repeat=False, without_sa=(0, 0)):
    """All connections are established, without a second request for a route unless they may. Those of
    that time, of its begin and end, may fail."""
    if guest.processes.pop("storm").wait(60) != 0:
        raise Failure(f"the storm ended: {guest.log('storm')}")
    result = json.loads(guest.log("storm").splitlines()[-1])
    failed_at = result.pop("failed_at")
    guest.facts["slowest_ms"] = result["slowest_ms"] or 0
    guest.facts.update(failed=count - result["established"], repeated=result["repeated"])
    if result["repeated"] and not may_repeat:
        raise Failure(f"of {count} connections some asked for a route twice: {result}")
    forgiven = sum(without_sa[0] <= when <= without_sa[1] for when in failed_at)
    guest.facts["failed_outside"] = sum(result["failed"].values()) - forgiven
    if guest.facts["failed_outside"] or result["established"] + forgiven != count:
        raise Failure(f"of {count} connections: {result}")


@scenario(Breakage(kill("listener"), "one connection"), quick=True)
def connect(guest):
    """rdma_cm: addresses and routes resolve by the kernel's SA client, and 200 connections at once."""
    inside = listening_hosts(guest)
    guest.breakage_point()
    one = json.loads(run(*inside, "python3", CM, "connect", "10.0.0.2").splitlines()[-1])
    if one["established"] != 1:
        raise Failure(f"one connection: {one}")
    guest.facts["one_ms"] = one["slowest_ms"]
    many = json.loads(run(*inside, "python3", CM, "connect", "10.0.0.2", "200").splitlines()[-1])
    if many["failed"]:
        raise Failure(f"of 200 connections: {many}")
    guest.facts["slowest_of_200_ms"] = many["slowest_ms"]


@scenario(Breakage(nothing, "of 300 connections"), fails=GAP)
def storm_restart(guest):
    """rdma_cm: 300 connections over 12 s, under which the manager ends and is started again.

    While no process has registered for Subnet Administration at the manager's port, the kernel of
    that host refuses each request itself (status 0x000C), and that is final for its clients. No
    manager can help that; all others are established."""
    inside = listening_hosts(guest)
    begin_storm(guest, inside, 300, 12)
    gone = back = time.time()
    guest.stop("sm")
    if not guest.is_broken:
        guest.start_manager(name="again", state="sm")
        wait_for(lambda: guest.log("again"), "the manager begins")
        back = time.time()
    end_storm(guest, 300, without_sa=(gone, back))


@scenario(Breakage(kill("second"), "of 400 connections"), fails=GAP)
def storm_takeover(guest):
    """rdma_cm: 400 connections over 8 s, under which the master's node dies and a standby takes over.

    The kernel repeats a request at the LID of the SM that it was made for. So what was sent to the
    dead one times out, and the program has to ask for the route again."""
    inside = listening_hosts(guest, 4)
    guest.start_standby(3)
    begin_storm(guest, inside, 400, 8)
    guest.breakage_point()
    # Without its cable: the kernel of a running host refuses what is asked for a process that ended.
    node, port = guest.place_of(0)
    guest.console(f"unlink {node} {port}")
    guest.stop("sm", 9)
    end_storm(guest, 400, may_repeat=True)


@scenario(Breakage(kill("sm"), "of 400 connections"), fails=GAP)
def storm_handover(guest):
    """rdma_cm: 400 connections over 8 s, under which a manager of a higher priority takes the subnet."""
    inside = listening_hosts(guest, 4)
    begin_storm(guest, inside, 400, 8)
    guest.breakage_point()
    if not guest.is_broken:
        guest.start_manager(3, "second", priority=10)
        guest.facts["handover_s"] = guest.wait_for_master(3)
    end_storm(guest, 400)


@scenario(Breakage(lose_all_of(2), "of 1000 connections"))
def overload(guest):
    """rdma_cm: 1,000 connections at once while another host asks for all path records again and again."""
    inside = listening_hosts(guest)
    guest.start("tables", "sh", "-c", "while saquery -C simib0 PathRecord; do :; done >/dev/null")
    guest.breakage_point()
    begin_storm(guest, inside, 1000, 0)
    end_storm(guest, 1000)
    guest.stop("tables")
