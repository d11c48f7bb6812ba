#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Running fabricd as an operator does: importing OpenSM's configuration, reloading, certificates,
metrics and pages.

usage: operations_test.py BIN_DIR [TEST...]
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import ibsim  # noqa: E402
import prometheus  # noqa: E402
from prometheus import free_port  # noqa: E402

FORGE_TRAPS = os.path.join(os.path.dirname(ibsim.__file__), "forge_traps.py")
SMALL = "sim:superpod:sus=1,hosts=2,rails=2"


def program(name):
    return os.path.join(ibsim.Fabricd.bin, name)


def documented_series():
    """The names in docs/METRICS.md; it lists those of switches, which have twins of HCAs."""
    with open(os.path.join(ibsim.ROOT, "docs", "METRICS.md"), encoding="utf-8") as file:
        return set(re.findall(r"`((?:fabricd|infiniband)_[a-z0-9_]+)", file.read()))


def of_switch(name):
    return name.replace("infiniband_hca_", "infiniband_switch_")


class Import(ibsim.Case):
    def imported(self, path):
        """The YAML, which fabricd takes, and the report."""
        done = subprocess.run([program("fabricd"), "--import-opensm", path], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.run_program([program("fabricd"), "--config", self.write("made.yaml", done.stdout),
                          "--check-config"])
        return done.stdout, done.stderr

    def test_imports_the_defaults_of_opensm(self):
        conf = self.path("opensm.conf")
        subprocess.run(["opensm", "-c", conf], check=True, stdout=subprocess.DEVNULL)
        yaml, report = self.imported(conf)
        self.assertIn("light_interval: 10s", yaml)
        self.assertNotIn("not understood", report)
        self.assertNotIn(" dropped", report)
        self.assertGreater(len(report.splitlines()), 150)

    def test_a_directory_with_side_files(self):
        samples = glob.glob(os.path.join(ibsim.TOPOLOGIES, "*.partitions.conf"))
        if not samples:
            self.skipTest("%s has no samples" % ibsim.TOPOLOGIES)
        for sample in samples:
            shutil.copy(sample, self.path("partitions.conf"))
            self.write("opensm.conf", "sm_priority 9\nm_key 0x123456789abcdef0\nfrobnicate 1\n")
            yaml, report = self.imported(self.folder)
            self.assertIn('file: "%s"' % self.path("partitions.conf"), yaml)
            self.assertIn("priority: 9", yaml)
            self.assertIn("opensm.conf:3: frobnicate 1: not understood", report)
            self.assertNotIn("123456789abcdef0", report)

    def test_nothing_to_import(self):
        output = self.run_program([program("fabricd"), "--import-opensm", self.folder], code=1)
        self.assertIn("no configuration of OpenSM", output)


class Signals(ibsim.Case):
    def test_a_stray_signal_stops_nothing_and_a_stop_is_logged(self):
        fabricd = ibsim.Fabricd(self).start(fabric=SMALL)
        fabricd.wait_for("subnet_up")
        fabricd.process.send_signal(signal.SIGUSR1)
        # The thread that waits for signals still does.
        fabricd.process.send_signal(signal.SIGHUP)
        fabricd.log.wait_for("the configuration was read again")
        self.assertEqual(fabricd.stop(), 0)
        fabricd.log.wait_for("SIGTERM: stopping")
        fabricd.log.wait_for("ended with 0")

    def test_an_empty_database_is_logged(self):
        fabricd = ibsim.Fabricd(self)
        os.mkdir(fabricd.state)
        open(os.path.join(fabricd.state, "fabricd.db"), "w").close()
        fabricd.start(fabric=SMALL)
        fabricd.log.wait_for("fabricd.db was there, but empty")
        fabricd.wait_for("subnet_up")


class Log(ibsim.Case):
    """No source fills the disk."""

    def test_forged_traps(self):
        sim = ibsim.Ibsim(self, ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net"))
        fabricd = ibsim.Fabricd(self).start(sim.environment("H-0002c90200000000"))
        fabricd.wait_for("subnet_up")
        before = len(fabricd.log.lines)
        lid = re.search(r"sm lid (\d+)", sim.run("H-0002c90200000000", "sminfo"))[1]
        sim.run("H-0002c90200000100", sys.executable, FORGE_TRAPS, lid, "1000")
        fabricd.log.wait_for(r"trap \d+ from LID", times=20, since=before)
        self.assertEqual(fabricd.stop(), 0)
        traps = [line for line in fabricd.log.lines[before:] if "from LID" in line]
        self.assertLess(len(traps), 30, traps[-3:])

    def test_a_link_that_flaps(self):
        fabricd = ibsim.Fabricd(self).start(fabric=SMALL)
        fabricd.wait_for("subnet_up")
        before = len(fabricd.log.lines)
        for what in ("unlink", "link") * 40:
            fabricd.ctl("sim", what, "su1-rail1-leaf/2")
        self.assertEqual(fabricd.stop(), 0)
        kinds = collections.Counter(re.sub(r"\S*\d\S*", "#", line)
                                    for line in fabricd.log.lines[before:])
        self.assertLess(max(kinds.values()), 30, kinds)
        self.assertGreater(sum(kinds.values()), 40)  # It did flap.


class Ports(ibsim.Case):
    def test_a_second_daemon_on_a_port_is_refused(self):
        port = free_port()
        first, second = ibsim.Fabricd(self, name="first"), ibsim.Fabricd(self, name="second")
        first.process = self.start(first.command("--http-listen", "127.0.0.1:%d" % port,
                                                 fabric=SMALL))
        first.log = ibsim.Lines(first.process)
        first.wait_for("subnet_up")
        said = self.run_program(second.command("--http-listen", "127.0.0.1:%d" % port,
                                               fabric=SMALL), code=1)
        self.assertIn("127.0.0.1:%d" % port, said)


class LostPort(ibsim.Case):
    """What systemd restarts after: the process ends with 1 and logs the cause."""

    def setUp(self):
        super().setUp()
        self.sim = ibsim.Ibsim(self, ibsim.shared(self, "topologies", "trees", "4-ary-2-tree.net"))
        self.fabricd = ibsim.Fabricd(self)

    def run_with(self, **more):
        self.fabricd.start(self.sim.environment("H-0002c90200000000", preload=ibsim.lose_port(), **more))

    def test_a_removed_device_ends_the_process(self):
        gone = self.path("gone")
        self.run_with(LOSE_DEVICE=gone)
        self.fabricd.wait_for("subnet_up")
        open(gone, "w").close()
        self.fabricd.log.wait_for("ended: ibsim0 port 1 is lost: reading from its umad device failed: "
                                  "Input/output error")
        self.assertEqual(self.fabricd.process.wait(ibsim.PATIENCE), 1)

    def test_an_issm_that_cannot_be_opened_ends_the_process(self):
        self.run_with(LOSE_ISSM="/nonexistent/issm0")
        self.fabricd.log.wait_for("ended: cannot open /nonexistent/issm0: No such file")
        self.assertEqual(self.fabricd.process.wait(ibsim.PATIENCE), 1)


class Reload(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.fabricd = ibsim.Fabricd(self, "sm: {priority: 1}\nrouting: {settle_after: 5s}\n")
        self.fabricd.start(fabric=SMALL)
        self.fabricd.wait_for("subnet_up")

    def reload(self, text, says):
        lines = len(self.fabricd.log.lines)
        self.write("fabricd.yaml", text)
        self.fabricd.process.send_signal(signal.SIGHUP)
        self.fabricd.log.wait_for(says, since=lines)
        return "\n".join(self.fabricd.log.lines[lines:])

    def events(self, kind):
        return [event for event in self.fabricd.ask("events", "--since", "10m")["events"]
                if event["type"] == kind]

    def test_each_key_takes_effect_when_it_can(self):
        said = self.reload("sm: {priority: 7, m_key: \"0x1234567812345678\"}\n"
                           "log: {level: debug}\n", "the configuration was read again.*SIGHUP")
        self.assertIn("sm.priority: 1 -> 7 (resweep)", said)
        self.assertIn("log.level: info -> debug (live)", said)
        self.assertIn("routing.settle_after: 5s -> 10s (resweep)", said)
        self.assertRegex(said, r"sm\.m_key: 0x0+ -> \*\*\* \(restart\)")
        self.assertNotIn("1234567812345678", self.fabricd.log.text())
        self.fabricd.wait_for("priority=7")
        event = self.events("ConfigReloaded")[-1]
        self.assertIn("these wait for a restart: sm.m_key", event["message"])

    def test_a_faulty_file_changes_nothing(self):
        said = self.reload("sm: {priority: 70}\n", "reload refused")
        self.assertIn("sm.priority: expected 0-15, got 70", said)
        self.assertEqual(self.fabricd.ask("get", "sm")["priority"], 1)
        self.assertIn("expected 0-15", self.events("ConfigRefused")[-1]["message"])
        self.reload("sm: {priority: 2}\n", "the configuration was read again.*SIGHUP")
        self.fabricd.wait_for("priority=2")


class Certificates(ibsim.Case):
    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sign(self, name, alternative):
        self.write(name + ".ext", "subjectAltName=" + alternative)
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".csr")
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                     "-CAcreateserial", "-extfile", name + ".ext", "-out", name + ".pem")

    def setUp(self):
        super().setUp()
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-subj", "/CN=signer", "-keyout", "ca.key", "-out", "ca.pem")
        self.sign("server", "DNS:localhost")
        self.sign("monitor", "DNS:monitor.example")
        self.sign("stranger", "DNS:stranger.example")
        self.port = free_port()
        self.fabricd = ibsim.Fabricd(self, """\
security:
  tls_cert: %s
  tls_key: %s
  tls_ca: %s
  viewers: ["dns:monitor.example"]
""" % tuple(self.path(name) for name in ("server.pem", "server.key", "ca.pem")))
        command = self.fabricd.command("--listen", "localhost:%d" % self.port, fabric=SMALL)
        self.fabricd.process = self.start(command)
        self.fabricd.log = ibsim.Lines(self.fabricd.process)
        self.fabricd.wait_for("subnet_up")

    def over_tcp(self, name, *arguments, code=0):
        return self.run_program([program("fabricctl"), "--server", "localhost:%d" % self.port,
                                 "--timeout", "20s", "--tls-ca", self.path("ca.pem"),
                                 "--tls-cert", self.path(name + ".pem"),
                                 "--tls-key", self.path(name + ".key"), *arguments], code=code)

    def test_roles_are_kept_over_tcp(self):
        self.assertIn("MASTER", self.over_tcp("monitor", "get", "sm"))
        refused = self.over_tcp("monitor", "sweep", code=5)
        self.assertIn("needs the role operator; dns:monitor.example has the role viewer", refused)
        self.assertIn("has no role", self.over_tcp("stranger", "get", "sm", code=5))
        # A role that is given by a reload is had at once.
        with open(self.fabricd.config, "a", encoding="utf-8") as file:
            file.write('  operators: ["cn:stranger"]\n')
        self.fabricd.process.send_signal(signal.SIGHUP)
        self.fabricd.log.wait_for("the configuration was read again.*SIGHUP")
        self.over_tcp("stranger", "sweep", "--wait")
        # The log is written by a thread of its own, after the answer.
        self.fabricd.log.wait_for(r"audit: dns:monitor.example \(viewer\) "
                                  r"fabric.v1.AdminService/StartSweep PERMISSION_DENIED")
        self.fabricd.log.wait_for(r"audit: dns:stranger.example \(operator\) "
                                  r"fabric.v1.AdminService/StartSweep OK")


class Rules(ibsim.Case):
    def test_prometheus_takes_the_rules(self):
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed")
        folder = os.path.join(ibsim.ROOT, "contrib", "prometheus")
        rules = os.path.join(folder, "fabricd.rules.yml")
        self.run_program(["promtool", "check", "rules", rules])
        self.run_program(["promtool", "test", "rules",
                          os.path.join(folder, "fabricd.rules.test.yml")])
        # What they ask for is served, or only where there is something to count.
        known = documented_series()
        with open(rules, encoding="utf-8") as file:
            for name in re.findall(r"\b(?:fabricd|infiniband)_[a-z0-9_]+", file.read()):
                self.assertIn(of_switch(re.sub("_bucket$", "", name)), known)


class Alerts(ibsim.Case):
    """A real Prometheus with our rules, which it evaluates every second here."""

    def test_a_dead_cable_between_switches_raises_an_alert(self):
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not installed")
        served = free_port()
        fabricd = ibsim.Fabricd(self, "http_listen: 127.0.0.1:%d\n" % served)
        fabricd.start(fabric="sim:superpod:sus=2,hosts=2,rails=2")
        fabricd.wait_for("subnet_up")
        server = prometheus.Prometheus(self, served)
        cable = next(link for link in fabricd.ask("get", "links")["links"]
                     if link["b"]["node_type"] == "SWITCH")
        end = {"switch": cable["a"]["node_name"], "port": str(cable["a"]["number"])}
        wanted = '{switch="%(switch)s", port="%(port)s"}' % end
        server.wait_for("fabric:switch_uplink:gone" + wanted)
        self.assertEqual(server.ask("fabric:switch_uplink:gone > 0"), [])
        self.assertEqual(server.ask("fabric:node:gone > 0"), [])
        fabricd.ctl("sim", "unlink", "%(switch)s/%(port)s" % end)
        told, = server.wait_for('ALERTS{alertname="FabricCableLost", switch="%(switch)s"}' % end)
        self.assertEqual(told["uplink"], cable["b"]["node_name"])
        self.assertEqual(server.ask('ALERTS{alertname="FabricNodeLost"}'), [])
        fabricd.ctl("sim", "link", "%(switch)s/%(port)s" % end)
        server.wait_for("fabric:switch_uplink:gone%s == 0" % wanted)


class Pages(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.fabricd = ibsim.Fabricd(self, "sm: {m_key: \"0x1234567812345678\"}\n"
                                     "http_listen: 127.0.0.1:%d\n" % self.port)
        self.fabricd.start(fabric="sim:superpod:sus=2,hosts=4,rails=4")
        self.fabricd.wait_for("subnet_up")

    def get(self, path, code=200, method="GET"):
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path),
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=ibsim.PATIENCE) as answer:
                got, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            got, text = error.code, error.read().decode()
        self.assertEqual(got, code, path)
        return text

    def series(self):
        values = {}
        for line in self.get("/metrics").splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def test_metrics_are_the_fabrics(self):
        text = self.get("/metrics")
        self.assertNotIn("1234567812345678", text)
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True)
        served = {of_switch(name) for name in re.findall("^# TYPE ([a-z0-9_]+)", text, re.M)}
        self.assertEqual(served - documented_series(), set())
        values = self.series()
        self.assertEqual(values['fabricd_sm_state{state="MASTER"}'], 1)
        self.assertEqual(values["fabricd_hosts"], 8)
        self.assertEqual(values["fabricd_subnet_up"], 1)
        links = [name for name in values if name.startswith("fabricd_links{")]
        self.assertEqual(sum(values[name] for name in links),
                         len(self.fabricd.ask("get", "links")["links"]))
        # The first host's is the manager's own.
        uplinks = [name for name in values if "switch_uplink_info" in name and
                   'switch="su1-rail0-leaf"' in name and 'uplink="node0002 mlx5_0"' in name]
        self.assertEqual(len(uplinks), 1)
        guid, port = re.search('guid="(0x[0-9a-f]{16})",port="([0-9]+)"', uplinks[0]).groups()
        state = 'infiniband_switch_port_state_id{guid="%s",port="%s"}' % (guid, port)
        self.assertEqual(values[state], 4)
        self.fabricd.ctl("sim", "unlink", "su1-rail0-leaf/" + port)
        deadline = time.monotonic() + ibsim.PATIENCE
        while self.series().get(state) != 1:
            self.assertLess(time.monotonic(), deadline, "the port stays up")

    def test_health_and_refused_requests(self):
        self.assertEqual(self.get("/healthz"), "ok: MASTER, subnet up\n")
        self.get("/nothing", code=404)
        self.get("/ui", code=405, method="POST")
        self.get("/ui/ports.json?host=nobody", code=404)
        self.get("/ui/fabric.json?have=" + "9" * 9000, code=414)

    def test_the_pages_data(self):
        fabric = json.loads(self.get("/ui/fabric.json"))
        names = {node[0]: node for node in fabric["nodes"]}
        self.assertEqual(len([n for n in fabric["nodes"] if n[1] == 0]), 8)
        self.assertEqual(names["su2-rail3-leaf"][1:4], [1, 1, 3])  # Tier, unit, rail.
        self.assertTrue(all(link[4] == 4 for link in fabric["links"]))
        self.assertGreater(fabric["most"], 0)
        same = json.loads(self.get("/ui/fabric.json?have=%d" % fabric["generation"]))
        self.assertEqual(list(same), ["generation"])
        ports = json.loads(self.get("/ui/ports.json?host=node0003"))["ports"]
        self.assertEqual([p["peer"] for p in ports],
                         ["su1-rail%d-leaf" % rail for rail in range(4)])
        events = json.loads(self.get("/ui/events.json"))
        self.assertIn("SubnetUp", [event[3] for event in events["events"]])
        self.fabricd.ctl("cordon", "node0003", "--reason", "<script>alert(1)</script>")
        later = events
        while not [e for e in later["events"] if e[3] == "HoldCreated"]:
            later = json.loads(self.get("/ui/events.json?after=" + events["version"]))
        self.assertFalse(later["anew"])

    def test_the_page_in_a_browser(self):
        chromium = shutil.which("chromium")
        if not chromium:
            self.skipTest("chromium is not installed")
        self.fabricd.ctl("cordon", "node0003", "--reason", "<b>bit</b> errors")
        page = self.run_program([
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
            "--user-data-dir=" + self.path("profile"), "--virtual-time-budget=8000", "--dump-dom",
            "http://127.0.0.1:%d/ui#by=load&at=node0003" % self.port])
        self.assertIn("MASTER · subnet up", page)
        self.assertIn("<b>8</b> hosts", page)
        self.assertRegex(page, "su1-rail3-leaf/[0-9]+</button>")  # The selected host's last port.
        self.assertIn("HoldCreated", page)
        self.assertIn("&lt;b&gt;bit&lt;/b&gt; errors", page)

    def test_a_host_without_one_of_its_nics_is_not_whole(self):
        self.fabricd.ctl("sim", "unlink", "su1-rail2-leaf/3")
        hosts, end = {}, time.monotonic() + ibsim.PATIENCE
        while hosts.get("node0003") != (4, 3):  # Ports, of which up.
            self.assertLess(time.monotonic(), end, hosts)
            fabric = json.loads(self.get("/ui/fabric.json"))
            hosts = {node[0]: (node[5], node[6]) for node in fabric["nodes"] if node[1] == 0}
        self.assertEqual({hosts[name] for name in hosts if name != "node0003"}, {(4, 4)})
        events = json.loads(self.get("/ui/events.json"))["events"]
        self.assertIn("su1-rail2-leaf/3 ↔ node0003 mlx5_2/1",
                      [event[4] for event in events if event[3] == "LinkDown"])
        told = self.run_program([program("fabricctl"), "--server", "unix:" + self.fabricd.socket,
                                 "readiness", "node0003"], code=1)
        self.assertRegex(told, r"node0003 +DEGRADED +3/4 +mlx5_2 is not on the fabric: 3 of 4 hosts")


if __name__ == "__main__":
    ibsim.main(["ibsim", "opensm", "openssl"])
