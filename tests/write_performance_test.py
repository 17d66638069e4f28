#!/usr/bin/env python3
"""write_performance.py on a made-up measurement: what its tables say, and that it can fail."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import performance_chart  # noqa: E402
import performance_tables  # noqa: E402
import write_performance  # noqa: E402

MACHINE = {"cpu": "a CPU", "cores": 2, "l1d_bytes": 32768, "l2_bytes": 1 << 20, "l3_bytes": 32 << 20,
           "os": "an OS", "compiler": "GCC 12", "ropewalk": "0.1.0", "date": "2026-08-01T12:00:00Z",
           "memory": [{"loop": "limit", "bytes": 16384, "threads": 1, "ns": 163.84},
                      {"loop": "limit_f16", "bytes": 16384, "threads": 1, "ns": 327.68},
                      {"loop": "memcpy", "bytes": 8192, "threads": 1, "ns": 163.84}],
           "fork_join_ns": 640.0}


def row(ns, fraction, **other):
    return {"work": "rotate", "dtype": "f32", "pairing": "halves", "shape": [1, 32, 128], "layout": "bthd",
            "angles": "fresh", "positions": "consecutive", "threads": 1, "target": "AVX3", "ns": ns,
            "limit_ns": ns * fraction, "fraction": fraction, **other}


BENCH = {"machine": MACHINE, "overhead": {"cpp_ns": 18.25, "c_ns": 31.0}, "rows": [
    row(200.0, 0.8), row(180.0, 0.9, angles="ready"),
    row(250.0, 0.64, pairing="adjacent"),
    row(400.0, 0.4, target="AVX2"),
    row(150000.0, 0.7, shape=[512, 32, 128]),
    row(80000.0, 0.75, shape=[512, 32, 128], threads=2),
    row(9e6, 1.25, shape=[4096, 32, 128], work="rotate_out"),
    row(81920.0, 0.5, shape=[4096, 1, 128], work="angles"),
]}


def peer_row(peer, dtype, shape, ratio, error, pairing="halves"):
    return {"peer": peer, "work": "in place", "dtype": dtype, "pairing": pairing, "shape": shape,
            "threads": 1, "ns": 1e3 * ratio, "overhead_ns": None, "ropewalk_ns": 1e3, "ratio": ratio,
            "error_at_100000": error, "error_at_1000000": None}


PEERS = {"machine": {"cpu": "a CPU", "cores": 2, "os": "an OS", "compiler": "GCC 12", "date": "2026-08-02",
                     "versions": {"ggml": "1.2", "torch": "2.0"}},
         "rows": [peer_row("ropewalk", "f32", [1, 32, 128], 1.0, 1.2e-7),
                  peer_row("ggml", "f32", [1, 32, 128], 2.0, 5.9e-3),
                  peer_row("ggml", "f32", [512, 32, 128], 8.0, 5.9e-3),
                  peer_row("ggml", "f32", [1, 32, 128], 6.0, 7e-3, pairing="adjacent"),
                  peer_row("jax", "f16", [512, 32, 128], 0.0, None)],
         "geometric_means": {"ggml": 4.56},
         "not_measured": [{"peer": "mlx", "why": "no wheel for this machine"}]}
PAGE = "Before.\n<!-- measured: {} -->\n{}<!-- end -->\nAfter.\n"


class Tables(unittest.TestCase):
    def cells(self, name, measured=BENCH):
        lines = performance_tables.BLOCKS[name][1](measured)
        rows = [line.strip("|").split("|") for line in lines if line.startswith("|")]
        return [[cell.strip() for cell in row] for row in rows]

    def test_a_line_has_all_pairings_and_angles_of_a_case_and_none_of_another_target(self):
        case = ["f32", "1 x 32 x 128", "", "L1"]
        self.assertEqual(self.cells("decode")[2:],
                         [[*case, "0.90", "", "0.80", "0.64", "200 ns", "160 ns"]])
        self.assertEqual(self.cells("targets")[2:], [[*case, "", "", "0.40", "", "400 ns", "160 ns"]])

    def test_where_a_tensor_lies_follows_from_all_bytes_and_the_caches(self):
        lines = self.cells("prefill")[2:]
        self.assertEqual([line[2:4] for line in lines], [["", "L3"], ["to another tensor", "memory"]])
        levels = {2: "L1", 3: "L2", 64: "L2", 65: "L3", 2048: "L3", 2049: "memory"}
        for tokens, level in levels.items():
            of = row(1, 1, shape=[tokens, 32, 128])
            self.assertEqual(performance_tables.level(of, MACHINE), level)

    def test_two_threads_are_divided_by_one_of_the_same_shape(self):
        self.assertEqual(self.cells("threads")[2:],
                         [["f32", "512 x 32 x 128", "L3", "", "", "1.88", "", "0.75"]])
        one = {**BENCH, "rows": [row(1, 1)]}
        self.assertEqual(performance_tables.two_threads(one),
                         ["Not measured: there was one thread to be had."])

    def test_a_row_of_angles_is_a_part_of_the_call(self):
        self.assertEqual(self.cells("angles")[2][5:], ["20 ns", "10 ns"])

    def test_memory_is_in_bytes_read_and_written(self):
        self.assertEqual(self.cells("memory")[2:], [["1", "16 KiB", "200.0", "100.0", "100.0"]])

    def test_the_spread_is_of_limits_of_the_same_bytes_on_as_many_threads(self):
        rows = [row(1, 1), row(1, 1), row(1, 1, threads=2), row(1, 1, shape=[2, 16, 128])]
        for limit, one in zip((100, 150, 900, 120), rows):
            one["limit_ns"] = limit
        self.assertEqual(self.cells("spread", {**BENCH, "rows": rows})[2:], [["L1", "1.50"]])

    def test_calls_and_the_machine(self):
        self.assertEqual([line[1] for line in self.cells("calls")[2:]], ["18.2 ns", "31 ns", "640 ns"])
        self.assertEqual(performance_tables.bench_machine(BENCH),
                         ["a CPU; 2 cores, L1 32 KiB, L2 1 MiB, L3 32 MiB; an OS; GCC 12; "
                          "ropewalk 0.1.0, AVX3; 2026-08-01."])

    def test_peers_have_their_ratios_and_the_geometric_mean_of_them(self):
        self.assertEqual(self.cells("peers", PEERS)[2:],
                         [["ggml", "in place", "f32", "halves", "2.0", "8.0", "4.0"],
                          ["ggml", "in place", "f32", "adjacent", "6.0", "", "6.0"],
                          ["jax", "in place", "f16", "halves", "", "0.0", ""]])
        self.assertEqual(self.cells("peers means", PEERS)[2:], [["ggml", "4.6"]])
        self.assertEqual(self.cells("peers errors", PEERS)[2:],
                         [["ropewalk", "f32", "1.2e-7", ""], ["ggml", "f32", "7.0e-3", ""],
                          ["jax", "f16", "", ""]])
        self.assertEqual(performance_tables.peers_machine(PEERS),
                         ["a CPU; 2 cores; an OS; GCC 12; ggml 1.2, torch 2.0; 2026-08-02."])
        self.assertEqual(performance_tables.peers_not_measured(PEERS),
                         ["- mlx: no wheel for this machine"])

    def test_calls_of_the_package_are_held_against_the_first_of_them(self):
        rows = [("decode", "C++", "in place", 400.0), ("decode", "rotate_", "in place", 2000.0),
                ("decode", "eager", "new", 9000.0), ("large", "rotate_", "in place", 5e6)]
        measured = {"rows": [dict(zip(("group", "call", "makes", "ns"), row)) for row in rows]}
        self.assertEqual(self.cells("package decode", measured)[2:],
                         [["C++", "in place", "400 ns", "0.2"], ["rotate_", "in place", "2 us", "1"],
                          ["eager", "in a new tensor", "9 us", "4.5"]])
        self.assertEqual(self.cells("package large", measured)[2:], [["rotate_", "in place", "5 ms", "1"]])

    def test_times_and_sizes_have_three_digits_and_a_unit(self):
        self.assertEqual([performance_tables.time(ns) for ns in (1.234, 999, 1000, 23456, 7.5e6)],
                         ["1.23 ns", "999 ns", "1 us", "23.5 us", "7.5 ms"])
        self.assertEqual([performance_tables.size(n) for n in (512, 16384, 1 << 20, 24 << 20)],
                         ["0.5 KiB", "16 KiB", "1 MiB", "24 MiB"])


class Chart(unittest.TestCase):
    def test_bars_are_of_one_tensor_in_place_on_one_thread_and_the_best_target(self):
        bars = {key: row["fraction"] for key, row in performance_chart.bars(BENCH).items()}
        self.assertEqual(bars, {
            ("f32", "L1", "halves", "fresh"): 0.8, ("f32", "L1", "halves", "ready"): 0.9,
            ("f32", "L1", "adjacent", "fresh"): 0.64, ("f32", "L3", "halves", "fresh"): 0.7})

    def test_of_a_level_the_smallest_tensor_is_drawn(self):
        more = {**BENCH, "rows": [row(1, 0.1, shape=[400, 32, 128]), *BENCH["rows"]]}
        self.assertEqual(performance_chart.bars(more)["f32", "L3", "halves", "fresh"]["fraction"], 0.1)


class Page(unittest.TestCase):
    def test_a_table_is_replaced_and_nothing_else(self):
        kept = {"peers": PEERS}
        wanted = PAGE.format("peers not measured", "- mlx: no wheel for this machine\n")
        for body in ("", "an old\ntext\n"):
            text = PAGE.format("peers not measured", body)
            new, problems = write_performance.written("docs/a.md", text, kept)
            self.assertEqual(new, wanted)
            self.assertEqual(len(problems), 1)
            self.assertTrue(problems[0].startswith("docs/a.md:2: "), problems)
        self.assertEqual(write_performance.written("docs/a.md", wanted, kept), (wanted, []))

    def test_what_was_not_measured_is_said(self):
        new, _ = write_performance.written("a.md", PAGE.format("decode", ""), {})
        self.assertEqual(new, PAGE.format("decode", "Not measured.\n"))

    def test_an_unknown_table_and_one_without_end_are_refused(self):
        text = PAGE.format("tea", "kept\n")
        self.assertEqual(write_performance.written("a.md", text, {}),
                         (text, ["a.md:2: nothing measures `tea`"]))
        text = "<!-- measured: decode -->\nkept\n" + PAGE.format("peers", "Not measured.\n")
        self.assertEqual(write_performance.written("a.md", text, {}),
                         (text, ["a.md:1: `decode` does not end"]))

    def test_what_is_kept_reads_back_with_five_digits_and_a_line_a_row(self):
        kept = write_performance.rounded({"bench": {**BENCH, "x": 123456.789}})
        text = write_performance.kept_text(kept)
        self.assertEqual(json.loads(text), kept)
        self.assertEqual(kept["bench"]["x"], 123460.0)
        self.assertEqual(sum('"work"' in line for line in text.splitlines()), len(BENCH["rows"]))

    def test_the_check_fails_where_the_page_is_not_what_was_kept(self):
        with tempfile.TemporaryDirectory() as directory:
            docs = Path(directory, "docs")
            docs.mkdir()
            (docs / "performance.json").write_text(write_performance.kept_text({"peers": PEERS}))
            for body, code in (("- mlx: no wheel for this machine\n", 0), ("- mlx: slow\n", 1)):
                (docs / "performance.md").write_text(PAGE.format("peers not measured", body))
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(write_performance.main(["--check", directory]), code)


if __name__ == "__main__":
    unittest.main()
