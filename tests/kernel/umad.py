# SPDX-License-Identifier: Apache-2.0
"""A request to Subnet Administration with a global route header, straight by the kernel's ib_umad
(rdma/ib_user_mad.h): the tools at hand send none.

  umad.py DEVICE_NUMBER SM_LID [grh]      prints a line of JSON: status, and whether the answer has a GRH
"""
import fcntl
import json
import os
import select
import struct
import sys

REGISTER_AGENT, ENABLE_PKEY = 0xC01C1B01, 0x1B03
HEADER = struct.Struct("=IIIIIIIHBBBBBB16sIH6x")
HEADER_BYTES, MAD_BYTES = HEADER.size, 256
SA_CLASS, GET, CLASS_PORT_INFO = 3, 1, 1
QKEY = 0x80010000
SA_GID = bytes.fromhex("fe800000000000000200000000000002")  # Of whoever is the SA (IBA vol 1 §4.1.1).


def big(number, size):
    """A number whose bytes in memory are big-endian."""
    return int.from_bytes(number.to_bytes(size, "big"), sys.byteorder)


def request(device, lid, with_grh):
    file = os.open(f"/dev/infiniband/umad{device}", os.O_RDWR)
    agent = bytearray(struct.pack("=I4IBBB3sB1x", 0, 0, 0, 0, 0, 1, SA_CLASS, 2, bytes(3), 0))
    fcntl.ioctl(file, ENABLE_PKEY)
    fcntl.ioctl(file, REGISTER_AGENT, agent)
    header = HEADER.pack(struct.unpack_from("=I", agent)[0], 0, 1000, 3, 0, big(1, 4), big(QKEY, 4),
                         big(lid, 2), 0, 0, int(with_grh), 0, 255 if with_grh else 0, 0,
                         SA_GID if with_grh else bytes(16), 0, 0)
    mad = struct.pack(">BBBBHHQHHI", 1, SA_CLASS, 2, GET, 0, 0, 0x6B, CLASS_PORT_INFO, 0, 0)
    os.write(file, header + mad.ljust(MAD_BYTES, b"\0"))
    if not select.select([file], [], [], 10)[0]:
        return {"error": "no answer within 10 s"}
    fields = HEADER.unpack_from(os.read(file, HEADER_BYTES + MAD_BYTES))
    return {"error": f"status {fields[1]}" if fields[1] else None, "grh": fields[10] == 1,
            "from": fields[14].hex() if fields[10] else None}


def main():
    print(json.dumps(request(int(sys.argv[1]), int(sys.argv[2]), "grh" in sys.argv[3:])))


if __name__ == "__main__":
    main()
