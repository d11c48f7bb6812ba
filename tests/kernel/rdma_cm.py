# SPDX-License-Identifier: Apache-2.0
"""Connections by the kernel's rdma_cm, without a queue pair: the commands of /dev/infiniband/rdma_cm
(rdma/rdma_user_cm.h) themselves, since librdmacm wants a verbs provider that the test module is not.

  rdma_cm.py listen ADDRESS               accepts for ever; says "listening"
  rdma_cm.py connect ADDRESS [COUNT [SECONDS]]
                                          connects so often, begun evenly over that time, or all at
                                          once; says "begun", at the end a line of JSON
"""
import ctypes
import errno
import json
import os
import select
import socket
import struct
import sys
import time

CREATE_ID, DESTROY_ID, RESOLVE_ROUTE, CONNECT, LISTEN, ACCEPT, GET_EVENT = 0, 1, 4, 6, 7, 8, 12
BIND, RESOLVE_ADDR = 20, 21
EVENTS = ["ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR", "CONNECT_REQUEST",
          "CONNECT_RESPONSE", "CONNECT_ERROR", "UNREACHABLE", "REJECTED", "ESTABLISHED",
          "DISCONNECTED", "DEVICE_REMOVAL", "MULTICAST_JOIN", "MULTICAST_ERROR", "ADDR_CHANGE",
          "TIMEWAIT_EXIT"]
PORT_SPACE_TCP, QP_TYPE_RC = 0x0106, 2
PORT = 7471
TIMEOUT_MS = 5000
CONN_PARAM_BYTES, EVENT_BYTES = 272, 328


class Channel:
    """One open file of rdma_cm."""

    def __init__(self):
        self.file = os.open("/dev/infiniband/rdma_cm", os.O_RDWR | os.O_NONBLOCK)
        self.poll = select.poll()
        self.poll.register(self.file, select.POLLIN)

    def command(self, number, body, answer_bytes=0):
        os.write(self.file, struct.pack("=IHH", number, len(body), answer_bytes) + body)

    def create(self, uid):
        answer = ctypes.create_string_buffer(4)
        self.command(CREATE_ID, struct.pack("=QQHB5x", uid, ctypes.addressof(answer), PORT_SPACE_TCP,
                                            QP_TYPE_RC), 4)
        return struct.unpack("=I", answer.raw)[0]

    def destroy(self, number):
        answer = ctypes.create_string_buffer(4)
        self.command(DESTROY_ID, struct.pack("=QII", ctypes.addressof(answer), number, 0), 4)

    def event(self, seconds):
        """(uid, id, name, status), or None after so long."""
        if not self.poll.poll(seconds * 1000):
            return None
        answer = ctypes.create_string_buffer(EVENT_BYTES)
        self.command(GET_EVENT, struct.pack("=Q", ctypes.addressof(answer)), EVENT_BYTES)
        uid, number, event, status = struct.unpack_from("=QIIi", answer.raw)
        return uid, number, EVENTS[event], status


def address_of(text, port=PORT):
    """A sockaddr_storage of 128 bytes."""
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H4s", port, socket.inet_aton(text)) + bytes(120)


def conn_param(qp_number):
    return struct.pack("=II256xBBBBBBBB", qp_number, 0, 0, 0, 1, 1, 0, 7, 7, 1)


def listen(address):
    channel = Channel()
    listener = channel.create(0)
    channel.command(BIND, struct.pack("=IHH", listener, 16, 0) + address_of(address))
    channel.command(LISTEN, struct.pack("=II", listener, 1024))
    print("listening", flush=True)
    while True:
        event = channel.event(3600)
        if event and event[2] == "CONNECT_REQUEST":
            number = event[1]
            channel.command(ACCEPT, struct.pack("=Q", number) + conn_param(0x1000 + number) +
                            struct.pack("=IIII", number, 0, 0, 0))
        elif event and event[2] == "DISCONNECTED":
            channel.destroy(event[1])


class Connector:
    """Takes each of many connections through its steps, whatever the order of events."""

    def __init__(self, address, count):
        self.channel, self.address = Channel(), address_of(address)
        self.start = {}
        self.established, self.failed, self.repeated = [], {}, 0
        self.failed_at = []  # Seconds since the epoch.
        self.last = {}
        self.numbers = {uid: self.channel.create(uid) for uid in range(1, count + 1)}  # ucma keeps quiet to 0.

    def begin(self, uid):
        self.start[uid] = time.monotonic()
        self.last[uid] = "the start"
        self.channel.command(RESOLVE_ADDR, struct.pack("=IIHHI128x", self.numbers[uid], TIMEOUT_MS, 0,
                                                       16, 0) + self.address)

    def step(self, uid, event, status):
        number = self.numbers[uid]
        no_answer = event == "ROUTE_ERROR" and status == -errno.ETIMEDOUT
        self.repeated += no_answer
        if event == "ADDR_RESOLVED" or no_answer:
            self.channel.command(RESOLVE_ROUTE, struct.pack("=II", number, TIMEOUT_MS))
        elif event == "ROUTE_RESOLVED":
            self.channel.command(CONNECT, conn_param(0x2000 + number) + struct.pack("=IIII", number, 0,
                                                                                    0, 0))
        elif event == "CONNECT_RESPONSE":  # Without a queue pair the RTU is ours to ask for.
            self.channel.command(ACCEPT, bytes(8 + CONN_PARAM_BYTES) +
                                 struct.pack("=IIII", number, 0, 0, 0))
            self.established.append(time.monotonic() - self.start[uid])
        else:
            name = f"{event} {status}"
            self.failed_at.append(time.time())
            self.failed[name] = self.failed.get(name, 0) + 1

    def run(self, over, seconds):
        """Begins all of them over that time, and waits so long for the last."""
        start = time.monotonic()
        waiting = list(self.numbers)
        spacing = over / len(waiting)
        end = start + over + seconds
        while len(self.established) + sum(self.failed.values()) < len(self.numbers):
            begun = len(self.numbers) - len(waiting)
            if waiting and time.monotonic() >= start + begun * spacing:
                self.begin(waiting.pop(0))
                continue
            until = start + begun * spacing if waiting else end
            event = self.channel.event(max(0, until - time.monotonic()))
            if event:
                uid, _, name, status = event
                self.last[uid] = name
                self.step(uid, name, status)
            elif time.monotonic() >= end:
                self.count_unfinished()
                break

    def count_unfinished(self):
        """Counts those that hear nothing more, by what they heard last."""
        for name in self.last.values():
            if name not in ("CONNECT_RESPONSE", "ESTABLISHED") and not name.endswith("ERROR"):
                key = f"nothing after {name}"
                self.failed[key] = self.failed.get(key, 0) + 1


def main():
    if sys.argv[1] == "listen":
        listen(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    connector = Connector(sys.argv[2], count)
    print("begun", flush=True)
    connector.run(float(sys.argv[4]) if len(sys.argv) > 4 else 0, 30)
    times = sorted(connector.established)
    print(json.dumps({"established": len(times), "failed": connector.failed, "repeated": connector.repeated,
                      "failed_at": connector.failed_at,
                      "slowest_ms": round(1000 * times[-1], 1) if times else None}))


if __name__ == "__main__":
    main()
