#!/usr/bin/env python3
"""The verb bench: its table, its JSON, what is left out when asked. Never how long anything takes.

    ROPEWALK_CLI=build/release/ropewalk tests/cli_bench.py     or     tests/cli_bench.py build/release/ropewalk
"""

import json
import os
import platform
import unittest

from cli import Files

QUICK = ["bench", "--rounds", "1"]
DECODE = ["--shape", "1x32x128"]
MACHINE = ["cpu", "cores", "l1d_bytes", "l2_bytes", "l3_bytes", "os", "compiler", "ropewalk", "date"]
KEYS = ["work", "dtype", "pairing", "shape", "layout", "angles", "positions", "threads", "target",
        "ns", "limit_ns", "fraction"]


class Bench(Files):
    def measure(self, *arguments):
        """What it prints. On a busy machine a limit may not be believed, which is then all it says."""
        result = self.run_cli(*QUICK, *arguments)
        if result.returncode != 0:
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(result.stderr, r"\Aropewalk: [^\n]+ the limit is measured wrong: [^\n]+\n\Z")
        return result.stdout

    def report(self, *arguments):
        return json.loads(self.measure("--json", *arguments))

    def rows(self, *arguments):
        return self.report(*arguments)["rows"]

    def test_json_has_the_shape_of_the_design(self):
        report = self.report(*DECODE, "--work", "rotate", "--target", self.any_target())
        self.assertEqual(list(report), ["machine", "rows"])
        self.assertEqual(list(report["machine"]), MACHINE)
        self.assertEqual(len(report["rows"]), 4 * 2 * 2)
        for row in report["rows"]:
            self.assertEqual(list(row), KEYS)
            self.assertEqual((row["work"], row["shape"], row["layout"], row["positions"],
                              row["threads"]), ("rotate", [1, 32, 128], "bthd", "consecutive", 1))
            self.assertIn(row["dtype"], ("f32", "bf16", "f16", "f64"))
            self.assertIn(row["pairing"], ("halves", "adjacent"))
            self.assertIn(row["angles"], ("fresh", "ready"))
            self.assertIn(row["target"], ("SCALAR", "AVX2", "AVX3", "AVX3_BF16", "NEON"))
            self.assertTrue(row["ns"] > 0 and row["limit_ns"] > 0)
            self.assertAlmostEqual(row["fraction"], row["limit_ns"] / row["ns"])
        self.assertEqual(len({str(sorted(row.items())) for row in report["rows"]}), 16)

    def any_target(self):
        return "NEON" if platform.machine() == "aarch64" else "SCALAR"

    def test_what_the_machine_does_without_the_library_stands_beside_its_name(self):
        report = self.report("--work", "memory", "--threads", "1")
        self.assertEqual(list(report), ["machine", "rows"])
        self.assertEqual(report["rows"], [])
        self.assertEqual(list(report["machine"]), [*MACHINE, "memory"])
        memory = report["machine"]["memory"]
        for row in memory:
            self.assertEqual(list(row), ["loop", "bytes", "threads", "ns"])
            self.assertTrue(row["ns"] > 0 and row["bytes"] > 0)
            self.assertEqual(row["threads"], 1)
        self.assertEqual(len({(row["loop"], row["bytes"]) for row in memory}), len(memory))
        loops = {row["loop"] for row in memory}
        self.assertEqual(len(memory), 4 * len(loops))
        self.assertLessEqual({"limit", "memcpy"}, loops)

    def test_the_overhead_of_a_call_is_one_figure_for_each_interface(self):
        report = self.report("--work", "overhead")
        self.assertEqual(list(report), ["machine", "overhead", "rows"])
        self.assertEqual(list(report["overhead"]), ["cpp_ns", "c_ns"])
        self.assertEqual(report["rows"], [])

    def test_rows_of_two_threads_are_those_asked_for(self):
        arguments = ["--shape", "512x32x128", "--dtype", "f32", "--work", "rotate", "--threads", "2"]
        result = self.run_cli(*QUICK, "--json", *arguments)
        if "only 1 to be had" in result.stderr:
            self.skipTest("this machine has one core, or the build no OpenMP")
        rows = json.loads(result.stdout)["rows"]
        self.assertEqual([(row["threads"], row["pairing"], row["angles"]) for row in rows],
                         [(2, "halves", "fresh"), (2, "halves", "ready"),
                          (2, "adjacent", "fresh"), (2, "adjacent", "ready")])

    def test_with_one_thread_rows_of_two_are_left_out_and_that_is_said(self):
        os.environ["OMP_NUM_THREADS"] = "1"
        self.addCleanup(os.environ.pop, "OMP_NUM_THREADS")
        arguments = ["--shape", "512x32x128", "--dtype", "f32", "--work", "rotate", "--json"]
        result = self.run_cli(*QUICK, *arguments)
        self.assertEqual({row["threads"] for row in json.loads(result.stdout)["rows"]}, {1})
        self.assertIn("ropewalk: warning: only 1 thread is to be had: rows of 2 are left out",
                      result.stderr)
        self.refuse(1, "--threads 2: only 1 to be had", *QUICK, *arguments, "--threads", "2")

    def test_the_table_names_the_machine_and_has_a_line_for_each_row(self):
        arguments = [*DECODE, "--work", "rotate_out", "--dtype", "f16"]
        lines = self.measure(*arguments).splitlines()
        self.assertIn("ropewalk 0.1.0", lines[0])
        self.assertEqual(lines[1].split(), "work dtype pairing shape layout angles positions target "
                                           "threads ns GB/s of limit".split())
        self.assertEqual([line.split()[:7] for line in lines[2:]],
                         [["rotate_out", "f16", pairing, "1x32x128", "bthd", angles, "consecutive"]
                          for pairing in ("halves", "adjacent") for angles in ("fresh", "ready")])

    def test_a_shape_that_is_in_no_list_is_measured(self):
        rows = self.rows("--shape", "3x5x6", "--work", "rotate_qk", "--dtype", "f16", "--layout", "bhtd")
        self.assertEqual([(row["shape"], row["work"], row["dtype"], row["layout"], row["threads"]) for row in rows],
                         4 * [([3, 5, 6], "rotate_qk", "f16", "bhtd", 1)])
        # One that is, in a layout that is not.
        rows = self.rows("--shape", "1x32x128", "--work", "rotate", "--dtype", "bf16", "--layout", "bhtd")
        self.assertEqual({(row["dtype"], row["layout"]) for row in rows}, {("bf16", "bhtd")})

    def test_only_what_is_asked_for_is_measured(self):
        rows = self.rows("--work", "rotate_qk", "--dtype", "f32", "--layout", "bhtd")
        self.assertEqual({(row["work"], row["dtype"], row["layout"]) for row in rows},
                         {("rotate_qk", "f32", "bhtd")})
        rows = self.rows("--work", "angles")
        self.assertEqual({row["work"] for row in rows}, {"angles"})
        self.assertEqual({row["dtype"] for row in rows}, {"f32", "f64"})
        self.assertEqual({row["positions"] for row in rows}, {"consecutive", "random"})

    def test_a_forced_target_is_named_and_one_not_to_be_had_refused(self):
        rows = self.rows(*DECODE, "--dtype", "f64", "--target", self.any_target())
        self.assertEqual({row["target"] for row in rows}, {self.any_target()})
        other = "SCALAR" if platform.machine() == "aarch64" else "NEON"
        self.refuse(2, f"--target {other} is not to be had", *QUICK, "--target", other)

    def test_wrong_usage_is_refused_with_code_2(self):
        for words, arguments in [
            ("--work turn: want rotate, rotate_qk, rotate_out, angles, memory or overhead",
             ["--work", "turn"]),
            ("--dtype f8: want f32, bf16, f16 or f64", ["--dtype", "f8"]),
            ("--layout thd: want bthd or bhtd", ["--layout", "thd"]),
            ("--target SSE2: want SCALAR, AVX2, AVX3, AVX3_BF16 or NEON", ["--target", "SSE2"]),
            ("--target best: want SCALAR", ["--target", "best"]),
            ("--shape 1x32: want TOKENSxHEADSxHEAD_DIM", ["--shape", "1x32"]),
            ("--shape 1x32x128x: want TOKENSxHEADSxHEAD_DIM", ["--shape", "1x32x128x"]),
            ("--shape x32x128: want TOKENSxHEADSxHEAD_DIM", ["--shape", "x32x128"]),
            ("--shape 1 x32x128: want TOKENSxHEADSxHEAD_DIM", ["--shape", "1 x32x128"]),
            ("--threads 3: want 1 or 2", ["--threads", "3"]),
            ("--threads two", ["--threads", "two"]),
            ("--work memory and --dtype f32 leave nothing to measure", ["--work", "memory", "--dtype", "f32"]),
            ("leave nothing to measure", ["--work", "angles", "--threads", "2"]),
            ("--rounds 0: want 1 to", ["--rounds", "0"]),
            ("--rounds ten", ["--rounds", "ten"]),
            ("--work: got an empty value", ["--work", ""]),
            ("leave nothing to measure", ["--work", "angles", "--dtype", "bf16"]),
            ("--shape 0x2x2: want sizes from 1", ["--shape", "0x2x2"]),
            ("an even head_dim", ["--shape", "2x2x3"]),
            ("at most 134217728 elements", ["--shape", "1000000000x1000000000x128"]),
            ("--work angles and --shape 2x2x2 leave nothing", ["--work", "angles", "--shape", "2x2x2"]),
            ("see ropewalk bench --help", ["--nonsense"]),
        ]:
            self.refuse(2, words, "bench", *arguments)


if __name__ == "__main__":
    unittest.main()
