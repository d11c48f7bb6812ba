# SPDX-License-Identifier: Apache-2.0
"""What Subnet Administration answers: tables longer than a MAD over the kernel's RMPP, requests with a GRH."""
import signal

from guest import UMAD, Failure, text_of, wait_for
from scenarios.ports import TREE
from scenarios.registry import Breakage, kill, lose_all_of, nothing, scenario


def ask_for_path_records(hca):
    """What saquery prints of them, its errors included."""
    return text_of("sh", "-c", f"saquery -C simib{hca} -t 30000 PathRecord 2>&1; true")


def count_path_records(hca):
    return ask_for_path_records(hca).count("PathRecord dump")


@scenario(Breakage(lose_all_of(1), "path records with lost segments"),
          fails={"opensm": "the table does not come within the client's 30 s"})
def lossy_tables(guest):
    """RMPP: a table of all path records is complete where one of five hundred packets is lost."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    whole = wait_for_table()
    node, port = guest.place_of(1)
    guest.console(f"loss {node} {port} 0.002")  # Linux waits two seconds for each.
    guest.breakage_point()
    guest.facts["records"] = whole
    for attempt in range(5):
        text = ask_for_path_records(1)
        found = text.count("PathRecord dump")
        if found != whole:
            raise Failure(f"{found} of {whole} path records with lost segments, attempt "
                          f"{attempt + 1}: {text[-200:].strip()}")


def wait_for_table():
    """How many path records there are, once the number stays."""
    counts = [0, count_path_records(1)]

    def stays():
        counts.append(count_path_records(1))
        return counts[-1] == counts[-2] > 0

    wait_for(stays, "a table of path records")
    return counts[-1]


@scenario(Breakage(nothing, "without a GRH"))
def grh_client(guest):
    """A client whose requests to SA have a GRH, to the SA's own GUID: the answer has one, from there."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    lid = int(guest.port(1, "sm_lid"), 16)
    words = [] if guest.is_broken else ["grh"]
    answer = guest.umad(1, lid, "class", *words)
    if answer["error"]:
        raise Failure(f"SA does not answer: {answer}")
    if not answer["grh"]:
        raise Failure(f"SA answers without a GRH: {answer}")


def sm_lid(guest):
    return int(guest.port(1, "sm_lid"), 16)


@scenario(Breakage(kill("sm"), "request of 8 KB"))
def long_request(guest):
    """A request of 8 KB, for which the manager's first buffer is too small (ENOSPC): it is answered."""
    guest.plug_in(TREE)
    guest.start_manager()
    guest.wait_for_state("ACTIVE")
    wait_for_table()
    guest.breakage_point()
    answer = guest.umad(1, sm_lid(guest), "paths", guest.guid(1), guest.guid(2), 250)
    if answer["error"]:
        raise Failure(f"a request of 8 KB: {answer}")
    guest.facts.update(status=answer["status"], records=answer["records"])
    if guest.umad(1, sm_lid(guest), "class")["error"]:
        raise Failure("SA does not answer the next request")


@scenario(Breakage(kill("sm"), r"ACTIVE on HCAs \[2\]"))
def full_buffers(guest):
    """4,000 requests wait in the kernel for a stopped manager; it continues, and serves the subnet at once."""
    guest.plug_in(TREE)
    process = guest.start_manager()
    guest.wait_for_state("ACTIVE")
    wait_for_table()
    node, port = guest.place_of(2)
    process.send_signal(signal.SIGSTOP)
    guest.start("flood", "python3", UMAD, 1, sm_lid(guest), "flood", 4000)
    wait_for(lambda: "sent" in guest.log("flood"), "the requests are sent")
    guest.console(f"unlink {node} {port}")
    guest.console(f"link {node} {port}")
    guest.wait_for_state("INIT", [2])
    guest.breakage_point()
    if not guest.is_broken:
        process.send_signal(signal.SIGCONT)
    guest.facts["active_again_s"] = guest.wait_for_state("ACTIVE", [2])
    if guest.umad(1, sm_lid(guest), "class")["error"]:
        raise Failure("SA does not answer a request behind them")
