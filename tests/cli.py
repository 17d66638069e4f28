#!/usr/bin/env python3
"""The command line, from outside: files in, files out, exit codes, one line of error.

    ROPEWALK_CLI=build/release/ropewalk tests/cli.py     or     tests/cli.py build/release/ropewalk

Here: usage, check, and what all such tests use. The verb rotate has files of its own.
"""

import array
import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

CLI = os.path.abspath(os.environ.get("ROPEWALK_CLI") or sys.argv.pop(1))


def npy_header(shape, descr="<f4", version=1, fortran="False"):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, tuple(shape))
    length = struct.Struct("<H" if version == 1 else "<I")
    text += " " * (-(8 + length.size + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + length.pack(len(text)) + text.encode()


def floats(data):
    return array.array("f", data)


def default_signals():
    """For preexec_fn: a shell may have had them ignored, and children inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Files(unittest.TestCase):
    """A test in a directory of its own, with the tool."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="ropewalk-cli-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def put(self, name, contents):
        with open(self.path(name), "wb") as file:
            file.write(contents)
        return name

    def put_tensor(self, name, shape, data=None, **header):
        if data is None:
            generator = random.Random(name)
            data = floats(generator.uniform(-2, 2) for _ in range(math.prod(shape)))
        return self.put(name, npy_header(shape, **header) + data.tobytes())

    def put_ids(self, name, shape, ids, descr="<i8"):
        data = array.array("q" if descr == "<i8" else "i", ids)
        return self.put(name, npy_header(shape, descr) + data.tobytes())

    def get(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def get_tensor(self, name):
        contents = self.get(name)
        (length,) = struct.unpack("<H", contents[8:10])
        return floats(contents[10 + length:])

    def snapshot(self):
        """Everything in the directory, with its contents."""
        return {name: os.readlink(self.path(name)) if os.path.islink(self.path(name)) else
                self.get(name) if os.path.isfile(self.path(name)) else None
                for name in os.listdir(self.directory)}

    def run_cli(self, *arguments, **options):
        return subprocess.run([CLI, *arguments], cwd=self.directory, capture_output=True, text=True,
                              timeout=120, **options)

    def succeed(self, *arguments, **options):
        result = self.run_cli(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def refuse(self, code, words, *arguments, **options):
        """It fails with this code and one line that has these words, and touches nothing."""
        before = self.snapshot()
        result = self.run_cli(*arguments, **options)
        self.assertEqual(result.returncode, code, (arguments, result.stderr))
        self.assertEqual(result.stdout, "", arguments)
        self.assertRegex(result.stderr, r"\Aropewalk: [^\n]+\n\Z", arguments)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, result.stderr, arguments)
        self.assertEqual(self.snapshot(), before, arguments)


class Usage(Files):
    def test_version_and_help_are_no_errors(self):
        self.assertEqual(self.succeed("--version"), "ropewalk 0.1.0\n")
        for arguments in (["--help"], ["rotate", "--help"], ["inspect", "--help"], ["check", "--help"]):
            self.assertIn("Usage: ropewalk", self.succeed(*arguments))

    def test_without_a_verb_the_usage_is_shown(self):
        result = self.run_cli()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("Usage: ropewalk", result.stderr)

    def test_wrong_usage_is_refused_with_code_2(self):
        x = ["--in", self.put_tensor("x.npy", (1, 1, 1, 4))]
        out = ["--out", "y.npy"]
        qk = ["--q", self.put_tensor("q.npy", (1, 1, 1, 4)),
              "--k", self.put_tensor("k.npy", (1, 1, 1, 4))]
        rope = ["--head-dim", "4"]
        self.put("spec.json", b'{"head_dim": 4}')
        self.put("spec.npy", b'{"head_dim": 4}')
        self.put_ids("p.npy", (1,), [0])
        for words, arguments in [
            ("turn", ["turn"]),
            ("--nonsense", ["rotate", *rope, *x, *out, "--nonsense"]),
            ("extra", ["rotate", *rope, *x, *out, "extra"]),
            ("--in", ["rotate", *rope, *out, "--in"]),
            ("--head-dim", ["rotate", *rope, *rope, *x, *out]),
            ("--in FILE, or --q FILE and --k FILE", ["rotate", *rope]),
            ("--in beside --q and --k", ["rotate", *rope, *x, *qk, *out]),
            ("--out FILE, or --in-place", ["rotate", *rope, *x]),
            ("--in-place beside --out", ["rotate", *rope, *x, *out, "--in-place"]),
            ("--positions: got an empty value", ["rotate", *rope, *x, *out, "--positions", ""]),
            ("--start: got an empty value", ["rotate", *rope, *x, *out, "--start", ""]),
            ("--spec: got an empty value", ["rotate", *rope, *x, *out, "--spec", ""]),
            ("see ropewalk rotate --help", ["rotate", *rope, *x, *out, "--theta", "5"]),
            ("belong together", ["rotate", *rope, *qk[:2], "--in-place"]),
            ("belong together", ["rotate", *rope, *qk, "--out-q", "y.npy"]),
            ("--out belongs to --in", ["rotate", *rope, *qk, *out]),
            ("--out belongs to --in",
             ["rotate", *rope, *x, "--out-q", "y.npy", "--out-k", "z.npy"]),
            ("--out-q FILE and --out-k FILE, or --in-place", ["rotate", *rope, *qk]),
            ("say which rope", ["rotate", *x, *out]),
            ("say which rope", ["check"]),
            ("--head-dim beside --spec", ["rotate", *rope, "--spec", "spec.json", *x, *out]),
            ("--layout hdt: want bthd, bhtd, thd or htd",
             ["rotate", *rope, *x, *out, "--layout", "hdt"]),
            ("--start beside --positions",
             ["rotate", *rope, *x, *out, "--start", "1", "--positions", "p.npy"]),
            ("is also what --config or --spec reads",
             ["rotate", "--spec", "spec.npy", *x, "--out", "spec.npy"]),
            ("--start 1.5", ["rotate", *rope, *x, *out, "--start", "1.5"]),
            ("--start 9223372036854775808",
             ["rotate", *rope, *x, *out, "--start", "9223372036854775808"]),
            ("--in x.bin: not supported, want FILE.npy", ["rotate", *rope, "--in", "x.bin", *out]),
            ("--in x.npy:x: not supported", ["rotate", *rope, "--in", "x.npy:x", *out]),
            ("--out y.bin: not supported", ["rotate", *rope, *x, "--out", "y.bin"]),
            ("names no tensor after the colon",
             ["rotate", *rope, "--in", "x.safetensors:", "--in-place"]),
            ("want a name that ends in .safetensors, as --in does",
             ["rotate", *rope, "--in", "x.safetensors:x", *out]),
            ("want the name of a file alone",
             ["rotate", *rope, "--in", "x.safetensors", "--out", "y.safetensors:x"]),
            ("--operation derotate: want rotate, unrotate or backward",
             ["rotate", *rope, *x, *out, "--operation", "derotate"]),
            ("--clockwise beside --spec",
             ["rotate", "--spec", "spec.json", "--clockwise", *x, *out]),
            ("want a name that ends in .npy", ["rotate", *rope, *x, "--out", "y.safetensors"]),
            ("want a name that ends in .npy", ["rotate", *rope, *x, *out, "--positions", "p.txt"]),
            ("--seed -1", ["check", *rope, "--seed", "-1"]),
            ("--seed x", ["check", *rope, "--seed", "x"]),
        ]:
            self.refuse(2, words, *arguments)

    def test_a_value_that_the_spec_refuses_is_refused_in_its_words_with_code_2(self):
        for words, flags in [
            ("rotary_dim 130 is larger than head_dim 128",
             ["--head-dim", "128", "--rotary-dim", "130"]),
            ("rotary_dim 3", ["--head-dim", "4", "--rotary-dim", "3"]),
            ("head_dim 0 ", ["--head-dim", "0"]),
            ("head_dim -4 ", ["--head-dim", "-4"]),
            ("head_dim 1e2 is not an integer", ["--head-dim", "1e2"]),
            ("head_dim: missing", ["--base", "1e6"]),
            ('pairing: "neox" is not known, want halves or adjacent',
             ["--head-dim", "4", "--pairing", "neox"]),
            ('output_pairing: "neox" is not known',
             ["--head-dim", "4", "--output-pairing", "neox"]),
            ("rotary_offset 4 ", ["--head-dim", "4", "--rotary-offset", "4"]),
            ("window_parts 3 ", ["--head-dim", "4", "--window-parts", "3"]),
            ("base 0 ", ["--head-dim", "4", "--base", "0"]),
            ("base nan ", ["--head-dim", "4", "--base", "nan"]),
            ("base 1e999 ", ["--head-dim", "4", "--base", "1e999"]),
            ("attention_factor 0 ", ["--head-dim", "4", "--attention-factor", "0"]),
        ]:
            self.refuse(2, words, "check", *flags)

    def test_a_bad_spec_file_is_refused_with_code_1_and_its_name(self):
        for words, text in [
            ("not JSON", b"{"),
            ("theta: not a key", b'{"head_dim": 4, "theta": 1}'),
            ("rotary_dim 6 is larger than head_dim 4", b'{"head_dim": 4, "rotary_dim": 6}'),
        ]:
            self.put("spec.json", text)
            self.refuse(1, ["spec.json: ", words], "check", "--spec", "spec.json")
        self.refuse(1, "none.json: cannot be opened", "check", "--spec", "none.json")
        self.refuse(1, "is a directory", "check", "--spec", ".")


class Check(Files):
    def test_the_table_names_rope_and_seed_and_ends_in_a_verdict(self):
        lines = self.succeed("check", "--head-dim", "16", "--rotary-dim", "8", "--pairing",
                             "adjacent", "--seed", "7").splitlines()
        self.assertEqual(lines[0], "head_dim 16, rotary_dim 8, adjacent, base 10000, "
                                   "attention factor 1; seed 7")
        self.assertEqual(lines[1].split(), "property dtype shift worst bound ok".split())
        self.assertRegex(lines[-1], r"\Aall \d+ hold\Z")
        self.assertEqual(lines[-1], f"all {len(lines) - 3} hold")
        for line in lines[2:-1]:
            self.assertTrue(line.endswith("  yes"), line)

    def test_the_table_names_what_few_ropes_have(self):
        self.put("spec.json", b'{"head_dim": 32, "rotary_offset": 16, "window_parts": 2,'
                              b' "output_pairing": "adjacent", "clockwise": true,'
                              b' "axes": {"sections": [4, 4], "order": "cycle"}}')
        self.assertEqual(
            self.run_cli("check", "--spec", "spec.json", "--seed", "7").stdout.splitlines()[0],
            "head_dim 32, rotary_dim 16, from 16, in 2 parts, halves to adjacent, clockwise, "
            "axes 2, base 10000, attention factor 1; seed 7")

    def test_json_has_the_shape_of_the_design(self):
        report = json.loads(self.succeed("check", "--head-dim", "16", "--attention-factor", "1.5",
                                         "--seed", "18446744073709551615", "--json"))
        self.assertEqual(list(report), ["rows", "ok", "seed"])
        self.assertEqual((report["ok"], report["seed"]), (True, 2 ** 64 - 1))
        shifts = set()
        for row in report["rows"]:
            self.assertEqual(list(row), ["property", "dtype", "shift", "worst", "bound", "ok"])
            self.assertTrue(row["ok"] and row["worst"] <= row["bound"])
            shifts.add(row["shift"])
        self.assertTrue({None, 10_000_000} <= shifts)

    def test_the_same_seed_gives_the_same_numbers_and_none_gives_new_ones(self):
        command = ["check", "--head-dim", "8", "--json"]
        once, twice = (self.succeed(*command, "--seed", "1") for _ in range(2))
        self.assertEqual(once, twice)
        first, second = (json.loads(self.succeed(*command)) for _ in range(2))
        self.assertNotEqual(first["seed"], second["seed"])
        again = self.succeed(*command, "--seed", str(first["seed"]))
        self.assertEqual(json.loads(again), first)

    def test_output_that_cannot_be_printed_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([CLI, "check", "--head-dim", "8"], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\Aropewalk: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
