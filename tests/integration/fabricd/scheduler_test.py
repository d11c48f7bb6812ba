#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/scheduler.py against a running fabricd on its embedded fabric.

usage: scheduler_test.py BIN_DIR [TEST...]
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

PYTHON = "/usr/bin/python3"  # Whose modules Debian's packages are.
CLIENT = os.path.join(ibsim.ROOT, "examples", "scheduler.py")


class Scheduler(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self)
        self.fabricd.start(fabric="sim:superpod:sus=2,hosts=4,rails=4")
        self.fabricd.wait_for("subnet_up")

    def schedule(self, *arguments, code=0):
        return self.run_program([PYTHON, CLIENT, "--server", "unix:" + self.fabricd.socket,
                                 *arguments], code=code)

    def test_cordons_drains_and_releases(self):
        told = self.schedule("--host", "node0002", "--device", "mlx5_2")
        steps = ["node0002 is READY", "cordoned node0002/mlx5_2", "draining node0002/mlx5_2",
                 "the drain is in effect", "node0002 is HELD", "  mlx5_1 READY", "  mlx5_2 HELD",
                 "lifted both", "node0002 is READY", "  mlx5_2 READY"]
        at = 0
        for step in steps:
            at = told.find(step, at) + 1
            self.assertTrue(at, "%r is missing in:\n%s" % (step, told))
        self.assertEqual(self.fabricd.ask("get", "holds")["holds"], [])
        # The history tells both holds, made, in effect and lifted, in the scheduler's name.
        events = self.fabricd.ask("events", "--since", "10m")["events"]
        for kind in ("HoldCreated", "HoldInEffect", "HoldDeleted"):
            self.assertEqual(len([e for e in events if e["type"] == kind]), 2, kind)

    def test_a_guard_refuses(self):
        # fabricd itself runs on the first host's first NIC.
        own = self.fabricd.ask("get", "sm")["node_name"].split()
        self.assertEqual(len(own), 2, own)
        self.schedule("--host", own[0], "--device", own[1], code=6)
        # What was made before the refusal ends by itself; it is the example's, not ours to lift.
        holds = self.fabricd.ask("get", "holds")["holds"]
        self.assertEqual([hold["kind"] for hold in holds], ["HOLD_KIND_CORDON"])


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import google.protobuf, grpc"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: not installed: python3-grpcio, python3-protobuf", file=sys.stderr)
        sys.exit(ibsim.SKIPPED)
    ibsim.main(["protoc", "grpc_python_plugin"])
