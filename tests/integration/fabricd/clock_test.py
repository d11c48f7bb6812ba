#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall clock is set while fabricd runs (by libfaketime, which leaves the steady one alone), and
while it does not: holds last as long as they were asked for.

usage: clock_test.py BIN_DIR [TEST...]
"""
import datetime
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

SHIMS = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
FABRIC = "sim:superpod:sus=1,hosts=2,rails=2"


class WallClock(ibsim.Case):
    def setUp(self):
        super().setUp()
        if not SHIMS:
            self.skipTest("libfaketime is not installed")
        self.set_clock(0)
        self.fabricd = ibsim.Fabricd(self)
        self.start_fabricd()

    def set_clock(self, offset):
        """Seconds; replaced in one go, for fabricd reads it whenever it looks at its clock."""
        self.offset = offset
        os.rename(self.write("offset.new", "%+d\n" % offset), self.path("offset"))

    def start_fabricd(self):
        self.fabricd.start({"LD_PRELOAD": SHIMS[0], "FAKETIME_TIMESTAMP_FILE": self.path("offset"),
                            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}, FABRIC)
        self.fabricd.wait_for("subnet_up")

    def cordon(self, host, ttl):
        return self.fabricd.ctl("cordon", host, "--for", ttl, "--reason", "clock test", "-o",
                                "name").strip().split("/")[1]

    def left(self, hold):
        """Seconds that a hold has left, as fabricd's clock goes."""
        shown = self.fabricd.ask("get", "hold", hold)["expires"].replace("Z", "+00:00")
        return datetime.datetime.fromisoformat(shown).timestamp() - time.time() - self.offset

    def wait_until(self, what, condition):
        deadline = time.monotonic() + ibsim.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)

    def test_holds_keep_their_duration_when_the_clock_is_set(self):
        before = self.cordon("node0001", "1h")
        for step in (7200, -7200):
            self.set_clock(self.offset + step)
            self.fabricd.log.wait_for("the wall clock was set", times=1 if step > 0 else 2)
            self.wait_until("retimed", lambda: 3300 < self.left(before) <= 3601)
            after = self.cordon("node0002", "1h")
            self.assertAlmostEqual(self.left(after), 3600, delta=300)
            self.fabricd.ctl("uncordon", "node0002")
        # The book was rewritten: a restart under the clock that was set agrees.
        self.set_clock(self.offset + 7200)
        self.fabricd.log.wait_for("the wall clock was set", times=3)
        self.fabricd.kill()
        self.start_fabricd()
        self.assertLess(3300, self.left(before))
        # A hold that ends soon does so by the steady clock.
        soon = self.cordon("node0002", "2s")
        self.set_clock(self.offset - 14400)
        self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, "wait", "hold", soon, "--for",
                         "deleted")
        self.assertLess(3000, self.left(before))

    def test_a_clock_set_back_during_a_restart_stretches_no_hold(self):
        hold = self.cordon("node0001", "1h")
        self.fabricd.kill()
        self.set_clock(-36000)
        self.start_fabricd()
        self.wait_until("retimed", lambda: self.left(hold) <= 3601)


if __name__ == "__main__":
    ibsim.main([])
