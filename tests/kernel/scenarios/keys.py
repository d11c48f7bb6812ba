# SPDX-License-Identifier: Apache-2.0
"""M_Keys: who does not know them can neither read nor write."""
import re

from guest import Failure, text_of, wait_for
from scenarios.ports import TREE
from scenarios.registry import Breakage, nothing, scenario

M_KEY = 0x5EC2E7


@scenario(Breakage(nothing, "is read without the M_Key"))
def m_key(guest):
    """The manager's M_Key protects every HCA (level 2): others read nothing, trap 256 tells of them."""
    guest.plug_in(TREE)
    guest.start_manager(m_key=M_KEY, m_key_protect=1 if guest.is_broken else 2)
    guest.wait_for_state("ACTIVE")
    lid = int(guest.port(2, "lid"), 16)
    if "Lid:" not in read_port_info(lid, M_KEY):
        raise Failure("PortInfo of simib2 is not read with the M_Key")
    if "Lid:" in read_port_info(lid):
        raise Failure("PortInfo of simib2 is read without the M_Key")
    guest.facts["trap_s"] = wait_for(
        lambda: re.search(r"trap 256 from|num:256 ", guest.manager_log()), "trap 256 in the log", 10)
    violations = re.search(r"MkeyViolations:\.*(\d+)", read_port_info(lid, M_KEY))
    if not violations or int(violations.group(1)) == 0:
        raise Failure("simib2 counts no violation")


@scenario(Breakage(nothing, "tells its M_Key"))
def m_key_hidden(guest):
    """Protection level 1: PortInfo is read by everybody, and does not tell the M_Key."""
    guest.plug_in(TREE)
    guest.start_manager(m_key=M_KEY, m_key_protect=0 if guest.is_broken else 1)
    guest.wait_for_state("ACTIVE")
    lid = int(guest.port(2, "lid"), 16)
    text = text_of("smpquery", "-C", "simib1", "-K", "portinfo", lid, 1)
    if "Lid:" not in text:
        raise Failure("PortInfo of simib2 is not read at level 1")
    if f"{M_KEY:x}" in text:
        raise Failure("simib2 tells its M_Key to everybody")
    if f"{M_KEY:x}" not in read_port_info(lid, M_KEY):
        raise Failure("simib2 does not tell its M_Key to who knows it")


@scenario(Breakage(nothing, "LIDs changed"))
def m_key_restart(guest):
    """A new manager with the same M_Key takes protected HCAs over and leaves their LIDs as they are."""
    guest.plug_in(TREE)
    guest.start_manager(m_key=M_KEY, m_key_protect=2)
    guest.wait_for_state("ACTIVE")
    lids = [guest.port(hca, "lid") for hca in range(3)]
    guest.stop("sm")
    table = {guest.guid(hca): 0x30 + hca for hca in range(3)} if guest.is_broken else None
    guest.start_manager(1, "second", m_key=M_KEY, m_key_protect=2, lids=table)
    guest.facts["takeover_s"] = guest.wait_for_master(1)
    if [guest.port(hca, "lid") for hca in range(3)] != lids:
        raise Failure("LIDs changed")


def read_port_info(lid, key=None):
    """As a foreign manager on simib1 would read it, over the wire."""
    options = ["-K", "-y", f"{key:#x}"] if key else []
    return text_of("smpquery", "-C", "simib1", "-t", 200, *options, "portinfo", lid, 1)
