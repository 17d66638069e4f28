#!/usr/bin/env python3
"""bench/peers without its peers: the formula, the order, the sums, and what is done with one that fails.

Of the peers themselves only PyTorch is used; nothing here reads the clock.
"""

import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

import compare  # noqa: E402
import contender  # noqa: E402
import measure  # noqa: E402
import probe  # noqa: E402
import report  # noqa: E402
import work as w  # noqa: E402

FORM = contender.Form(in_place=False, ready=True)


def rotated(work, sign=1):
    """The formula as complex numbers, which is not how work.py has it."""
    x = w.tensor(work).astype(np.float64)
    a, b = w.pairs(work.pairing, x)
    frequencies = w.BASE ** (-2.0 * np.arange(work.head_dim // 2) / work.head_dim)
    turned = (a + 1j * b) * np.exp(sign * 1j * np.multiply.outer(w.positions(work), frequencies))[:, None, :]
    if work.pairing == "halves":
        return np.concatenate((turned.real, turned.imag), axis=-1)
    return np.stack((turned.real, turned.imag), axis=-1).reshape(x.shape)


class Ticks(contender.Run):
    """Calls that take a known number of nanoseconds of a clock of their own; `at_once` calls a time."""

    now = 0
    order = []

    def __init__(self, name, ns, at_once=1):
        self.name, self.ns, self.at_once = name, ns, at_once

    def run(self, calls):
        done = -(-calls // self.at_once) * self.at_once
        Ticks.now += done * self.ns
        Ticks.order.append(self.name)
        return done


class TheFormula(unittest.TestCase):
    def test_an_exact_rotation_is_off_by_nothing(self):
        for pairing in w.PAIRINGS:
            work = w.Work("f32", pairing, 3, 2, 64, start=1000)
            self.assertLess(w.error(work, w.tensor(work), rotated(work)), 1e-11)

    def test_another_pairing_direction_or_position_is_refused(self):
        work = w.Work("f32", "halves", 8, 2, 128, start=0)
        x, other = w.tensor(work), w.Work("f32", "adjacent", 8, 2, 128, start=0)
        for y in (rotated(other), rotated(work, sign=-1), rotated(work.at(1, 8)), x):
            self.assertGreater(w.error(work, x, y), 100 * max(w.SMALL["f32"], w.WITHIN["f32"]))

    def test_a_single_wrong_row_at_the_end_is_seen(self):
        work = w.Work("f32", "halves", 100, 2, 64, start=0)
        y = rotated(work)
        self.assertLess(w.error_within(work, w.tensor(work), y), 1e-11)
        y[-1, 1, 5] += 1
        self.assertGreater(w.error_within(work, w.tensor(work), y), 0.1)

    def test_what_is_not_finite_is_infinitely_off(self):
        work = w.Work("f32", "halves", 2, 1, 64, start=0)
        self.assertEqual(w.error(work, w.tensor(work), np.full(work.shape, np.nan)), float("inf"))

    def test_a_table_in_float32_has_lost_digits_at_a_million(self):
        """Its angles are off by at most a few 2^-24 of a million."""
        work = w.Work("f32", "halves", 1, 1, 128, start=1_000_000)
        cos, sin = w.table(work)
        exact = np.exp(1j * 1e6 * w.BASE ** (-2.0 * np.arange(64) / 128))
        off = np.abs(cos[0] + 1j * sin[0] - exact).max()
        self.assertGreater(off, 1e-3)
        self.assertLess(off, 2 * 1e6 * 2.0**-24)

    def test_every_peer_is_given_the_same_elements(self):
        work = w.Work("f32", "halves", 4, 2, 64, start=0)
        np.testing.assert_array_equal(w.tensor(work), w.tensor(work))
        self.assertEqual(w.tensor(work).ctypes.data % 4096, 0)
        self.assertEqual(w.memory(work.shape, np.float32, output=True).ctypes.data % 4096, 2048)

    def test_the_list_has_each_shape_dtype_and_pairing_once(self):
        works = list(w.works())
        self.assertEqual(len(works), len(set(works)))
        self.assertEqual(len(works), 5 * 3 * 2)
        self.assertTrue(all(each.start + each.tokens == w.CONTEXT for each in works))


class TheClock(unittest.TestCase):
    def setUp(self):
        Ticks.now, Ticks.order = 0, []

    @staticmethod
    def clock():
        return Ticks.now

    def test_each_round_begins_with_another(self):
        self.assertEqual([measure.order_of_round(r, 3) for r in range(4)],
                         [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]])

    def test_times_are_those_of_one_call(self):
        runs = [Ticks("a", 3), Ticks("b", 5000), Ticks("c", 7, at_once=64)]
        self.assertEqual(measure.measure(runs, 5, 1000, self.clock), [3, 5000, 7])

    def test_a_long_call_is_not_made_twice_for_warmth(self):
        run = Ticks("a", 2 * measure.LONG_NS)
        measure.measure([run], 15, 1000, self.clock)
        self.assertEqual(len(Ticks.order), 2 + 15)


class TheSums(unittest.TestCase):
    def row(self, peer, ns, overhead, ropewalk, tokens=1):
        work = w.Work("f32", "halves", tokens, 32, 128, start=0)
        return report.row(work, peer, str(FORM), ns, overhead, ropewalk, {"100000": 1e-3, "1000000": 1e-2})

    def test_the_geometric_mean_is_that_of_the_ratios(self):
        self.assertAlmostEqual(report.geometric_mean([2, 8]), 4)
        rows = [self.row("a", 200, None, 100), self.row("a", 800, None, 100, 512)]
        self.assertAlmostEqual(report.geometric_means(rows)["a"], 4)

    def test_what_a_call_costs_anyway_is_taken_off_and_said(self):
        rows = [self.row("a", 500, 300, 100), self.row("ropewalk", 100, None, 100)]
        self.assertAlmostEqual(rows[0]["ratio"], 2)
        means = report.geometric_means(rows)
        self.assertAlmostEqual(means["a"], 2)
        self.assertAlmostEqual(means["a, with its overhead"], 5)
        self.assertEqual(set(means), {"a", "a, with its overhead"})

    def test_a_time_lost_in_the_overhead_makes_no_mean(self):
        self.assertEqual(report.geometric_means([self.row("a", 300, 301, 100)]), {})

    def test_the_text_has_a_line_for_each_dtype_and_a_column_for_each_shape(self):
        rows = [self.row("a", 250, None, 100), self.row("a", 900, None, 100, 512)]
        machine = {"cpu": "c", "cores": 2, "os": "o", "compiler": "g", "date": "d", "versions": {"a": "1.2"}}
        text = report.text({"machine": machine, "rows": rows, "geometric_means": report.geometric_means(rows),
                            "not_measured": [{"peer": "b", "why": "no"}]})
        self.assertTrue(text.startswith("c, one core of 2; o; g; d\na 1.2\n"), text)
        self.assertRegex(text, r"times as long +1x32x128 +512x32x128 +error at 100k +at 1M\n"
                               r"f32 halves +2\.50 +9\.00 +1\.0e-03 +1\.0e-02\n")
        self.assertIn("not measured: b: no", text)


class Failures(unittest.TestCase):
    """Peers that fail are named; the others go on."""

    def entrant(self, prepare):
        return contender.Contender("a", FORM, prepare, dtypes=("f32",), pairings=("halves",))

    def test_a_wrong_output_is_not_timed(self):
        def prepare(work):
            return contender.Calls(lambda: rotated(work, sign=-1), lambda y: y)
        comparison = compare.Comparison(1, 1)
        comparison.skip = lambda peer, why: comparison.not_measured.append((peer, why))
        self.assertIsNone(comparison.prepared(self.entrant(prepare), w.Work("f32", "halves", 8, 2, 64, 0)))
        (peer, why), = comparison.not_measured
        self.assertEqual(peer, "a, f32 halves 8x2x64")
        self.assertIn("of a pair's length", why)

    def test_a_right_one_is_told_with_its_errors(self):
        def prepare(work):
            return contender.Calls(lambda: rotated(work), lambda y: y)
        told = probe.told_of(self.entrant(prepare), "f32", "halves")
        self.assertEqual(set(told["errors"]), {"100000", "1000000"})
        self.assertLess(max(told["errors"].values()), 1e-8)

    def test_an_exception_is_told_in_a_line(self):
        def prepare(work):
            raise ValueError("not today\nnor tomorrow")
        self.assertEqual(probe.told_of(self.entrant(prepare), "f32", "halves"),
                         {"why": "ValueError: not today"})

    def test_a_peer_that_ends_the_process_or_is_not_there_ends_nothing_here(self):
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "contenders").mkdir()
            (Path(directory) / "contenders/ending.py").write_text("import os\nos.abort()\n")
            before = os.environ.get("PYTHONPATH", "")
            os.environ["PYTHONPATH"] = directory
            try:
                self.assertEqual(probe.ask("ending"), {"why": "ended by signal 6"})
                self.assertIn("ModuleNotFoundError", probe.ask("nowhere")["why"])
            finally:
                os.environ["PYTHONPATH"] = before


class PyTorch(unittest.TestCase):
    def test_the_usual_formula_is_right_and_loses_digits_at_a_million(self):
        from contenders import pytorch
        eager = pytorch.contenders()[0]
        for dtype in eager.dtypes:
            if dtype == "bf16":
                continue  # numpy has it from one of the peers' packages
            for pairing in eager.pairings:
                told = probe.told_of(eager, dtype, pairing)
                self.assertIn("errors", told, told)
                self.assertGreater(told["errors"]["1000000"], 1e-3)


if __name__ == "__main__":
    unittest.main()
