#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether each decoder of bytes and each reader of text that a public header declares is named by a
fuzzer. A new one without a fuzzer fails here.

usage: every_decoder.py SOURCE_DIR
"""
import glob
import os
import re
import sys

# Internal to one that a fuzzer names.
REACHED_BY = {"ParseTopologyLine": "ReadTopology", "ParseNumber": "ReadTopology",
              "ParseHex": "ReadTopology"}
FOLDERS = ("mad", "fabric", "store", "config", "sim", "sa", "telemetry", "policy", "routing", "sweep",
           "daemon", "cli")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def readers(text):
    """The names in a header of what takes bytes or text apart: X of `static X Decode(bytes)`, and
    functions called Parse…, Read… or Load… of a text."""
    found = set()
    for owner, body in re.findall(r"(?m)^(?:struct|class) (\w+)[^;{]*\{(.*?)^\};", text, re.S | re.M):
        if re.search(r"static [\w:<>]+ (?:Decode|Parse)\(", body):
            found.add(owner)
    flat = re.sub(r"(?ms)^(?:struct|class) \w+[^;{]*\{.*?^\};", "", text)
    for name, arguments in re.findall(r"(?m)^[\w:<>\[\] ]+\b((?:Parse|Read|Load)\w+)\(([^)]*)\)", flat):
        if re.search(r"\bstring(_view)?\b", arguments) and "path" not in arguments:
            found.add(name)
    return found


def main():
    root = sys.argv[1]
    fuzzers = ""
    for path in glob.glob(os.path.join(root, "tests", "fuzz", "**", "*_fuzzer.cc"), recursive=True):
        with open(path, encoding="utf-8") as file:
            fuzzers += without_comments(file.read())
    names = {}
    for folder in FOLDERS:
        for path in glob.glob(os.path.join(root, folder, "**", "*.h"), recursive=True):
            with open(path, encoding="utf-8") as file:
                for name in readers(without_comments(file.read())):
                    names[name] = os.path.relpath(path, root)
    missing = [name for name in sorted(names)
               if not re.search(r"\b%s\b" % REACHED_BY.get(name, name), fuzzers)]
    for name in missing:
        print("%s: no fuzzer names %s" % (names[name], name))
    # The headers that this reads are there, and it can tell readers from the rest.
    known = {"PortInfo", "Smp", "SaHeader", "ReadTopology", "ParseGuid2Lid", "LoadYaml", "NodeNameMap"}
    if not known <= set(names):
        print("not found any more: %s" % ", ".join(sorted(known - set(names))))
        return 1
    print("%d decoders and readers, %d without a fuzzer" % (len(names), len(missing)))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
