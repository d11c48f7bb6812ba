# SPDX-License-Identifier: Apache-2.0
"""The host's side of a scenario: guest kernels that run it, alone or several on one fabric."""
import json
import os
import pathlib
import re
import socket
import subprocess
import time

from managers import BIN
from vehicle import ROOT

BEGINS = "kernel-test: the scenario begins"
# What a healthy kernel does not log.
BAD_LOG = re.compile(r"\bBUG\b|WARNING|Oops|Call Trace|possible .* detected|INFO: task|\bleak|"
                     r"UBSAN|use-after-free|simib: .*(full|cannot)|simib\d: .*(failed|error)")


class Machine:
    """A guest kernel that runs a scenario, as the one of that number."""

    def __init__(self, run, directory, kernel=0, stream=None):
        """stream: a socket that the guest has as a character device."""
        self.directory, self.seconds = directory, run.seconds
        directory.mkdir(parents=True)
        number = None if stream is None else stream.fileno()
        command = run.vehicle.command(directory, [
            "/usr/bin/python3", ROOT / "tests/kernel/guest.py", run.vehicle.NAME, run.scenario.name,
            run.manager, directory, run.module, "-" if run.breakage is None else run.breakage, kernel],
            stream=number)
        with open(directory / "console.log", "wb") as console:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                            stdout=console, stderr=subprocess.STDOUT,
                                            start_new_session=True,
                                            pass_fds=() if number is None else (number,))

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()

    def result(self):
        """Of the whole run, what its kernel log has of errors included."""
        try:
            self.process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return {"error": f"the guest ran for more than {self.seconds} s", "seconds": self.seconds}
        path = self.directory / "result.json"
        if not path.exists():
            return {"error": "the guest died: see console.log", "seconds": 0}
        result = json.loads(path.read_text())
        if not result["error"] and (bad := self._check_log()):
            result["error"] = f"kernel log: {bad}"
        return result

    def _check_log(self):
        """The first line of the kernel's log that is no good, of what the scenario did; or None."""
        path = self.directory / "kernel.log"
        if not path.exists():
            return "the guest left no kernel log: see console.log"
        lines = path.read_text(errors="replace").splitlines()
        begin = next((i for i, line in enumerate(lines) if BEGINS in line), 0)
        return next((line for line in lines[begin:] if BAD_LOG.search(line)), None)


class Machines:
    """Two kernels on one fabric, which this host serves."""

    def __init__(self, run, directory):
        self.directory = directory
        directory.mkdir(parents=True)
        where = f"/tmp/fabricsim-{os.getpid()}.sock"  # The path of a socket is short.
        with open(directory / "fabric.log", "wb") as log:
            self.fabric = subprocess.Popen(
                [BIN / "fabricsim", "serve", run.scenario.topology, "--kernel", f"unix:{where}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.machines = []
        try:
            for kernel in range(2):
                with _connect(where) as stream:
                    self.machines.append(Machine(run, directory / f"kernel{kernel}", kernel, stream))
        finally:
            pathlib.Path(where).unlink(missing_ok=True)

    def wait_until_said(self, kernel, word):
        """Seconds until that kernel's part of the scenario said it, or ended."""
        machine, start = self.machines[kernel], time.monotonic()
        said = machine.directory / "said"
        while machine.process.poll() is None and time.monotonic() - start < machine.seconds:
            if said.exists() and word in said.read_text().splitlines():
                break
            time.sleep(0.01)
        return time.monotonic() - start

    def kill(self, kernel):
        self.machines[kernel].kill()

    def result(self, direct):
        """Of those that still run when `direct` has done what it does."""
        try:
            facts = direct(self)
            results = [machine.result() for machine in self.machines if machine.process.returncode != -9]
        finally:
            for machine in self.machines:
                machine.kill()
            self.fabric.terminate()
            ended = self.fabric.wait()
        errors = [result["error"] for result in results if result["error"]]
        if ended != 0:
            errors.append(f"fabricsim serve ended with {ended}: see fabric.log")
        return {"error": "\n".join(errors) or None, "facts": facts,
                "seconds": max((result["seconds"] for result in results), default=0)}


def _connect(where):
    """A socket to the fabric, once that listens."""
    deadline = time.monotonic() + 20
    while True:
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.connect(where)
            return stream
        except OSError:
            stream.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
