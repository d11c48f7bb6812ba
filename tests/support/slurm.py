# SPDX-License-Identifier: Apache-2.0
"""A real slurmctld of a test, on a port and folder of its own, without slurmds."""
import os
import shutil
import socket

import ibsim

CONF = """
ClusterName=fabricd
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmctldPort=%(port)d
StateSaveLocation=%(folder)s/slurm
SlurmctldPidFile=%(folder)s/slurmctld.pid
MailProg=/bin/true
MpiDefault=none
TopologyPlugin=topology/%(topology)s
ProctrackType=proctrack/pgid
TaskPlugin=task/none
NodeName=%(nodes)s CPUs=1 NodeAddr=127.0.0.1
PartitionName=all Nodes=ALL Default=YES
"""


def is_possible():
    return bool(shutil.which("slurmctld")) and os.geteuid() == 0


class Slurm:
    """`topology`: tree reads the case's topology.conf; none."""

    def __init__(self, case, nodes, topology="none"):
        self.case = case
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        os.mkdir(case.path("slurm"))
        self.environment = {"SLURM_CONF": case.write("slurm.conf", CONF % {
            "port": port, "folder": case.folder, "nodes": nodes, "topology": topology})}
        controller = case.start(["slurmctld", "-D", "-f", self.environment["SLURM_CONF"]])
        self.log = ibsim.Lines(controller)
        self.log.wait_for("Running as primary controller")
        # Without a slurmd that registers them nodes are UNKNOWN, and those cannot be resumed.
        for state in ("DOWN", "RESUME"):
            self.scontrol("update", "NodeName=" + nodes, "State=" + state, "Reason=test")

    def scontrol(self, *words):
        return self.case.run_program(["scontrol", *words], self.environment)
