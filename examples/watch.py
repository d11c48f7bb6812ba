#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches a fabric by fabricd's gRPC API: cordons a host when one of its NICs vanishes, loses its
link or flaps, and lifts that when all of its NICs are well again.

usage: watch.py --server unix:PATH[,…] [--ttl SECONDS]

It prints what it does, one line each, and goes on until it is stopped. A stream that breaks is
resumed where it ended, at another node where there are several.

Exit code 1: fabricd does not answer any more.
"""
import argparse
import sys
import time
import uuid

import grpc

import fabric_api

fabric, messages, remediation_stub, event_messages, event_stub = fabric_api.load(
    "fabric_pb2", "remediation_service_pb2", "remediation_service_pb2_grpc", "event_service_pb2",
    "event_service_pb2_grpc")

OWNER = "example-watcher"
STREAM = 120  # Seconds after which a stream is opened again: its node may hang.
TRIGGERS = ["LinkDown", "LinkUp", "LinkSuppressed", "LinkReleased", "NodeVanished", "NodeAppeared",
            "ConditionRaised", "ConditionCleared", "RerouteCompleted"]


class Watcher:
    def __init__(self, servers, ttl):
        self.nodes = fabric_api.Nodes(servers)
        self.ttl = ttl
        self.failures = 0  # In a row.
        self.version = ""  # Of the last event or bookmark seen.
        self.is_watching = False
        self.nics = {}     # The devices seen of each host: one without a cable is not on the fabric.

    def call(self, method, request, timeout, of_master=False):
        return self.nodes.call(remediation_stub.RemediationServiceStub, method, request, timeout,
                               of_master)

    def holds(self):
        """Our own cordons, by host."""
        request = messages.ListHoldsRequest(owner=OWNER, kind=fabric.HOLD_KIND_CORDON,
                                            page_size=5000)
        answer = self.call("ListHolds", request, 10)
        return {hold.target.name: hold for hold in answer.holds}

    def trouble(self, host, hold):
        """What is wrong with a host, our own hold apart: a NIC that is held tells each of its holds
        and whatever else is wrong, a reason each."""
        devices = {nic.device for nic in host.nics}
        seen = self.nics.setdefault(host.host, set())
        seen |= devices
        trouble = ["%s: is not on the fabric" % device for device in sorted(seen - devices)]
        for nic in host.nics:
            own = hold is not None and hold.id in nic.hold_ids
            if (nic.readiness in (messages.READINESS_DEGRADED, messages.READINESS_UNKNOWN)
                    or own and len(nic.reasons) > len(nic.hold_ids)):
                trouble.append("%s: %s" % (nic.device, "; ".join(nic.reasons)))
        return trouble

    def look(self):
        """Cordons what is in trouble, lifts what is not any more."""
        # To a node that only waits each NIC is UNKNOWN.
        ready = self.call("BatchGetReadiness", messages.BatchGetReadinessRequest(), 10,
                          of_master=True)
        holds = self.holds()
        for host in ready.hosts:
            hold = holds.get(host.host)
            trouble = self.trouble(host, hold)
            if trouble and hold is None:
                self.cordon(host.host, trouble[0])
            if hold is not None and not trouble:
                self.lift(host.host, hold)

    def cordon(self, host, reason):
        request = messages.CreateHoldRequest(
            target=host, target_kind=messages.TARGET_KIND_HOST, kind=fabric.HOLD_KIND_CORDON,
            reason=reason, owner=OWNER, request_id=str(uuid.uuid4()))
        request.ttl.FromSeconds(self.ttl)
        hold = self.call("CreateHold", request, 60).hold
        print("cordoned %s (hold %s): %s" % (host, hold.id, reason), flush=True)

    def lift(self, host, hold):
        request = messages.DeleteHoldRequest(id=hold.id, owner=OWNER, request_id=str(uuid.uuid4()))
        self.call("DeleteHold", request, 60)
        print("uncordoned %s" % host, flush=True)

    def follow(self):
        """Looks once, then after each event that may matter."""
        self.look()
        if self.failures or not self.is_watching:
            print("watching %d hosts" % len(self.nics), flush=True)
        self.is_watching, self.failures = True, 0
        # What happened since the look is seen by the next one, at the first bookmark at the latest.
        request = event_messages.WatchEventsRequest(resource_version=self.version, types=TRIGGERS)
        stream = self.nodes.stub(event_stub.EventServiceStub).WatchEvents(request, timeout=STREAM)
        for message in stream:
            self.failures = 0
            if message.HasField("event"):
                event = message.event
                self.version = event.resource_version
                print("%s %s" % (event.type, event.subject), flush=True)
            else:
                self.version = getattr(message, message.WhichOneof("message")).resource_version
            # At bookmarks too: a port becomes ACTIVE some time after its LinkUp.
            self.look()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--server", default="unix:/run/fabricd/fabricd.sock",
                        help="or several, with commas: the nodes that share the fabric")
    parser.add_argument("--ttl", type=int, default=3600, help="seconds a cordon stands without us")
    arguments = parser.parse_args()
    watcher = Watcher(arguments.server.split(","), arguments.ttl)
    while watcher.failures < 10:
        server = watcher.nodes.server
        try:
            watcher.follow()
        except fabric_api.NoMaster as error:
            print(error, file=sys.stderr)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and not watcher.failures:
                continue  # Of the stream: it is opened again.
            if error.code() == grpc.StatusCode.OUT_OF_RANGE:
                watcher.version = ""  # Too old: what was missed is seen by look().
            print("%s: %s" % (error.code().name, error.details()), file=sys.stderr)
            if watcher.nodes.server == server:
                watcher.nodes.move(error)
        watcher.failures += 1
        time.sleep(1)
    return 1


if __name__ == "__main__":
    sys.exit(main())
