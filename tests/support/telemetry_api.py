#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client of TelemetryService for tests: reads lines METHOD REQUEST, the request as JSON, and
answers each with one line of JSON: what the method returned, or {"code": …, "details": …}.

usage: telemetry_api.py SERVER
"""
import json
import os
import sys

import grpc
from google.protobuf import json_format

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
import fabric_api  # noqa: E402


def main():
    messages, services = fabric_api.load("telemetry_service_pb2", "telemetry_service_pb2_grpc")
    with grpc.insecure_channel(sys.argv[1]) as channel:
        stub = services.TelemetryServiceStub(channel)
        print("ready", flush=True)
        for line in sys.stdin:
            method, request = line.split(None, 1)
            message = getattr(messages, method + "Request")()
            json_format.Parse(request, message)
            try:
                answer = json_format.MessageToDict(getattr(stub, method)(message, timeout=60),
                                                   preserving_proto_field_name=True,
                                                   including_default_value_fields=True)
            except grpc.RpcError as error:
                answer = {"code": error.code().name, "details": error.details()}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
