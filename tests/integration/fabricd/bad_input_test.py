#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fabricd and fabricsim say and return when what they are given is wrong.

usage: bad_input_test.py BIN_DIR [TEST...]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402

THREE_FAULTS = """\
fabric: sim:superpod:sus=1,hosts=2,rails=2
sm:
  priority: 16
  colour: red
lid: {lmc: 9}
"""
EVERY_FAULT = ["bad.yaml:3: sm.priority: expected 0-15, got 16",
               "bad.yaml:4: sm.colour: unknown key",
               "bad.yaml:5: lid.lmc: expected 0-7, got 9"]

SWITCH_AND_HOST = """\
Switch\t4 "S-1"\t\t# "leaf"
[1]\t"H-1"[1]\t\t# lid 0 4xHDR

Ca\t1 "H-1"\t\t# "host1 mlx5_0"
[1]\t"S-1"[1]\t\t# lid 0 4xHDR
"""


class BadInputTest(ibsim.Case):
    def fabricd(self, *arguments, code):
        return self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricd"), "--state-dir",
                                 self.path("state"), *arguments], code=code)

    def on_fabric(self, fabric, code):
        return self.fabricd("--listen", "unix:" + self.path("sock"), "--once", "--fabric", fabric,
                            "--mode", "manage", code=code)

    def test_lists_every_fault_of_a_config(self):
        bad = self.write("bad.yaml", THREE_FAULTS)
        for mode in ("--check-config", "--once"):
            output = self.fabricd("--config", bad, mode, code=2)
            faults = [line.replace(self.folder + os.sep, "") for line in output.splitlines()]
            self.assertEqual(sorted(faults), EVERY_FAULT, output)
        self.assertFalse(os.path.exists(self.path("state")), "a refused config left traces")

    def test_checks_the_files_that_a_config_names(self):
        garbage = self.write("garbage", "-----BEGIN CERTIFICATE-----\nYQ==\n")
        roots = self.write("roots", "0x1\nnonsense  # a name\n")
        missing = self.path("missing")
        config = self.write("files.yaml", """\
sm: {guid2mkey_file: %(missing)s}
lid: {guid2lid_file: %(missing)s}
routing: {roots_file: %(roots)s}
topology: {node_name_map: %(missing)s}
partitions: {file: %(roots)s}
security: {tls_cert: %(garbage)s, tls_key: %(garbage)s, tls_ca: %(garbage)s}
""" % {"missing": missing, "roots": roots, "garbage": garbage})
        output = self.fabricd("--config", config, "--check-config", code=2)
        for fault in ("sm.guid2mkey_file: %s: cannot be read" % missing,
                      "lid.guid2lid_file: %s: cannot be read" % missing,
                      'routing.roots_file: %s:2: "nonsense" is no GUID' % roots,
                      "topology.node_name_map: %s: cannot be read" % missing,
                      "partitions.file: %s: line 1: " % roots,
                      "security.tls_cert: %s: a certificate in it cannot be read" % garbage):
            self.assertIn("files.yaml: " + fault, output)
        self.assertEqual(len(output.splitlines()), 6, output)
        # What a start refuses is refused with the key.
        for key, value in (("lid: {guid2lid_file", missing), ("topology: {node_name_map", missing),
                           ("routing: {roots_file", roots), ("partitions: {file", missing)):
            config = self.write("one.yaml", "%s: %s}\n" % (key, value))
            output = self.fabricd("--config", config, "--once", "--fabric", "sim:superpod:sus=1",
                                  "--listen", "unix:" + self.path("sock"), code=2)
            self.assertIn("%s: %s" % (key.replace(": {", "."), value), output)

    def test_refuses_words_that_are_no_mode(self):
        sim = ("--once", "--fabric", "sim:superpod:sus=1,hosts=2,rails=2",
               "--listen", "unix:" + self.path("sock"))
        for word in ("master", "Manage"):
            fault = "expected observe, standby or manage, got '%s'" % word
            config = self.write("mode.yaml", "log: {level: info}\nmode: %s\n" % word)
            good = self.write("good.yaml", "mode: manage\n")
            for what in (("--check-config",), sim):
                output = self.fabricd("--config", config, *what, code=2)
                self.assertIn("mode.yaml:2: mode: " + fault, output)
                # The option wins over a good file, and without a file it is checked too.
                for file in (("--config", good), ()):
                    output = self.fabricd(*file, "--mode", word, *what, code=2)
                    self.assertIn("--mode: " + fault, output)
        self.assertFalse(os.path.exists(self.path("state")), "a refused mode left traces")

    def test_takes_the_mode_of_the_command_line(self):
        self.fabricd("--mode", "manage", "--check-config", code=0)
        for word, code in (("manage", 0), ("observe", 0), ("mange", 2)):
            config = self.write("mode.yaml", "mode: %s\n" % word)
            self.fabricd("--config", config, "--mode", "manage", "--check-config", code=code)

    def test_once_brings_nothing_up_where_it_only_reads(self):
        sim = ("--once", "--fabric", "sim:superpod:sus=1,hosts=2,rails=2",
               "--listen", "unix:" + self.path("sock"))
        for mode in ("observe", "standby"):
            output = self.fabricd(*sim, "--mode", mode, code=1)
            self.assertIn("the fabric was read; %s mode brings nothing up" % mode, output)
        self.fabricd(*sim, code=0)

    def test_takes_the_config_that_it_prints(self):
        example = self.run_program([os.path.join(ibsim.Fabricd.bin, "fabricd"),
                                    "--print-default-config"])
        self.fabricd("--config", self.write("example.yaml", example), "--check-config", code=0)

    def test_names_the_line_where_a_topology_is_cut(self):
        whole = self.write("whole.net", SWITCH_AND_HOST)
        self.on_fabric("sim:" + whole, code=0)
        cut = self.write("cut.net", SWITCH_AND_HOST[:-20])  # In the last line's peer.
        output = self.on_fabric("sim:" + cut, code=2)
        self.assertIn("cut.net': line 5: ", output)

    def test_without_an_adapter_the_error_names_a_remedy(self):
        if os.path.exists("/dev/infiniband"):
            self.skipTest("this machine has InfiniBand devices")
        output = self.on_fabric("umad", code=1)
        self.assertIn("no InfiniBand device found (/dev/infiniband/umad*): load ib_umad, check "
                      "permissions, or use --fabric sim:", output)

    def test_names_the_generators_and_their_parameters(self):
        output = self.on_fabric("sim:dragonfly:groups=4", code=2)
        self.assertRegex(output, "'dragonfly:groups=4'.*fat-tree.*superpod")
        output = self.on_fabric("sim:superpod:sus=1,colour=3", code=2)
        self.assertRegex(output, r"superpod: no parameter 'colour' \(it has sus, hosts, rails")
        output = self.on_fabric("sim:superpod:hosts=0", code=2)
        self.assertIn("hosts 0: 1 or more", output)
        output = self.on_fabric("ethernet", code=2)
        self.assertIn('"ethernet" is not umad', output)
        generate = [os.path.join(ibsim.Fabricd.bin, "fabricsim"), "generate"]
        self.assertIn("--rails", self.run_program(generate + ["superpod", "--help"]))
        output = self.run_program(generate + ["superpod", "--colour", "3"], code=2)
        self.assertIn("--colour", output)
        output = self.run_program(generate + ["superpod", "--rails", "0"], code=2)
        self.assertIn("rails 0: 1 or more", output)

    def test_does_not_take_another_daemons_socket_or_state(self):
        first = ibsim.Fabricd(self)
        first.start(fabric="sim:superpod:sus=1,hosts=2,rails=2")
        first.log.wait_for("subnet up")
        second = ibsim.Fabricd(self, name="second")
        second.socket = first.socket
        output = second.once(code=1, fabric="sim:superpod:sus=1,hosts=2,rails=2")
        self.assertIn("cannot listen on %s: another process does" % first.socket, output)
        third = ibsim.Fabricd(self, name="third")
        third.state = first.state
        output = third.once(code=1, fabric="sim:superpod:sus=1,hosts=2,rails=2")
        self.assertIn("another fabricd (pid %d) uses this directory" % first.process.pid, output)
        self.assertTrue(first.ask("get", "sm")["subnet_up"], "the first one did not go on")
        self.assertEqual(first.stop(), 0)
        self.assertFalse(os.path.exists(first.socket), "the socket outlived fabricd")

    def test_takes_over_the_socket_of_a_daemon_that_was_killed(self):
        killed = ibsim.Fabricd(self)
        killed.start(fabric="sim:superpod:sus=1,hosts=2,rails=2")
        killed.log.wait_for("subnet up")
        killed.kill()
        self.assertTrue(os.path.exists(killed.socket))
        killed.once(fabric="sim:superpod:sus=1,hosts=2,rails=2")


if __name__ == "__main__":
    ibsim.main([])
