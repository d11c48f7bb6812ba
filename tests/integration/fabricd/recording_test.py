#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the real daemon records on ibsim (bring-up, flaps, a hold, a restart) replays to the same
digest of effects, and comes with tech-support.

usage: recording_test.py BIN_DIR [TEST...]
"""
import json
import os
import re
import shutil
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

# Two leaves with two hosts each, two spines.
FABRIC = """\
Switch 8 "spine1"
[1] "leaf1"[6]
[2] "leaf2"[6]

Switch 8 "spine2"
[1] "leaf1"[7]
[2] "leaf2"[7]

Switch 8 "leaf1"
[1] "node1 mlx5_0"[1]
[2] "node2 mlx5_0"[1]
[6] "spine1"[1]
[7] "spine2"[1]

Switch 8 "leaf2"
[1] "node3 mlx5_0"[1]
[2] "node4 mlx5_0"[1]
[6] "spine1"[2]
[7] "spine2"[2]

Hca 1 "node1 mlx5_0"
[1] "leaf1"[1]

Hca 1 "node2 mlx5_0"
[1] "leaf1"[2]

Hca 1 "node3 mlx5_0"
[1] "leaf2"[1]

Hca 1 "node4 mlx5_0"
[1] "leaf2"[2]
"""
SM = "node1 mlx5_0"
CONFIG = "sweep: {light_interval: 500ms}\nsm: {m_key: 0x5ec2e7b1ab1e5eed}\n"


class Recorded(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.sim = ibsim.Ibsim(self, self.write("recorded.net", FABRIC))
        self.fabricd = ibsim.Fabricd(self, CONFIG)

    def live(self, *deeds):
        """One life of the daemon."""
        self.fabricd.start(self.sim.environment(SM))
        self.fabricd.wait_for("subnet_up")
        for deed in deeds:
            deed()
        self.assertEqual(self.fabricd.stop(), 0)

    def flap(self):
        links = len(self.fabricd.ask("get", "links")["links"])
        for command, count in (('Unlink "leaf1"[6]', links - 1), ('ReLink "leaf1"[6]', links)):
            self.sim.console(command)
            for _ in range(600):
                self.fabricd.ctl("sweep", "--wait")
                if len(self.fabricd.ask("get", "links")["links"]) == count:
                    break
            self.assertEqual(len(self.fabricd.ask("get", "links")["links"]), count, command)

    def hold(self):
        made = json.loads(self.fabricd.ctl("drain", "switch", "spine2", "--reason", "recorded",
                                           "-o", "json"))
        self.fabricd.ctl("--timeout", "%ds" % ibsim.PATIENCE, "wait", "hold", made["hold"]["id"],
                         "--for", "in-effect")

    def segments(self):
        folder = os.path.join(self.fabricd.state, "recordings")
        return sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def replay(self, path, *more, code=0):
        return self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricsim"), "replay", path,
                                 *more], code=code)

    def assert_same_digest(self, text):
        digests = re.search(r"(\d+) records .* recorded ([0-9a-f]{16}), replayed ([0-9a-f]{16})",
                            text)
        self.assertTrue(digests, text)
        self.assertGreater(int(digests[1]), 100, text)
        self.assertEqual(digests[2], digests[3], text)
        self.assertNotIn("ended early", text)

    def test_each_life_replays_to_the_same_digest(self):
        self.live(self.flap, self.hold)
        self.live(self.flap)
        lives = self.segments()
        self.assertEqual(len(lives), 2, lives)
        for segment in lives:
            self.assert_same_digest(self.replay(segment))
        self.assertIn("create hold", self.replay(lives[0], "--list"))
        self.assertEqual(self.replay(os.path.dirname(lives[0])), self.replay(lives[1]),
                         "a directory is its newest life")

    def test_no_key_is_recorded(self):
        self.live()
        self.assert_same_digest(self.replay(self.segments()[0]))
        listed = self.replay(self.segments()[0], "--break-at", "0")
        for text in (listed, self.replay(self.segments()[0], "--list")):
            self.assertNotIn("5ec2e7b1ab1e5eed", text.lower())

    def test_tech_support_takes_recordings_along(self):
        archive = self.path("support.tar.gz")
        # What has just happened is on disk a second later.
        self.live(lambda: time.sleep(3),
                  lambda: self.fabricd.ctl("tech-support", "-f", archive))
        with tarfile.open(archive) as tar:
            names = [name for name in tar.getnames() if name.endswith(".fabricrec")]
            self.assertEqual([os.path.basename(name) for name in names],
                             [os.path.basename(path) for path in self.segments()])
            tar.extractall(self.path("support"))
        for name in names:
            self.assert_same_digest(self.replay(os.path.join(self.path("support"), name)))

    def test_a_damaged_recording_is_refused_with_the_reason(self):
        self.live()
        segment = self.segments()[0]
        damaged = self.path(os.path.basename(segment))
        shutil.copy(segment, damaged)
        with open(damaged, "r+b") as file:
            file.seek(os.path.getsize(segment) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0xFF]))
        self.assertRegex(self.replay(damaged, code=1), "fabricsim: .*" + re.escape(damaged))
        foreign = self.write("0-000000.fabricrec", "not a recording")
        self.assertRegex(self.replay(foreign, code=1), "fabricsim: .*" + re.escape(foreign))


if __name__ == "__main__":
    ibsim.main(["ibsim"])
