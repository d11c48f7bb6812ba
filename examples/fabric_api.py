# SPDX-License-Identifier: Apache-2.0
"""The modules of fabric.v1's messages and stubs, made by protoc when they are asked for; and calls
to the nodes of one fabric, one of which is master."""
import importlib
import os
import subprocess
import sys
import tempfile
import time

import grpc

HERE = os.path.dirname(os.path.abspath(__file__))
PROTO = os.path.join(os.path.dirname(HERE), "proto")
PAUSE = 0.5  # Seconds between two attempts of a call.
ATTEMPT = 10  # Seconds that a node has for an answer where there is another one to ask.
# CANCELLED: by a node that starts again, to take over for example.
NO_ANSWER = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED,
             grpc.StatusCode.DEADLINE_EXCEEDED)


def load(*names):
    """The modules called `names` ("event_service_pb2", "event_service_pb2_grpc", …). They are made
    in a folder that is gone afterwards."""
    files = [os.path.join("fabric", "v1", name)
             for name in sorted(os.listdir(os.path.join(PROTO, "fabric", "v1")))]
    return generate(PROTO, files, ["fabric.v1." + name for name in names])


def generate(root, files, modules):
    with tempfile.TemporaryDirectory() as folder:
        plugin = subprocess.run(["which", "grpc_python_plugin"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        subprocess.run(["protoc", "-I", root, "--python_out", folder, "--grpc_python_out", folder,
                        "--plugin=protoc-gen-grpc_python=" + plugin, *files], check=True)
        sys.path.insert(0, folder)
        try:
            return [importlib.import_module(name) for name in modules]
        finally:
            sys.path.remove(folder)


errors, = generate(HERE, ["error.proto"], ["error_pb2"])


def master_endpoint(error):
    """Where the master is, by a node that refuses a call because it only waits; else ""."""
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        for detail in errors.Status.FromString(value).details:
            if not detail.type_url.endswith("/google.rpc.ErrorInfo"):
                continue
            info = errors.ErrorInfo.FromString(detail.value)
            if info.reason == "NOT_MASTER":
                return info.metadata.get("master_endpoint", "")
    return ""


def is_of_master(call):
    """A node that is not master says what it is instead."""
    return all(key != "fabric-sm-state" for key, _ in call.initial_metadata() or ())


class NoMaster(Exception):
    """No node that answers is master."""


class Nodes:
    """The fabricds that share one fabric. Each answers questions; what changes something goes to the
    master: a node that waits beside it names it. Where a node does not answer the next one is
    asked."""

    def __init__(self, servers):
        self.servers = servers
        self.server = servers[0]
        self.channels = {}

    def stub(self, kind):
        """`kind`: the class of a service's stub. Of the node that is asked now."""
        if self.server not in self.channels:
            self.channels[self.server] = grpc.insecure_channel(self.server)
        return kind(self.channels[self.server])

    def move(self, error):
        """Whether another node may answer what this one did not. It is the one asked from now on."""
        master = master_endpoint(error)
        if master and master != self.server:
            self.server = master
            return True
        others = [server for server in self.servers if server != self.server]
        if error.code() not in NO_ANSWER or not others:
            return False
        self.next()
        return True

    def next(self):
        at = self.servers.index(self.server) + 1 if self.server in self.servers else 0
        self.server = self.servers[at % len(self.servers)]

    def call(self, kind, method, request, timeout, of_master=False):
        """The answer to a call, which is repeated for `timeout` seconds: a takeover takes a few. What
        changes something must have a request_id, so that it is done once. `of_master`: an answer of
        another node, which may be old, does not count: then NoMaster is raised in the end."""
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                answer, call = getattr(self.stub(kind), method).with_call(
                    request, timeout=min(left, ATTEMPT) if len(self.servers) > 1 else left)
                if not of_master or is_of_master(call):
                    return answer
                if time.monotonic() + PAUSE >= end:
                    raise NoMaster("%s is not master" % self.server)
                self.next()
            except grpc.RpcError as error:
                if not self.move(error) or time.monotonic() + PAUSE >= end:
                    raise
            time.sleep(PAUSE)
