# SPDX-License-Identifier: Apache-2.0
"""Recordings of what a program sends and receives, and the oracle of ../shared/wire that judges them."""
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

import ibsim

WIRE = os.path.join(ibsim.SHARED, "wire")

# PortInfo fields that plain ibsim answers as it likes, whatever was set (WIRE.md §3): every SM sets
# them again at every start.
NOT_STORED = {"SubnetTimeOut", "M_KeyLeasePeriod", "PartEnfIn", "PartEnfOut", "LocalPhyErrors",
              "OverrunErrors", "LinkSpeedEnabled"}
# Of madtweak: CA ports say IsClientReregistrationSupported, which those of ibsim do not.
REREGISTER = "0x15:160:32:|0x02000000:c"


class Oracle:
    """madtrace and madtweak, built in a folder of their own: ../shared is read-only."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fabricd-wire-")
        for pattern in ("*.c", "*.sh", "*.py"):
            for file in glob.glob(os.path.join(WIRE, pattern)):
                shutil.copy(file, self.folder)
        subprocess.run(["./build.sh"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        spec = importlib.util.spec_from_file_location("madtrace_oracle",
                                                      os.path.join(self.folder, "madtrace.py"))
        self.madtrace = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.madtrace)

    def remove(self):
        shutil.rmtree(self.folder)

    def environment(self, sim, host, trace, tweak=""):
        """For a program on `host` of an ibsim.Ibsim, whose MADs are to be written to `trace`."""
        preload = os.path.join(self.folder, "madtrace.so")
        more = {"MADTRACE_OUT": trace, "MADTRACE_FULL": "1"}
        if tweak:
            preload += " " + os.path.join(self.folder, "madtweak.so")
            more["MADTWEAK"] = tweak
        return sim.environment(host, preload, **more)

    def _say(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(self.folder, "madtrace.py"), *arguments],
                              stdout=subprocess.PIPE, text=True, check=False).stdout

    def broken_rules(self, trace):
        """{rule: what --check says of it}, of those that do not hold."""
        broken, rule, rules = {}, None, 0
        for line in self._say("--check", trace).splitlines():
            head = re.match(r"(\w+) +(ok|\d+ bad)\b", line)
            if head:
                rules += 1
                rule = None if head[2] == "ok" else head[1]
            if rule:
                broken[rule] = broken.get(rule, "") + line + "\n"
        assert rules >= 20, "madtrace.py --check said too little"
        return broken

    def differences(self, theirs, ours):
        """The kinds of difference between two recordings' Sets, as --diff writes them: A is theirs."""
        text = self._say("--diff", os.path.join(WIRE, "traces", theirs + ".trace.gz"), ours)
        assert "## by kind" in text, text
        kinds = text.partition("## by kind")[2].partition("## counted only")[0]
        return re.findall(r"(?m)^ *\d+ x (.*)$", kinds)

    def read(self, trace):
        """The recording's MADs, decoded. It may still be growing."""
        return self.madtrace.Trace([trace])

    def sets(self, trace, since=0):
        """[(attribute, node GUID, port, the MAD)] of the Sets from MAD number `since` on."""
        return [(mad.attr_name, mad.node, mad.port(), mad) for mad in self.read(trace).sets()
                if mad.n > since]

    def port_changes(self, trace):
        """[(node GUID, port, {field: (as last read, as set)})] of the PortInfo Sets, without the fields
        that are set to "no change" and those that ibsim does not store. Empty where no other differs."""
        read, changes = {}, []
        for mad in self.read(trace).mads:
            if mad.attr_name != "PortInfo" or mad.node is None:
                continue
            key = mad.node, mad.port()
            if mad.dir == "R" and mad.is_response and not mad.status and not mad.timed_out:
                read[key] = mad.fields()
            elif mad.dir == "S" and mad.method_name == "Set":
                same = {"PortState": "nochange", "PortPhysicalState": "0"}
                assert same.keys() <= mad.fields().keys() and NOT_STORED <= mad.fields().keys()
                changes.append((*key, {
                    field: (read[key][field], value) for field, value in mad.fields().items()
                    if value not in (read[key][field], same.get(field)) and field not in NOT_STORED}))
        return changes
