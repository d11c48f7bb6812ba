#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page /ui in a real Chromium, with mouse and keyboard: heat, a port's history, verdicts and
congestion.

usage: page_test.py BIN_DIR [TEST...]
"""
import http.server
import json
import os
import sys
import threading
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import browser  # noqa: E402
import ibsim  # noqa: E402
from prometheus import free_port  # noqa: E402

CONFIG = """\
http_listen: 127.0.0.1:%d
telemetry: {interval: 1s, classic_interval: 10s, ber_interval: 10s, module_interval: 10s}
"""
LEAF, EVIL = "su1-rail0-leaf", "<img src=x onerror=alert(1)>"
# Rows of a table by their first button.
ROW = ("[...document.querySelectorAll('#details tr')].find(row => "
       "row.querySelector('button')?.textContent === '%s')")


class Proxy:
    """fabricd's pages, but for those whose answers the test gives."""

    def __init__(self, case, served):
        self.answers = {}
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                given = proxy.answers.get(self.path.split("?")[0])
                if given is not None:
                    return self.reply(200, "application/json", json.dumps(given).encode())
                try:
                    with urllib.request.urlopen("http://127.0.0.1:%d%s" % (served, self.path),
                                                timeout=ibsim.PATIENCE) as answer:
                        self.reply(answer.status, answer.headers["Content-Type"], answer.read())
                except urllib.error.HTTPError as error:
                    self.reply(error.code, "text/plain", error.read())

            def reply(self, code, kind, body):
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = "http://127.0.0.1:%d/" % self.server.server_port
        self.url = self.origin + "ui"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        case.addCleanup(self.server.server_close)
        case.addCleanup(self.server.shutdown)


class Page(ibsim.Case):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.fabricd = ibsim.Fabricd(self, CONFIG % self.port)
        self.fabricd.start(fabric="sim:superpod:sus=1,hosts=4,rails=2")
        self.fabricd.wait_for("subnet_up")
        self.proxy = Proxy(self, self.port)

    def open(self, address="", **options):
        page = browser.Browser(self, self.proxy.url + address, **options)
        page.wait_for("typeof fabric !== 'undefined' && !!fabric && !!document.querySelector('#details *')")
        return page

    def get(self, path):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path),
                                    timeout=ibsim.PATIENCE) as answer:
            return json.loads(answer.read())

    def end(self, node, number):
        """As verdicts name a port."""
        for drawn in self.get("/ui/fabric.json")["nodes"]:
            if drawn[0] == node:
                query = "guid=" + drawn[4] if drawn[4] else "host=" + node
                port = self.get("/ui/ports.json?" + query)["ports"][number]
                return {"name": "%s/%d" % (port["node"], port["port"]), "guid": port["guid"],
                        "port": port["port"], "host": "" if drawn[4] else node}
        raise AssertionError(node)

    def check(self, page):
        self.assertEqual(page.errors, [])
        # Nothing from elsewhere was loaded.
        loaded = page.run("performance.getEntriesByType('resource').map(each => each.name)")
        self.assertEqual([url for url in loaded if not url.startswith(self.proxy.origin)], [])


class Counters(Page):
    def make_traffic(self):
        self.fabricd.ctl("sim", "traffic", "start", "job", "ring", "node[0001-0004]",
                         "--load", "0.9")
        self.fabricd.ctl("sim", "errors", LEAF + "/2", "symbol-ber=1e-11", "raw-ber=1e-6",
                         "effective-ber=1e-10")

    def test_heat_of_links_and_unknown_links(self):
        self.make_traffic()
        page = self.open("#by=use")
        busy = "fabric.links.filter(link => linkHeat(link, 'use') > .5).length"
        page.wait_for(busy + " >= 8")
        self.assertIn("of the data rate", page.text("legend"))
        # Colours of links: none that is known looks as those that are not.
        colors = "new Set(fabric.links.filter(link => linkHeat(link, '%s') %s).map(linkColor))"
        self.assertTrue(page.run("![...%s].includes(style('--unknown'))" % (colors % ("use", "!== null"))))
        self.fabricd.ctl("sim", "pma", "--all", "unresponsive")
        page.wait_for("fabric.links.every(link => linkHeat(link, 'use') === null)")
        self.assertEqual(page.run("[...%s].join()" % (colors % ("use", "=== null"))),
                         page.run("style('--unknown')"))
        self.check(page)

    def test_bit_errors_are_above_their_limit(self):
        self.make_traffic()
        page = self.open("#by=ber&at=%s&port=2" % LEAF, dark=True)
        # The link has a receiver at each end, of which one counts errors.
        page.wait_for("fabric.links.filter(link => linkHeat(link, 'ber') > 2 / 3).length === 1")
        page.wait_for("document.getElementById('port-facts')?.textContent.includes('BER')")
        self.assertIn("1e-14", page.text("legend"))
        self.check(page)

    def test_the_history_of_a_port_that_the_keyboard_chose(self):
        self.make_traffic()
        page = self.open("#by=wait&at=" + LEAF)
        page.wait_for("!!" + ROW % "3")
        page.tab_to("3")
        page.press("Enter", 13)
        page.wait_for("document.querySelectorAll('#chart svg').length === 2")
        self.assertEqual(page.run((ROW % "3") + ".querySelector('button').getAttribute('aria-pressed')"),
                         "true")
        # More than one point in a row, once time has passed.
        page.wait_for("showHistory(shown).then(() => "
                      "document.querySelector('#chart path').getAttribute('d').includes('L'))")
        self.assertRegex(page.text("chart"), r"sent and received, up to [\d.]+ GB/s, \d+ % of the link")
        self.assertIn("Use", page.text("port-facts"))
        # What is not read is a gap, and no zero.
        gaps = "showHistory(shown).then(() => document.querySelectorAll('#chart .gap').length)"
        self.fabricd.ctl("sim", "pma", "--all", "unresponsive")
        page.wait_for(gaps + ".then(number => number > 8)")
        self.check(page)

    def test_without_an_assessor_nothing_looks_healthy(self):
        self.proxy.answers["/ui/verdicts.json"] = {"age": 0, "number": 0, "enabled": False}
        page = self.open()
        page.wait_for("document.getElementById('verdicts').innerText.includes('not assessed')")
        self.assertNotIn("HEALTHY", page.text("verdicts"))
        self.check(page)


class Verdicts(Page):
    """With verdicts that the test gives: what the page makes of them."""

    def setUp(self):
        super().setUp()
        leaf = [self.end(LEAF, number) for number in range(8)]
        host = self.end("node0002", 0)
        self.host = dict(host, name=EVIL + "/1")
        verdict = {"verdict": "NOISY_PHY", "stage": "BAD", "culprit": "cable", "confidence": .91,
                   "since": 3700, "a": self.host, "b": leaf[1], "end": "b",
                   "remedy": "try " + EVIL, "recommended": "cordon", "action": "recommend",
                   "held_back": "budget", "hold": 0, "operator": False, "known": True,
                   "acknowledged": EVIL, "overruled": "", "cause": "", "root": None}
        counts = {"HEALTHY": 20, "SUSPECT": 0, "NOISY_PHY": 1, "FLAPPING": 0, "SLOW_RECEIVER": 0,
                  "CHATTY": 0, "VICTIM": 1, "UNKNOWN": 2}
        first = {"port": leaf[3], "wait": .4, "use": .5, "hops": 1, "towards": leaf[2]}
        second = {"port": leaf[4], "wait": .3, "use": .5, "hops": 2, "towards": leaf[3]}
        root = {"kind": "SLOW_RECEIVER", "port": leaf[2], "peer": self.host, "wait": .8, "use": .2,
                "cycle": False, "victims_total": 2, "victims": [first, second]}
        self.leaf, self.verdict = leaf, verdict
        self.proxy.answers["/ui/verdicts.json"] = {
            "age": 5, "number": 4, "enabled": True, "interval": 60, "counts": counts, "total": 2,
            "verdicts": [verdict, dict(verdict, verdict="VICTIM", stage="HEALTHY", culprit="none",
                                       recommended="", held_back="", acknowledged="",
                                       b=leaf[3], root=leaf[2])],
            "causes": [{"cause": "SWITCH", "subject": EVIL, "text": "errors on 3 of 4"}],
            "action": "recommend", "holds": 0, "budget": 10, "breaker": True, "roots_total": 1,
            "victims_total": 2, "without_root": 0, "roots": [root]}
        self.proxy.answers["/ui/verdict.json"] = {"verdict": "NOISY_PHY",
                                                  "text": "why " + EVIL + "\n  E1 symbol errors"}

    def test_a_verdict_opens_with_its_evidence_and_port(self):
        page = self.open()
        page.wait_for("document.querySelectorAll('#verdicts li').length === 2")
        text = page.text("verdicts")
        for words in ("20 HEALTHY · 1 NOISY_PHY · 1 VICTIM · 2 UNKNOWN", "culprit cable",
                      "confidence 0.91", "since 62 min", "cordon recommended (budget)",
                      "try " + EVIL,
                      "seen by " + EVIL, "the breaker is open", "SWITCH " + EVIL):
            self.assertIn(words, text)
        page.tab_to("NOISY_PHY " + self.leaf[1]["name"])
        page.press("Enter", 13)
        page.wait_for("document.querySelector('#verdicts pre')?.innerText.includes('E1 symbol errors')")
        page.wait_for("document.querySelector('#port h2')?.innerText === '%s'" % self.leaf[1]["name"])
        page.wait_for("!!document.querySelector('#chart svg')")
        self.assertEqual(page.run("document.querySelectorAll('img').length"), 0)
        self.check(page)

    def test_a_congestion_tree_leads_to_its_ports(self):
        page = self.open()
        page.wait_for("document.querySelectorAll('#congestion li').length === 3")
        self.assertIn("SLOW_RECEIVER " + self.leaf[2]["name"], page.text("congestion"))
        # What waits for a victim stands below it.
        deepest = page.run("document.querySelector('#congestion ul ul ul ul li, #congestion ul ul ul li')"
                           ".innerText")
        self.assertEqual(deepest, self.leaf[4]["name"] + " waits 30 %")
        page.run("[...document.querySelectorAll('#congestion button')].find(button => "
                 "button.textContent === '%s').click()" % self.leaf[4]["name"])
        page.wait_for("document.querySelector('#port h2')?.innerText === '%s'" % self.leaf[4]["name"])
        # The name of the host's end is what verdicts call it; it is drawn as its host.
        page.run("[...document.querySelectorAll('#congestion button')].find(button => "
                 "button.textContent.startsWith('<img')).click()")
        page.wait_for("document.querySelector('#details h2')?.innerText === 'node0002'")
        self.assertEqual(page.run("document.querySelectorAll('img').length"), 0)
        self.check(page)

    def test_an_old_assessment_is_marked(self):
        self.proxy.answers["/ui/verdicts.json"]["age"] = 3600
        page = self.open(dark=True)
        page.wait_for("document.getElementById('verdicts').innerText.includes('nothing newer is known')")
        self.check(page)


if __name__ == "__main__":
    ibsim.main(["chromium"])
