# SPDX-License-Identifier: Apache-2.0
"""Requests that the tools at hand send none of, straight by the kernel's ib_umad (rdma/ib_user_mad.h).

  umad.py DEVICE_NUMBER LID COMMAND...     prints a line of JSON

To Subnet Administration at that LID:
  class [grh]            ClassPortInfo, with a global route header: has the answer one, from where
  alias INDEX [GUID]     the alias GUID at that place of block 0 of this port's GUIDs, or none any more
  paths FROM TO COUNT    MultiPathRecord from one GUID to another, each named that many times: a request
                         of several segments by the kernel's RMPP
  flood COUNT            ClassPortInfo so many times at once: how many were answered
To any end port:
  counters INDEX         PortCounters, with the P_Key at that place of this port's table
"""
import fcntl
import json
import os
import select
import struct
import sys
import time

REGISTER_AGENT, ENABLE_PKEY = 0xC01C1B01, 0x1B03
HEADER = struct.Struct("=IIIIIIIHBBBBBB16sIH6x")
MAD_BYTES, LONGEST = 256, 1 << 20
PERFORMANCE, SA = (0x04, 1), (0x03, 2)  # Class, version.
GET, SET, GET_MULTI, DELETE = 0x01, 0x02, 0x14, 0x15
CLASS_PORT_INFO, PORT_COUNTERS, GUID_INFO_RECORD, MULTI_PATH_RECORD = 0x01, 0x12, 0x30, 0x3A
QKEY = 0x80010000
PREFIX = bytes.fromhex("fe80000000000000")
SA_GID = PREFIX + bytes.fromhex("0200000000000002")  # Of whoever is the SA (IBA vol 1 §4.1.1).
RMPP_DATA, RMPP_ACTIVE = 1, 1
RECORD_AT = 56  # In a MAD of Subnet Administration.


def big(number, size):
    """A number whose bytes in memory are big-endian."""
    return int.from_bytes(number.to_bytes(size, "big"), sys.byteorder)


def make_mad(agent_class, method, attribute, transaction):
    number, version = agent_class
    return struct.pack(">BBBBHHQHHI", 1, number, version, method, 0, 0, transaction, attribute, 0, 0)


def make_sa_mad(method, attribute, mask=0, record=b"", transaction=1):
    """A request to SA; a record that does not fit in one MAD leaves it to the kernel to cut it up."""
    is_long = RECORD_AT + len(record) > MAD_BYTES
    rmpp = struct.pack(">BBBBII", 1, RMPP_DATA, RMPP_ACTIVE, 0, 0, 0) if is_long else bytes(12)
    mad = make_mad(SA, method, attribute, transaction) + rmpp + struct.pack(">QHHQ", 0, 0, 0, mask) + record
    return mad.ljust(MAD_BYTES, b"\0")


class Agent:
    """One registration with ib_umad, of a management class."""

    def __init__(self, device, agent_class):
        self.file = os.open(f"/dev/infiniband/umad{device}", os.O_RDWR)
        rmpp_version = int(agent_class == SA)
        agent = bytearray(struct.pack("=I4IBBB3sB1x", 0, 0, 0, 0, 0, 1, *agent_class, bytes(3), rmpp_version))
        fcntl.ioctl(self.file, ENABLE_PKEY)
        fcntl.ioctl(self.file, REGISTER_AGENT, agent)
        self.id = struct.unpack_from("=I", agent)[0]

    def send(self, lid, mad, timeout_ms=1000, retries=3, with_grh=False, pkey_index=0):
        os.write(self.file, HEADER.pack(
            self.id, 0, timeout_ms, retries, 0, big(1, 4), big(QKEY, 4), big(lid, 2), 0, 0, int(with_grh), 0,
            255 if with_grh else 0, 0, SA_GID if with_grh else bytes(16), 0, pkey_index) + mad)

    def receive(self, seconds=10):
        """(fields of the header, the MAD), or None. A request that timed out comes back with its status."""
        if not select.select([self.file], [], [], seconds)[0]:
            return None
        data = os.read(self.file, LONGEST)
        return HEADER.unpack_from(data), data[HEADER.size:]


def exchange(agent, lid, mad, **options):
    """What the answer is: error (of the exchange), status (of the MAD), its header and itself."""
    agent.send(lid, mad, **options)
    received = agent.receive()
    if received is None:
        return {"error": "no answer within 10 s"}, None, None
    header, answer = received
    if header[1]:
        return {"error": os.strerror(header[1])}, None, None
    return {"error": None, "status": int.from_bytes(answer[4:6], "big")}, header, answer


def ask_class(device, lid, *words):
    result, header, _ = exchange(Agent(device, SA), lid, make_sa_mad(GET, CLASS_PORT_INFO), with_grh="grh" in words)
    if header:
        result.update(grh=header[10] == 1, source=header[14].hex() if header[10] else None)
    return result


def change_alias(device, lid, index, guid=None):
    with open(f"/sys/class/infiniband_mad/umad{device}/ibdev", encoding="ascii") as name:
        path = f"/sys/class/infiniband/{name.read().strip()}/ports/1/lid"
    with open(path, encoding="ascii") as file:
        own = int(file.read(), 16)
    guids = bytearray(64)
    if guid:
        guids[8 * index:8 * index + 8] = int(guid, 16).to_bytes(8, "big")
    mask = 0b11 | 1 << (4 + index)  # LID, BlockNum, and that one of the GUIDs.
    record = struct.pack(">HBBI", own, 0, 0, 0) + bytes(guids)
    return exchange(Agent(device, SA), lid, make_sa_mad(SET if guid else DELETE, GUID_INFO_RECORD, mask, record))[0]


def ask_for_paths(device, lid, source, destination, count):
    gids = [PREFIX + int(guid, 16).to_bytes(8, "big") for guid in (source, destination)]
    record = struct.pack(">IBBHHBBBBBBB7s", 0, 0, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0, count, count, bytes(7))
    record += gids[0] * count + gids[1] * count
    mask = 1 << 6 | 1 << 19 | 1 << 20  # NumbPath, SGIDCount, DGIDCount
    result, _, answer = exchange(Agent(device, SA), lid, make_sa_mad(GET_MULTI, MULTI_PATH_RECORD, mask, record))
    if answer:
        size = 8 * int.from_bytes(answer[44:46], "big")  # AttributeOffset
        result["records"] = (len(answer) - RECORD_AT) // size if size else 0
    return result


def flood(device, lid, count):
    agent = Agent(device, SA)
    for number in range(1, count + 1):
        agent.send(lid, make_sa_mad(GET, CLASS_PORT_INFO, transaction=number), timeout_ms=30000, retries=0)
    print("sent", flush=True)
    answered = 0
    end = time.monotonic() + 60
    for _ in range(count):
        received = agent.receive(max(0, end - time.monotonic()))
        if received is None:
            break
        answered += received[0][1] == 0
    return {"answered": answered}


def ask_for_counters(device, lid, index):
    mad = (make_mad(PERFORMANCE, GET, PORT_COUNTERS, 1) + bytes(40) + bytes([0, 1])).ljust(MAD_BYTES, b"\0")
    return exchange(Agent(device, PERFORMANCE), lid, mad, timeout_ms=200, retries=0, pkey_index=index)[0]


COMMANDS = {"class": (ask_class, ()), "alias": (change_alias, (int, str)),
            "paths": (ask_for_paths, (str, str, int)), "flood": (flood, (int,)),
            "counters": (ask_for_counters, (int,))}


def main():
    command, kinds = COMMANDS[sys.argv[3]]
    words = [kind(word) for kind, word in zip(kinds or [str] * 9, sys.argv[4:])]
    print(json.dumps(command(int(sys.argv[1]), int(sys.argv[2]), *words)))


if __name__ == "__main__":
    main()
