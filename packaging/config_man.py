#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes fabricd.yaml(5) from the commented default configuration.

usage: config_man.py fabricd.example.yaml fabricd.yaml.5
"""
import re
import sys

HEAD = r""".\" SPDX-License-Identifier: Apache-2.0
.\" Generated from config/fabricd.example.yaml.
.TH FABRICD.YAML 5 "" fabricd "fabricd configuration"
.SH NAME
fabricd.yaml \- configuration of the InfiniBand subnet manager fabricd
.SH SYNOPSIS
.I /etc/fabricd/fabricd.yaml
.SH DESCRIPTION
YAML. A key that is left out has its default, which is shown below. Unknown and repeated keys, values
that are out of range and keys that contradict each other are errors that name the line;
.B fabricd --check-config
lists all of them. In brackets stands when a change takes effect after a reload (SIGHUP,
.BR "fabricctl config reload" ):
.B live
at once,
.B resweep
with a heavy sweep that the reload starts,
.B restart
when fabricd is started again. Durations are numbers with us, ms, s, m, h or d.
"""
TAIL = """.SH FILES
.TP
.I /etc/fabricd/fabricd.yaml
Read by both units. It may hold an M_Key: mode 0640.
.SH SEE ALSO
.BR fabricd (8),
.BR fabricctl (1)
"""


def roff(text):
    text = text.replace("\\", "\\\\").replace("-", "\\-")
    return re.sub(r"^([.'])(?!br$)", r"\\&\1", text, flags=re.M).replace(" \n", "\n")


def pages(lines):
    comment, section = [], ""
    in_head = True
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("# SPDX") or (in_head and stripped.startswith("#")):
            continue
        if not stripped:
            comment, in_head = [], False
            continue
        in_head = False
        if stripped.startswith("#"):
            text = stripped[1:].rstrip()
            # What is set in is a list: its lines stay lines.
            comment.append("\n.br\n" + text.strip() if text.startswith("   ") else text.strip())
            continue
        if stripped.startswith("- "):
            yield ".RS\n%s\n.RE\n" % roff(stripped)
            continue
        key, _, value = stripped.partition(":")
        if not line.startswith(" "):
            section = ""
            if not value.strip() and key != "listen":
                section = key
                yield ".SS %s\n%s" % (roff(key), roff(" ".join(comment)) + "\n" if comment else "")
                comment = []
                continue
        name = section + "." + key if section else key
        yield ".TP\n.BR \"%s: %s\"\n%s" % (roff(name), roff(value.strip()).replace('"', r"\(dq"),
                                          roff(" ".join(comment)) + "\n" if comment else "")
        comment = []


def main(source, target):
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(target, "w", encoding="utf-8") as file:
        file.write(HEAD + ".SH KEYS\n" + "".join(pages(lines)) + TAIL)


if __name__ == "__main__":
    main(*sys.argv[1:])
