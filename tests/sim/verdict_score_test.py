#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/verdicts counts as right and as wrong, on reports that are written by hand."""
import importlib.machinery
import importlib.util
import os
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
loader = importlib.machinery.SourceFileLoader("verdicts", os.path.join(ROOT, "tools", "verdicts"))
verdicts = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("verdicts", loader))
loader.exec_module(verdicts)


def verdict(at, name="NOISY_PHY", culprit="cable", port="a/1", **more):
    return {"verdict": name, "culprit": culprit, "port": port, "at_s": at, "actionable": True,
            **more}


def cause(kind="noisy-cable", limits=5.0, concluded=(), **more):
    return {"kind": kind, "place": "a/1", "ends": ["a/1", "b/2"], "limits": limits,
            "counter": "symbol-errors", "counted": 9, "start_s": 900, "end_s": 7200,
            "concluded": list(concluded), "informative": [], **more}


def run(*causes, without_cause=(), holds=()):
    return {"number": 1, "topology": "t", "interval_s": 30, "causes": list(causes),
            "without_cause": list(without_cause), "holds": list(holds), "informative": [],
            "findings": []}


def scored(*runs):
    score = verdicts.Score()
    for each in runs:
        score.add(each)
    return score


class Right(unittest.TestCase):
    def test_a_verdict_of_the_class_on_the_link_is_right(self):
        score = scored(run(cause(concluded=[verdict(1200)])))
        self.assertEqual((score.precision(), score.recall("3-10"), score.culprit()), (1, 1, 1))
        self.assertEqual(score.times["3-10"], [10])
        self.assertEqual(score.below_bars(verdicts.BARS), [])

    def test_two_culprits_one_after_the_other_are_one_verdict(self):
        score = scored(run(cause(concluded=[verdict(1200, culprit="receiver"),
                                            verdict(1500, port="b/2")])))
        self.assertEqual(score.right, 1)
        self.assertEqual(score.culprit(), 1, "the last one counts")

    def test_a_link_of_two_causes_is_explained_by_either(self):
        found = [verdict(1200)]
        reboot = cause("switch-reboot", 0, found, ends=["a/1", "b/2", "a/2", "c/1"])
        score = scored(run(cause(concluded=found), reboot))
        self.assertEqual((score.right, len(score.wrong)), (1, 0))

    def test_a_verdict_may_come_within_the_windows_after_the_end(self):
        score = scored(run(cause(end_s=1000, concluded=[verdict(1000 + verdicts.LATE_S)])))
        self.assertEqual(score.precision(), 1)


class Wrong(unittest.TestCase):
    def test_another_link_than_the_bad_one(self):
        score = scored(run(cause(), without_cause=[verdict(1200, port="c/1")]))
        self.assertEqual((score.precision(), score.recall("3-10")), (0, 0))
        self.assertTrue(any("precision" in fault for fault in score.below_bars(verdicts.BARS)))

    def test_another_class_on_the_right_link(self):
        score = scored(run(cause(concluded=[verdict(1200, "SLOW_RECEIVER", "host")])))
        self.assertEqual((score.precision(), score.recall("3-10")), (0, 0))
        self.assertEqual(score.matrix["noisy-cable", ""]["SLOW_RECEIVER"], 1)

    def test_a_link_that_is_as_good_as_others(self):
        score = scored(run(cause(limits=0.09, concluded=[verdict(1200)])))
        self.assertEqual(score.precision(), 0)
        self.assertEqual(score.matrix["noisy-cable", ""]["NOISY_PHY"], 1)
        self.assertEqual(scored(run(cause(limits=0.5, concluded=[verdict(1200)]))).precision(), 1)

    def test_a_hot_module_below_its_alarm_limit_that_makes_no_errors(self):
        def hot(celsius):
            return run(cause("hot-module", 0.01, [verdict(1200)], severity=celsius))
        self.assertEqual(scored(hot(79)).precision(), 0)
        self.assertEqual(scored(hot(81)).precision(), 1)

    def test_too_late(self):
        late = verdict(1001 + verdicts.LATE_S)
        self.assertEqual(scored(run(cause(end_s=1000, concluded=[late]))).precision(), 0)

    def test_anything_about_a_trap(self):
        score = scored(run(cause("host-reboot", 0, [verdict(1200, "FLAPPING")])))
        self.assertEqual(score.precision(), 0)
        self.assertEqual(score.matrix["host-reboot", ""]["FLAPPING"], 1)

    def test_a_host_or_switch_is_named_too(self):
        reboot = {k: v for k, v in cause("host-reboot", 0, [verdict(1200)]).items() if k != "ends"}
        self.assertEqual(scored(run(reboot)).matrix["host-reboot", ""]["NOISY_PHY"], 1)

    def test_both_ends_of_one_link_are_one_wrong_verdict(self):
        score = scored(run(cause("host-reboot", 0, [verdict(1200), verdict(1230, port="b/2")])))
        self.assertEqual(len(score.wrong), 1)

    def test_an_informative_verdict_is_neither_right_nor_wrong(self):
        found = cause(informative=[verdict(1200, "SUSPECT")])
        score = scored(run(found))
        self.assertEqual((score.right, len(score.wrong), len(score.missed)), (0, 0, 1))


class Recall(unittest.TestCase):
    def test_bands_are_by_times_of_the_limit(self):
        bands = [verdicts.band(cause(limits=x)) for x in (0.99, 1, 2.99, 3, 9.9, 10)]
        self.assertEqual(bands, ["below", "1-3", "1-3", "3-10", "3-10", "above 10"])

    def test_below_the_limit_nothing_is_missed(self):
        score = scored(run(cause(limits=0.5)))
        self.assertEqual((score.missed, score.recall("1-3")), ([], 1))

    def test_a_slow_receiver_without_traffic_is_not_missed(self):
        slow = cause("slow-receiver", 5, wait=0.01)
        score = scored(run(slow))
        self.assertEqual((score.missed, score.without_effect), ([], 1))
        self.assertEqual(len(scored(run(dict(slow, wait=0.2))).missed), 1)


class Culprits(unittest.TestCase):
    def right(self, kind, culprit, port):
        return verdicts.culprit_is_right(cause(kind), verdict(1, culprit=culprit, port=port))

    def test_both_directions_accuse_the_cable(self):
        self.assertTrue(self.right("noisy-cable", "cable", "b/2"))
        self.assertFalse(self.right("noisy-cable", "receiver", "b/2"))
        self.assertFalse(self.right("flapping-cable", "host", "a/1"))

    def test_one_direction_accuses_the_parts_along_it(self):
        for culprit, port in (("cable", "a/1"), ("transmitter", "a/1"), ("receiver", "b/2")):
            self.assertTrue(self.right("noisy-transmitter", culprit, port))
        for culprit, port in (("receiver", "a/1"), ("transmitter", "b/2"), ("host", "a/1")):
            self.assertFalse(self.right("noisy-transmitter", culprit, port))
        self.assertTrue(self.right("noisy-receiver", "transmitter", "b/2"))
        self.assertFalse(self.right("noisy-receiver", "transmitter", "a/1"))

    def test_a_slow_receiver_is_its_host(self):
        self.assertTrue(self.right("slow-receiver", "host", "a/1"))
        self.assertFalse(self.right("slow-receiver", "host", "b/2"))


class Holds(unittest.TestCase):
    hold = {"host": "a", "verdict": "NOISY_PHY", "port": "a/1", "at_s": 1200}

    def test_a_hold_without_a_real_cause_misses_the_bar(self):
        for causes in ((), (cause("host-reboot", 0),), (cause(limits=0.09),)):
            score = scored(run(*causes, holds=[self.hold]))
            self.assertEqual((score.quiet_runs, len(score.quiet_holds)), (1, 1))
            self.assertEqual(len(score.below_bars(verdicts.BARS)), 1)

    def test_a_hold_of_the_right_host_is_right(self):
        score = scored(run(cause(), holds=[self.hold]))
        self.assertEqual((score.quiet_holds, score.wrong_holds), ([], []))
        score = scored(run(cause(), holds=[dict(self.hold, port="c/1")]))
        self.assertEqual(len(score.wrong_holds), 1)


class Runs(unittest.TestCase):
    def test_a_number_is_one_scenario_and_severities_span_the_range(self):
        self.assertEqual(vars(verdicts.Run(7)), vars(verdicts.Run(7)))
        times = []
        for number in range(1, 400):
            for line in verdicts.Run(number).scenario.splitlines():
                if line.startswith("noisy-"):
                    times.append(float(line.split("severity=")[1].split()[0]))
        self.assertLess(min(times), 0.4)
        self.assertGreater(max(times), 80)
        # Uniform in the logarithm: half of them are below sqrt(0.3 x 100).
        below = sum(x < 5.48 for x in times) / len(times)
        self.assertAlmostEqual(below, 0.5, delta=0.1)

    def test_quiet_runs_have_no_real_cause(self):
        for number in range(verdicts.QUIET, verdicts.QUIET + 200):
            words = {line.split()[0] for line in verdicts.Run(number).scenario.splitlines()}
            real = words & set(verdicts.VERDICT_OF)
            self.assertLessEqual(real, {"dirty-cable"}, "which FEC corrects")


if __name__ == "__main__":
    unittest.main()
