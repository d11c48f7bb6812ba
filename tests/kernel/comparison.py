# SPDX-License-Identifier: Apache-2.0
"""tools/kernel-test --compare: what each manager takes for the same, side by side."""
import os
import statistics

MANAGERS = ("fabricd", "opensm")
# What is measured, the scenario, the fact that it leaves, its unit.
ROWS = (
    ("bring-up of 3 HCAs, from the start of the process to ACTIVE", "bring-up", "active_s", "s"),
    ("bring-up of 64 HCAs", "many", "active_s", "s"),
    ("cable of an HCA put back, to ACTIVE", "cable", "active_again_s", "s"),
    ("cable between switches pulled, last to first answer of ping", "redundant-cable", "gap_s", "s"),
    ("`kill -9` of the master, to the standby's LID in all ports", "killed-manager", "takeover_s", "s"),
    ("the master's node loses power, to the standby's LID in the ports of another kernel", "dead-node",
     "takeover_s", "s"),
    ("handover to the other manager of a higher priority", "handover-to-other", "handover_s", "s"),
    ("storm over a restart: failed of 300 connections", "storm-restart", "failed", ""),
    ("storm over a takeover: failed of 400", "storm-takeover", "failed", ""),
    ("storm over a handover: failed of 400", "storm-handover", "failed", ""),
    ("storm over a loaded SA: failed of 1,000", "overload", "failed", ""),
)


def load():
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"


def cell(values, unit):
    """Median, and the worst where there are several."""
    if not values:
        return "no result"
    text = f"{statistics.median(values):.3g}"
    if len(values) > 1:
        text += f" (worst {max(values):.3g})"
    return f"{text} {unit}".rstrip()


def table(measure, times, rows=ROWS):
    """A table in Markdown. measure(scenario, manager): the result of one run."""
    lines = [f"| {times} runs each, {load()} at the start | {' | '.join(MANAGERS)} |",
             "|---|" + "---|" * len(MANAGERS)]
    for title, scenario, fact, unit in rows:
        found = {manager: [] for manager in MANAGERS}
        for _ in range(times):  # In turn, so that a change of the load meets both.
            for manager in MANAGERS:
                facts = measure(scenario, manager).get("facts", {})
                found[manager] += [facts[fact]] if fact in facts else []
        lines.append(f"| {title} | {' | '.join(cell(found[manager], unit) for manager in MANAGERS)} |")
    return "\n".join([*lines, f"{load()} at the end"])
