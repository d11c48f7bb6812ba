# SPDX-License-Identifier: Apache-2.0
"""The modules of fabric.v1's messages and stubs, made by protoc when they are asked for."""
import importlib
import os
import subprocess
import sys
import tempfile

PROTO = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "proto")


def load(*names):
    """The modules called `names` ("event_service_pb2", "event_service_pb2_grpc", …). They are made
    in a folder that is gone afterwards."""
    files = [os.path.join("fabric", "v1", name)
             for name in sorted(os.listdir(os.path.join(PROTO, "fabric", "v1")))]
    with tempfile.TemporaryDirectory() as folder:
        plugin = subprocess.run(["which", "grpc_python_plugin"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        subprocess.run(["protoc", "-I", PROTO, "--python_out", folder, "--grpc_python_out", folder,
                        "--plugin=protoc-gen-grpc_python=" + plugin, *files], check=True)
        sys.path.insert(0, folder)
        try:
            return [importlib.import_module("fabric.v1." + name) for name in names]
        finally:
            sys.path.remove(folder)
