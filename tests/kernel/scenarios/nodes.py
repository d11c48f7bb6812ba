# SPDX-License-Identifier: Apache-2.0
"""Nodes with a kernel of their own each, on one fabric."""
import time

from scenarios.ports import TREE
from scenarios.registry import Breakage, kill, scenario


def _kill_the_master(machines):
    """From outside: power is lost where the master is."""
    machines.wait_until_said(0, "master")
    machines.wait_until_said(1, "standby")
    machines.kill(0)
    return {"takeover_s": machines.wait_until_said(1, "took over")}


@scenario(Breakage(kill("second"), "all ports have simib2's LID"), topology=TREE, direct=_kill_the_master)
def dead_node(guest):
    """The master's node dies, kernel and all: the standby on another node takes over."""
    guest.join_fabric(2)
    if guest.kernel == 0:
        guest.start_manager(0)
        guest.wait_for_state("ACTIVE")
        guest.say("master")
        time.sleep(3600)
    guest.wait_for_state("ACTIVE", seconds=60)
    guest.start_standby(2)
    guest.breakage_point()
    guest.say("standby")
    guest.wait_for_master(2)
    guest.say("took over")
