#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alerts on what fabricd served of simulated fabrics with known causes, and the documents that alerts
point to.

usage: alerts_test.py BIN_DIR [TEST...]
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import alert_recordings  # noqa: E402
import ibsim  # noqa: E402
from prometheus import FOLDER  # noqa: E402

RUNBOOK = re.compile(r"^          runbook_url: docs/VERDICTS\.md#(\w+)$", re.M)


def read(*path):
    with open(os.path.join(ibsim.ROOT, *path), encoding="utf-8") as file:
        return file.read()


def alerts_with_documents():
    """{name: text of the rule} of those in the groups about links."""
    text = read("contrib", "prometheus", "fabricd.rules.yml")
    text = text[text.index("  - name: fabricd.verdicts"):]
    rules = re.split(r"^      - alert: ", text, flags=re.M)[1:]
    return {rule.split("\n", 1)[0]: rule for rule in rules}


class Recorded(ibsim.Case):
    def test_alerts_on_recorded_series(self):
        self.run_program(["promtool", "test", "rules",
                          os.path.join(FOLDER, "fabricd.recorded.test.yml")])


class Again(ibsim.Case):
    def test_alerts_on_series_of_this_build(self):
        if not os.environ.get("FABRICD_NIGHTLY"):
            self.skipTest("takes a minute: nightly")
        text = alert_recordings.record_all(self)
        self.run_program(["promtool", "test", "rules", self.write("recorded.yml", text)])


class Documents(ibsim.Case):
    def test_each_alert_has_its_section(self):
        part = read("docs", "VERDICTS.md").split("\n## Alerts\n")[1].split("\n## ")[0]
        headings = re.findall(r"^### (\w+)$", part, re.M)
        rules = alerts_with_documents()
        self.assertGreater(len(rules), 15)
        for name, rule in rules.items():
            self.assertEqual(RUNBOOK.findall(rule), [name.lower()])
            self.assertRegex(rule, r"severity: (critical|warning|info)\}")
            self.assertRegex(rule, r"\n          summary: \S")
            self.assertRegex(rule, r"\n          description: \S")
        self.assertEqual(sorted(headings), sorted(rules))

    def test_each_alert_is_tested(self):
        tested = read("contrib", "prometheus", "fabricd.rules.test.yml")
        for name in alerts_with_documents():
            self.assertRegex(tested, r"alertname: %s\n        exp_alerts:\n" % name)


if __name__ == "__main__":
    ibsim.main(["promtool"])
