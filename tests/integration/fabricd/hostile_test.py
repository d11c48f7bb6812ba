#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm, or are broken, at every listener of the real daemon. Meanwhile /healthz
and a cheap call must answer, and memory must stay bounded.

usage: hostile_test.py BIN_DIR [TEST...]
"""
import contextlib
import os
import resource
import signal
import socket
import struct
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

SMALL = "sim:superpod:sus=1,hosts=2,rails=2"
PROMPT = 10  # Seconds that an answer may take: a busy machine, not a client that is in the way.


OTHER = 65534  # The user "nobody", who may only read.


class Http2:
    """A client of gRPC that writes its frames itself."""

    def __init__(self, path, settings=b""):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PROMPT)
        self.socket.connect(path)
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(4, 0, 0, settings))

    @staticmethod
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload

    @staticmethod
    def headers(method):
        """Of a request, in literals."""
        block = b""
        for name, value in ((b":method", b"POST"), (b":scheme", b"http"),
                            (b":path", b"/" + method.encode()), (b":authority", b"localhost"),
                            (b"te", b"trailers"), (b"content-type", b"application/grpc")):
            block += b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
        return block

    def begin(self, method, stream, message=None):
        """A call; without a message it stays half open."""
        frames = self.frame(1, 4, stream, self.headers(method))
        if message is not None:
            frames += self.frame(0, 1, stream, b"\0" + struct.pack(">I", len(message)) + message)
        self.socket.sendall(frames)

    def close(self):
        self.socket.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Hostile(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.fabricd = ibsim.Fabricd(self, "http_listen: 127.0.0.1:%d\n" % self.port)
        self.fabricd.start(fabric=SMALL)
        self.fabricd.wait_for("subnet_up")
        self.open = []

    def tearDown(self):
        for each in self.open:
            each.close()
        super().tearDown()

    def resident(self):
        """MiB."""
        with open("/proc/%d/status" % self.fabricd.process.pid, encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    def assert_serves(self):
        begin = time.monotonic()
        with urllib.request.urlopen("http://127.0.0.1:%d/healthz" % self.port,
                                    timeout=PROMPT) as answer:
            self.assertEqual(answer.read(), b"ok: MASTER, subnet up\n")
        self.fabricd.ctl("--timeout", "%ds" % PROMPT, "get", "sm")
        self.assertLess(time.monotonic() - begin, 2 * PROMPT)


class Http(Hostile):
    def connect(self):
        self.open.append(socket.create_connection(("127.0.0.1", self.port), timeout=PROMPT))
        return self.open[-1]

    def test_half_open_requests(self):
        for _ in range(600):
            self.connect().sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        self.assert_serves()

    def test_answers_that_are_not_read(self):
        before = self.resident()
        for _ in range(300):
            client = self.connect()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(b"GET /ui HTTP/1.1\r\n\r\n")
        self.assert_serves()
        self.assertLess(self.resident() - before, 200)

    def test_heads_without_end_and_many_ranges(self):
        before = self.resident()
        endless = self.connect()
        endless.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        with self.assertRaises(OSError):
            for _ in range(1024):
                endless.sendall(b"a" * (1 << 20))
        ranges = b"bytes=" + b",".join([b"0-"] * 2000)
        client = self.connect()
        client.sendall(b"GET /ui HTTP/1.1\r\nRange: " + ranges + b"\r\n\r\n")
        self.assertTrue(client.recv(64).startswith(b"HTTP/1.1 200 OK\r\n"))
        self.assert_serves()
        self.assertLess(self.resident() - before, 50)


class Grpc(Hostile):
    """Another user's connections, where this test may be another user."""

    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.write("fabricd.yaml", "security: {viewers: [\"user:%d\"]}\n" % OTHER)
        self.fabricd.process.send_signal(signal.SIGHUP)
        self.fabricd.log.wait_for("the configuration was read again")
        os.chmod(self.folder, 0o755)
        os.chmod(self.fabricd.socket, 0o666)

    @contextlib.contextmanager
    def as_other(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        os.seteuid(OTHER)
        try:
            yield
        finally:
            os.seteuid(0)

    def connect(self, settings=b""):
        with self.as_other():
            self.open.append(Http2(self.fabricd.socket, settings))
        return self.open[-1]

    def test_idle_connections(self):
        with self.as_other():
            for _ in range(1500):
                client = socket.socket(socket.AF_UNIX)
                client.connect(self.fabricd.socket)
                self.open.append(client)
        self.assert_serves()
        with open("/proc/%d/limits" % self.fabricd.process.pid, encoding="utf-8") as file:
            self.assertIn("Max open files", file.read())
        self.assertLess(len(os.listdir("/proc/%d/fd" % self.fabricd.process.pid)), 800)

    def test_dumps_that_are_not_read(self):
        no_window = struct.pack(">HI", 4, 0)
        for _ in range(10):
            client = self.connect(no_window)
            for stream in range(1, 21, 2):
                client.begin("fabric.v1.AdminService/Dump", stream, b"")
        self.assert_serves()
        self.fabricd.ctl("--timeout", "%ds" % PROMPT, "dump", "--dir", self.path("dumps"))
        self.assertTrue(os.listdir(self.path("dumps")))

    def test_rapid_resets(self):
        """gRPC frees no call of a connection from which there is always more to read."""
        before = self.resident()
        client = self.connect()
        block = Http2.headers("fabric.v1.TopologyService/GetSm")
        for batch in range(25):
            frames = bytearray()
            for stream in range(2000 * batch + 1, 2000 * batch + 2001, 2):
                frames += Http2.frame(1, 4, stream, block)
                frames += Http2.frame(3, 0, stream, b"\0\0\0\10")
            try:
                client.socket.sendall(frames)
            except OSError:
                break  # Cut off, which is as well.
        self.assert_serves()
        self.assertLess(self.resident() - before, 200)

    def test_answers_to_calls_that_are_reset(self):
        before = self.resident()
        client = self.connect()
        block = Http2.headers("fabric.v1.TopologyService/ListPorts")
        for batch in range(5):
            streams = range(2000 * batch + 1, 2000 * batch + 2001, 2)
            frames = bytearray()
            for stream in streams:
                frames += Http2.frame(1, 4, stream, block) + Http2.frame(0, 1, stream, bytes(5))
            for stream in streams:
                frames += Http2.frame(3, 0, stream, b"\0\0\0\10")
            client.socket.sendall(frames)
        self.assert_serves()
        self.assertLess(self.resident() - before, 400)

    def test_half_open_calls(self):
        client = self.connect()
        for stream in range(1, 41, 2):
            client.begin("fabric.v1.PlanService/ValidateWiring", stream)
        for stream in range(41, 1041, 2):
            client.begin("fabric.v1.TopologyService/GetSm", stream)
        self.assert_serves()
        design = self.write("design.net", self.run_program(
            [os.path.join(ibsim.Fabricd.bin, "fabricsim"), "generate", "superpod", "--sus", "1",
             "--hosts", "2", "--rails", "2", "--format", "ibnetdiscover"]))
        self.fabricd.ctl("--timeout", "%ds" % PROMPT, "validate", "-f", design)


if __name__ == "__main__":
    ibsim.main([])
