#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricd killed (SIGKILL) at random points of its bring-up, again and again, on a fabric that grows
and shrinks meanwhile. The embedded fabric dies with the process, so that LIDs can come from the store
alone: what was assigned once stays, and no LID is ever a second port's. The judge is SQLite's own
check of the files as the kill left them.

usage: kill_test.py BIN_DIR [TEST...]
"""
import os
import random
import shutil
import sqlite3
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

SEED = 3
KILLS = 10


class Killed(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.fabricd = ibsim.Fabricd(self)
        self.lid_of, self.port_of = {}, {}  # Of every port and LID that was ever assigned.

    def some_fabric(self):
        """Other pods and hosts each time; a node keeps its GUIDs whatever else is there."""
        return "sim:fat-tree:radix=8,levels=2,pods=%d,fill=%s" % (
            self.random.randint(2, 8), self.random.choice(("0.25", "0.5", "1")))

    def remember(self, port_guid, lid):
        self.assertEqual(self.lid_of.setdefault(port_guid, lid), lid, "a port's LID has changed")
        self.assertEqual(self.port_of.setdefault(lid, port_guid), port_guid, "a LID was used twice")

    def check_store(self):
        """The database as it lies on the disk, read by SQLite in a copy; its records."""
        if not os.path.exists(os.path.join(self.fabricd.state, "fabricd.db")):
            return []
        copy = self.path("copy")
        shutil.copytree(self.fabricd.state, copy, ignore=shutil.ignore_patterns("*-shm", "*.lock"))
        database = sqlite3.connect(os.path.join(copy, "fabricd.db"))
        try:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            tables = {name for name, in database.execute("SELECT name FROM sqlite_schema")}
            rows = database.execute("SELECT port_guid, base_lid FROM lids").fetchall() \
                if "lids" in tables else []
        finally:
            database.close()
            shutil.rmtree(copy)
        for port_guid, lid in rows:
            self.remember(port_guid, lid)
        self.assertLessEqual(set(self.lid_of), {port_guid for port_guid, _ in rows},
                             "what was stored once was lost")
        return rows

    def shown(self):
        """{port GUID: LID} by fabricctl."""
        ports = {end["guid"]: end["lid"] for node in self.fabricd.ask("get", "nodes")["nodes"]
                 for end in node["end_ports"]}
        self.assertTrue(ports)
        self.assertNotIn(0, ports.values())
        return ports

    def test_lids_survive_kills_at_random_points(self):
        self.fabricd.state = self.path("first.state")
        began = time.monotonic()
        self.fabricd.start(fabric="sim:fat-tree:radix=8,levels=2").log.wait_for("subnet up")
        bring_up = time.monotonic() - began
        self.fabricd.kill()

        self.fabricd.state = self.path("fabricd.state")
        killed_early = 0
        for _ in range(KILLS):
            self.fabricd.start(fabric=self.some_fabric())
            # From the start of the process to a little behind the end of a bring-up.
            time.sleep(self.random.uniform(0, 1.2) * bring_up)
            self.fabricd.kill()
            killed_early += "subnet up" not in self.fabricd.log.text()
            self.check_store()

        self.fabricd.start(fabric="sim:fat-tree:radix=8,levels=2").log.wait_for("subnet up")
        for port_guid, lid in self.shown().items():
            self.remember(port_guid, lid)
        self.assertEqual(self.fabricd.stop(), 0)
        self.assertNotRegex(self.fabricd.log.text(), r"\b(error|warning)\b")
        self.assertEqual(len(self.check_store()), 32 + 12)
        print("%d of %d lives ended before the subnet was up" % (killed_early, KILLS))

    def test_lids_are_stored_before_they_are_shown(self):
        """Killed right after it has come up, with no time to write anything later."""
        for _ in range(3):
            self.fabricd.start(fabric=self.some_fabric())
            self.fabricd.log.wait_for("subnet up")
            shown = self.shown()
            self.fabricd.kill()
            stored = dict(self.check_store())
            self.assertEqual({port: stored.get(port) for port in shown}, shown)
            for port_guid, lid in shown.items():
                self.remember(port_guid, lid)


if __name__ == "__main__":
    ibsim.main([])
