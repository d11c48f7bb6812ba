#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins multicast groups, or leaves them, as the port of the host that it runs on: one SubnAdmSet or
SubnAdmDelete of an MCMemberRecord for each MGID (IBA vol 1 §15.2.5.17). Prints the MLIDs. SIGTERM
ends it in order: ibsim keeps the place of a client that was killed, and has few.

usage: join.py join|leave SM_LID PORT_GID MGID...
"""
import ctypes
import errno
import ipaddress
import signal
import struct
import sys

SA, SA_VERSION, SET, DELETE, RECORD = 3, 2, 0x02, 0x15, 0x38
HEADER, MAD, DATA = 24, 256, 56
PATIENCE_MS, SLICE_MS = 30000, 100  # The longest wait for an answer, and between two signals.
FULL_MEMBER, Q_KEY, P_KEY, LOCAL_SCOPE = 1, 0x0B1B, 0xFFFF, 2
MGID, PORT_GID, QKEY, TCLASS, PKEY, SL, FLOW, STATE = (1 << i for i in (0, 1, 2, 6, 7, 12, 13, 16))


def record(mgid, port_gid):
    return b"".join((
        ipaddress.IPv6Address(mgid).packed, ipaddress.IPv6Address(port_gid).packed,
        struct.pack(">IHBBHBBIB3x", Q_KEY, 0, 0, 0, P_KEY, 0, 0, 0,
                    LOCAL_SCOPE << 4 | FULL_MEMBER)))


def request(method, transaction, mgid, port_gid):
    mask = MGID | PORT_GID | STATE
    if method == SET:  # What a group needs that does not exist yet.
        mask |= QKEY | TCLASS | PKEY | SL | FLOW
    header = struct.pack(">BBBBHHQHHI", 1, SA, SA_VERSION, method, 0, 0, transaction, RECORD, 0, 0)
    mad = header + bytes(12) + struct.pack(">QHHQ", 0, 0, 0, mask) + record(mgid, port_gid)
    return mad.ljust(MAD, b"\0")


def receive(umad, port, buffer):
    """umad_recv(), which a signal does not interrupt, in slices."""
    for _ in range(0, PATIENCE_MS, SLICE_MS):
        length = ctypes.c_int(MAD)
        agent = umad.umad_recv(port, buffer, ctypes.byref(length), SLICE_MS)
        if agent not in (-errno.ETIMEDOUT, -errno.EWOULDBLOCK):
            break
    return agent


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    umad = ctypes.CDLL("libibumad.so.3")
    umad.umad_get_mad.restype = ctypes.c_void_p
    method = {"join": SET, "leave": DELETE}[sys.argv[1]]
    assert umad.umad_init() == 0
    port = umad.umad_open_port(None, 0)
    agent = umad.umad_register(port, SA, SA_VERSION, 0, None)
    assert port >= 0 and agent >= 0, (port, agent)
    size = umad.umad_size()
    for number, mgid in enumerate(sys.argv[4:], 1):
        buffer = ctypes.create_string_buffer(size + MAD)
        ctypes.memmove(umad.umad_get_mad(buffer), request(method, number, mgid, sys.argv[3]), MAD)
        umad.umad_set_addr(buffer, int(sys.argv[2]), 1, 0, ctypes.c_uint(0x80010000))
        assert umad.umad_send(port, agent, buffer, MAD, 5000, 3) == 0
        assert receive(umad, port, buffer) == agent
        answer = ctypes.string_at(umad.umad_get_mad(buffer), MAD)
        status = umad.umad_status(buffer) or struct.unpack(">H", answer[4:6])[0]
        assert status == 0, "%s: status %#x" % (mgid, status)
        print("%#x" % struct.unpack(">H", answer[DATA + 36:DATA + 38])[0])


if __name__ == "__main__":
    main()
