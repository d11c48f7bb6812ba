#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a scheduler does about a suspicious NIC of a running job's host, by fabricd's gRPC API:
cordon it, drain it, wait until no route uses it, and lift both when it is well.

usage: scheduler.py --server unix:PATH[,…] --host NAME [--device mlx5_2] [--timeout SECONDS]

Exit codes: 0 done, 1 not in effect in time or the host is not ready afterwards, 6 refused by a guard.
"""
import argparse
import sys
import time
import uuid

import grpc

import fabric_api

OWNER = "example-scheduler"

fabric, messages, remediation_stub, event_messages, event_stub = fabric_api.load(
    "fabric_pb2", "remediation_service_pb2", "remediation_service_pb2_grpc", "event_service_pb2",
    "event_service_pb2_grpc")


class Network:
    """The calls that a scheduler needs. A call that fails raises grpc.RpcError."""

    def __init__(self, servers, timeout):
        self.nodes = fabric_api.Nodes(servers)
        self.timeout = timeout

    def call(self, method, request):
        return self.nodes.call(remediation_stub.RemediationServiceStub, method, request,
                               self.timeout)

    def readiness(self, host):
        return self.call("BatchGetReadiness", messages.BatchGetReadinessRequest(hosts=[host]))

    def hold(self, kind, target, reason):
        """Makes a hold. The request_id lets the call be repeated when its answer is lost; the time
        to live ends the hold when this scheduler is not there any more to lift it."""
        request = messages.CreateHoldRequest(
            target=target, target_kind=messages.TARGET_KIND_HCA, kind=kind, reason=reason,
            owner=OWNER, request_id=str(uuid.uuid4()))
        request.ttl.FromSeconds(2 * 3600)
        return self.call("CreateHold", request)

    def acknowledge(self, hold):
        self.call("AckHold", messages.AckHoldRequest(id=hold.id))

    def lift(self, hold):
        request = messages.DeleteHoldRequest(id=hold.id, owner=OWNER, request_id=str(uuid.uuid4()))
        return self.call("DeleteHold", request)

    def find(self, hold):
        return self.call("ListHolds", messages.ListHoldsRequest(ids=[hold.id])).holds[0]

    def wait_until(self, is_so, resource_version):
        """Waits until `is_so()`, asking again with each event after `resource_version`. The stream's
        bookmarks make that happen now and then even when nothing happens. Events have the same
        versions at each node, so that a stream that breaks is resumed at another one."""
        request = event_messages.WatchEventsRequest(resource_version=resource_version)
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:
            stream = self.nodes.stub(event_stub.EventServiceStub).WatchEvents(
                request, timeout=end - time.monotonic())
            try:
                for _ in stream:
                    if is_so():
                        return True
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    break
                if not self.nodes.move(error):
                    raise
                time.sleep(fabric_api.PAUSE)
            finally:
                stream.cancel()
        return is_so()


def name_of(readiness):
    return messages.Readiness.Name(readiness).replace("READINESS_", "")


def show(answer):
    for host in answer.hosts:
        print("%s is %s" % (host.host, name_of(host.readiness)))
        for nic in host.nics:
            print("  %s %s%s" % (nic.device, name_of(nic.readiness),
                                 "".join("; " + reason for reason in nic.reasons)))


def look_after(network, host, device):
    before = network.readiness(host)
    show(before)
    nic = "%s/%s" % (host, device or before.hosts[0].nics[0].device)

    cordon = network.hold(fabric.HOLD_KIND_CORDON, nic, "job 4711: time-outs on this NIC")
    print("cordoned %s: hold %s" % (nic, cordon.hold.id))
    drain = network.hold(fabric.HOLD_KIND_DRAIN, nic, "job 4711: time-outs on this NIC")
    print("draining %s: hold %s, %d table entries move" %
          (nic, drain.hold.id, drain.consequences.paths_moved))
    if not network.wait_until(
            lambda: network.find(drain.hold).state == messages.HOLD_STATE_IN_EFFECT,
            drain.resource_version):
        print("the drain is not in effect: %s" % network.find(drain.hold).note, file=sys.stderr)
        return 1
    print("the drain is in effect")
    show(network.readiness(host))
    # The job has moved to the other NICs; what is to be done with this one can be done.
    network.acknowledge(drain.hold)

    network.lift(drain.hold)
    lifted = network.lift(cordon.hold)
    print("lifted both")

    def is_ready():
        return network.readiness(host).hosts[0].readiness == messages.READINESS_READY

    ready = network.wait_until(is_ready, lifted.resource_version)
    show(network.readiness(host))
    return 0 if ready else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--server", default="unix:/run/fabricd/fabricd.sock",
                        help="or several, with commas: the nodes that share the fabric")
    parser.add_argument("--host", required=True, help="the host whose NIC is suspicious")
    parser.add_argument("--device", help="the NIC (mlx5_2); else the host's first")
    parser.add_argument("--timeout", type=float, default=60, help="seconds to wait for each step")
    arguments = parser.parse_args()
    try:
        return look_after(Network(arguments.server.split(","), arguments.timeout),
                          arguments.host, arguments.device)
    except grpc.RpcError as error:
        print("error: %s: %s" % (error.code().name, error.details()), file=sys.stderr)
        return 6 if error.code() == grpc.StatusCode.FAILED_PRECONDITION else 1


if __name__ == "__main__":
    sys.exit(main())
