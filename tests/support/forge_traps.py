#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends traps of many numbers and issuers from the host that it runs on (IBA vol 1 §13.4.9).
Takes the answers now and then: ibsim stands still for all when they are not taken.

usage: forge_traps.py SM_LID COUNT
"""
import ctypes
import struct
import sys

SUBN_LID_ROUTED, VERSION, TRAP, NOTICE, MAD = 1, 1, 0x05, 2, 256


def trap(transaction, number, issuer):
    header = struct.pack(">BBBBHHQHHI", 1, SUBN_LID_ROUTED, VERSION, TRAP, 0, 0, transaction, NOTICE,
                         0, 0)
    notice = struct.pack(">BBHHHH", 0x81, 0, 1, number, issuer, 0)  # Generic, urgent, of a CA.
    return (header + bytes(40) + notice).ljust(MAD, b"\0")


def main():
    umad = ctypes.CDLL("libibumad.so.3")
    umad.umad_get_mad.restype = ctypes.c_void_p
    assert umad.umad_init() == 0
    port = umad.umad_open_port(None, 0)
    agent = umad.umad_register(port, SUBN_LID_ROUTED, VERSION, 0, None)
    assert port >= 0 and agent >= 0, (port, agent)
    buffer = ctypes.create_string_buffer(umad.umad_size() + MAD)
    answer = ctypes.create_string_buffer(umad.umad_size() + MAD)
    for at in range(int(sys.argv[2])):
        # No number that fabricd knows: those begin a sweep, others are only logged.
        ctypes.memmove(umad.umad_get_mad(buffer), trap(at + 1, 1000 + at % 60000, 1 + at % 40000),
                       MAD)
        umad.umad_set_addr(buffer, int(sys.argv[1]), 0, 0, 0)
        assert umad.umad_send(port, agent, buffer, MAD, 0, 0) == 0
        while at % 10 == 9:
            length = ctypes.c_int(MAD)
            if umad.umad_recv(port, answer, ctypes.byref(length), 1) < 0:
                break


if __name__ == "__main__":
    main()
