#!/usr/bin/env python3
"""`ropewalk rotate` on .safetensors files from outside. Run like cli.py."""

import json
import os
import signal
import struct
import subprocess
import time
import unittest

from cli import CLI, Files, default_signals, npy_header
from tensor_files import (encode, random_data, raw_safetensors, safetensors, safetensors_data,
                          safetensors_header)

SHAPE = (1, 3, 2, 8)
ROPE = ["rotate", "--head-dim", "8", "--start", "5"]


def model(seed=1, **options):
    """A file with q and k among others, not in the order of their names."""
    return safetensors({
        "z.bias": ("F8_E4M3", (5,), b"12345"),
        "k": ("BF16", (1, 3, 1, 8), random_data("bf16", (1, 3, 1, 8), seed)),
        "empty": ("F32", (0, 3), b""),
        "q": ("F32", SHAPE, random_data("f32", SHAPE, seed)),
        "a:b": ("I64", (2,), bytes(range(16))),
    }, **options)


class Tensors(Files):
    def rotated_alone(self, name, code, shape, data):
        """What the tool makes of this tensor in a file of its own."""
        self.put("alone.safetensors", safetensors({name: (code, shape, data)}))
        self.succeed(*ROPE, "--in", "alone.safetensors", "--in-place")
        (result,) = safetensors_data(self.get("alone.safetensors")).values()
        os.remove(self.path("alone.safetensors"))
        self.assertNotEqual(result, data)
        return result

    def check_copy(self, name, rotated):
        """The file is the model but for these tensors, which are rotated."""
        original = model(**self.options)
        data = safetensors_data(original)
        wanted = original
        for tensor, (code, shape) in rotated.items():
            turned = self.rotated_alone(tensor, code, shape, data[tensor])
            self.assertEqual(wanted.count(data[tensor]), 1)
            wanted = wanted.replace(data[tensor], turned)
        self.assertEqual(self.get(name), wanted)

    options = {"metadata": {"format": "pt", "note": "\u00e9"}, "padding": 13}
    Q, K = {"q": ("F32", SHAPE)}, {"k": ("BF16", (1, 3, 1, 8))}

    def setUp(self):
        super().setUp()
        self.put("m.safetensors", model(**self.options))

    def test_the_header_and_all_other_tensors_are_kept(self):
        self.succeed(*ROPE, "--in", "m.safetensors:q", "--out", "y.safetensors")
        self.check_copy("y.safetensors", self.Q)
        self.assertEqual(self.get("m.safetensors"), model(**self.options))
        self.succeed(*ROPE, "--in", "m.safetensors:k", "--in-place")
        self.check_copy("m.safetensors", self.K)

    def test_q_and_k_of_one_file_in_place_are_both_rotated(self):
        pair = ["--q", "m.safetensors:q", "--k", "m.safetensors:k"]
        os.symlink("m.safetensors", self.path("link.safetensors"))
        for arguments in ([*pair, "--in-place"],
                          [*pair, "--out-q", "y.safetensors", "--out-k", "./y.safetensors"],
                          [*pair, "--out-q", "m.safetensors", "--out-k", "m.safetensors"],
                          ["--q", "m.safetensors:q", "--k", "link.safetensors:k", "--in-place"]):
            self.put("m.safetensors", model(**self.options))
            self.succeed(*ROPE, *arguments)
            self.check_copy("y.safetensors" if "--out-q" in arguments and
                            "y.safetensors" in arguments else "m.safetensors", {**self.Q, **self.K})

    def test_q_and_k_of_one_file_go_to_two_files_if_asked(self):
        self.succeed(*ROPE, "--q", "m.safetensors:q", "--k", "m.safetensors:k",
                     "--out-q", "q.safetensors", "--out-k", "k.safetensors")
        self.check_copy("q.safetensors", self.Q)
        self.check_copy("k.safetensors", self.K)

    def test_q_and_k_of_two_files(self):
        self.put("n.safetensors", model(**self.options))
        self.succeed(*ROPE, "--q", "m.safetensors:q", "--k", "n.safetensors:k", "--in-place")
        self.check_copy("m.safetensors", self.Q)
        self.check_copy("n.safetensors", self.K)

    def test_q_of_npy_and_k_of_safetensors(self):
        data = safetensors_data(model(**self.options))["q"]
        self.put("q.npy", npy_header(SHAPE) + data)
        self.succeed(*ROPE, "--q", "q.npy", "--k", "m.safetensors:k", "--in-place")
        self.check_copy("m.safetensors", self.K)
        self.assertEqual(self.get("q.npy"),
                         npy_header(SHAPE) + self.rotated_alone("q", "F32", SHAPE, data))

    def test_outputs_that_would_destroy_something_are_refused(self):
        pair = ["--q", "m.safetensors:q", "--k", "m.safetensors:k"]
        self.put("n.safetensors", model(**self.options))
        os.link(self.path("m.safetensors"), self.path("hard.safetensors"))
        for words, arguments in [
            ("what --k reads", [*pair, "--out-q", "m.safetensors", "--out-k", "y.safetensors"]),
            ("what --q reads", [*pair, "--out-q", "y.safetensors", "--out-k", "m.safetensors"]),
            ("what --k reads",
             ["--q", "m.safetensors:q", "--k", "hard.safetensors:k", "--in-place"]),
            ("where --out-k writes",
             ["--q", "m.safetensors:q", "--k", "n.safetensors:k", "--out-q", "y.safetensors",
              "--out-k", "y.safetensors"]),
            ("is the same tensor as that of --q",
             ["--q", "m.safetensors:q", "--k", "m.safetensors:q", "--in-place"]),
        ]:
            self.refuse(2, words, *ROPE, *arguments)

    def test_a_tensor_is_found_by_its_name(self):
        self.put("one.safetensors", safetensors({"a:b": ("F32", SHAPE, random_data("f32", SHAPE))}))
        for name in ("one.safetensors", "one.safetensors:a:b"):
            self.succeed(*ROPE, "--in", name, "--out", "y.safetensors")
        command = [*ROPE, "--in-place", "--in"]
        self.refuse(1, 'm.safetensors: has no tensor "x"; it holds "z.bias", "k", "empty", "q", '
                    '"a:b"\n', *command, "m.safetensors:x")
        self.refuse(1, 'm.safetensors: holds 5 tensors, say which, as m.safetensors:NAME: "z.bias"',
                    *command, "m.safetensors")
        self.put("many.safetensors",
                 safetensors({f"t{i}": ("F32", (), bytes(4)) for i in range(1000)}))
        self.refuse(1, '"t8", "t9" and 990 more\n', *command, "many.safetensors:x")
        self.put("none.safetensors", safetensors({}))
        self.refuse(1, "none.safetensors: holds no tensors", *command, "none.safetensors")

    def test_a_tensor_that_cannot_be_rotated_is_refused(self):
        command = [*ROPE, "--in-place", "--in"]
        self.refuse(1, 'tensor "z.bias" has dtype "F8_E4M3", want F32, F16, BF16 or F64', *command,
                    "m.safetensors:z.bias")
        self.refuse(1, "m.safetensors:empty: has shape [0, 3], layout bthd wants 4 dimensions",
                    *command, "m.safetensors:empty")
        self.refuse(1, ["m.safetensors:q: has shape [1, 3, 2, 8], so head_dim 8", "head_dim 4"],
                    "rotate", "--head-dim", "4", "--in", "m.safetensors:q", "--in-place")

    def test_tensors_without_elements_are_copied(self):
        contents = safetensors({"x": ("F16", (0, 3, 2, 8), b""), "y": ("U8", (3,), b"123")})
        self.put("x.safetensors", contents)
        self.succeed(*ROPE, "--in", "x.safetensors:x", "--out", "y.safetensors")
        self.assertEqual(self.get("y.safetensors"), contents)


class BadFiles(Files):
    def refuse_x(self, contents, *words):
        self.put("x.safetensors", contents)
        for arguments in (["--out", "y.safetensors"], ["--in-place"]):
            self.refuse(1, ["x.safetensors: ", *words], "rotate", "--head-dim", "4", "--in",
                        "x.safetensors:x", *arguments)

    def refuse_entry(self, entry, *words, data=bytes(16)):
        self.refuse_x(raw_safetensors(json.dumps({"x": entry})) + data, *words)

    GOOD = {"dtype": "F32", "shape": [1, 1, 1, 4], "data_offsets": [0, 16]}

    def test_lengths_that_do_not_fit(self):
        good = raw_safetensors(json.dumps({"x": self.GOOD})) + bytes(16)
        self.put("x.safetensors", good)
        self.succeed("rotate", "--head-dim", "4", "--in", "x.safetensors", "--in-place")
        self.refuse_x(b"", "is no .safetensors file")
        self.refuse_x(good[:7], "is no .safetensors file")
        self.refuse_x(good[:8], "is cut off inside its header")
        self.refuse_x(good[:50], "is cut off inside its header")
        self.refuse_x(good[:-1], "is cut off", "want 16 bytes of data, there are 15")
        self.refuse_x(good + b"!", "goes on after its tensors", "there are 17")
        for length in (100_000_001, 2 ** 63, 2 ** 64 - 1, 2 ** 64 - 8):
            self.refuse_x(struct.pack("<Q", length) + good[8:], "is no .safetensors file",
                          "100000000")
        self.refuse_x(npy_header((1, 1, 1, 4)) + bytes(16), "is no .safetensors file")
        self.refuse_x(b'{"x": 1}' + bytes(100), "is no .safetensors file")

    def test_headers_that_are_no_header(self):
        for text in ["", " {}", "[]", "null", "\0\0"]:
            self.refuse_x(raw_safetensors(text), "does not begin with '{'")
        for text in ["{", "{}}", '{"x"}', "{} x", '{"x": {"dtype": "F32",}}', '{"\\ud800": {}}',
                     '{"x": {"shape": [1e999]}}', "{}\0"]:
            self.refuse_x(raw_safetensors(text), "its header is no JSON, from byte")
        self.refuse_x(raw_safetensors(b'{"\xff": {}}'), "its header is no JSON")
        self.refuse_x(raw_safetensors('{"x": ' + "[" * 1_000_000), "got an array, want an object")
        self.refuse_x(raw_safetensors('{"x": {"shape": ' + "[" * 1_000_000), "got an array")
        self.refuse_x(raw_safetensors('{"__metadata__": {"a": {"b": 1}}}'), "__metadata__",
                      "want strings")
        self.refuse_x(raw_safetensors('{"__metadata__": 1}'), "__metadata__")
        self.refuse_x(raw_safetensors('{"__metadata__": {}, "__metadata__": {}}'),
                      "two __metadata__")

    def test_entries_that_are_no_entry(self):
        good = self.GOOD
        for value in (1, "x", None, [], True):
            self.refuse_entry(value, 'tensor "x": got', "want an object")
        for key in good:
            rest = {other: value for other, value in good.items() if other != key}
            self.refuse_entry(rest, f'tensor "x" has no {key}')
            for value in (None, True, 1.5, -1, 3, {}):
                self.refuse_entry({**good, key: value}, f'tensor "x", {key}: got')
        for value in ([1, "1"], [None], [-1], [1.0], [[1]], [2 ** 64], "x"):
            self.refuse_entry({**good, "shape": value}, 'tensor "x", shape: got')
        self.refuse_entry({**good, "shape": [2 ** 63]}, "has a size of 9223372036854775808")
        self.refuse_entry({**good, "shape": [1] * 65}, "more than 64 dimensions")
        for value in ([], [0], [0, 16, 16], [0, -1], ["0", "16"], [0, 16.0], [2 ** 64, 0]):
            self.refuse_entry({**good, "data_offsets": value}, 'tensor "x", data_offsets: got')
        self.refuse_entry({**good, "dtype": ["F32"]}, 'tensor "x", dtype: got an array')
        self.refuse_entry({**good, "strides": [1]}, 'has a key "strides"')
        entry = json.dumps(good)
        self.refuse_x(raw_safetensors(f'{{"x": {entry}, "x": {entry}}}') + bytes(16),
                      'two tensors named "x"')
        self.refuse_x(raw_safetensors('{"x": {"dtype": "F32", "dtype": "F32"}}'), "has dtype twice")
        self.refuse_x(raw_safetensors(json.dumps({"x\n" * 1000: 1})), '"x\\nx\\nx', '"...: got')

    def test_offsets_that_do_not_fit(self):
        good = self.GOOD
        self.refuse_entry({**good, "data_offsets": [16, 0]}, "ends at 0 before it begins at 16")
        self.refuse_entry({**good, "data_offsets": [0, 15]}, "wants 16 bytes", "give it 15",
                          data=bytes(15))
        self.refuse_entry({**good, "dtype": "F16"}, "of F16", "wants 8 bytes", "give it 16")
        self.refuse_entry({**good, "data_offsets": [0, 2 ** 64 - 1]}, "wants 16 bytes")
        self.refuse_entry({**good, "data_offsets": [8, 24]}, "begins at 8, with a hole",
                          "ends at 0", data=bytes(24))
        self.refuse_entry({**good, "data_offsets": [2 ** 64 - 16, 2 ** 64 - 0 - 1]}, "wants 16")
        self.refuse_entry({**good, "shape": [2 ** 62, 2 ** 62, 1, 4]}, "more than 2^61 bytes")
        self.refuse_entry({**good, "shape": [2 ** 62, 1, 1, 4], "data_offsets": [0, 0]},
                          "more than 2^61 bytes", data=b"")
        self.refuse_entry({**good, "shape": [1, 1, 1, 8], "data_offsets": [0, 32]}, "is cut off")
        for second, words in {(12, 28): "begins at 12, inside", (20, 36): "with a hole after",
                              (0, 16): "inside the one before"}.items():
            self.refuse_x(safetensors_header({"x": ("F32", (1, 1, 1, 4), 0, 16),
                                              "y": ("F32", (4,), *second)}) +
                          bytes(second[1]), words)


class Killed(Files):
    """A run that is stopped in its middle leaves the old file whole, q and k alike."""

    SHAPE = (1, 4096, 32, 128)

    def test_killed_in_place_the_old_file_is_whole(self):
        row = encode("f32", [i / 64 - 1 for i in range(128)])
        data = row * (4096 * 32)
        original = safetensors({name: ("F32", self.SHAPE, data) for name in "qk"})
        pair = ["rotate", "--head-dim", "128", "--q", "x.safetensors:q", "--k", "x.safetensors:k"]
        self.put("x.safetensors", original)
        self.succeed(*pair, "--out-q", "y.safetensors", "--out-k", "y.safetensors")
        rotated = self.get("y.safetensors")
        self.assertNotEqual(original, rotated)
        for number in (signal.SIGTERM, signal.SIGKILL):
            codes = []
            for _ in range(3):
                self.put("x.safetensors", original)
                process = subprocess.Popen([CLI, *pair, "--in-place"], cwd=self.directory,
                                           preexec_fn=default_signals)
                while process.poll() is None and len(os.listdir(self.directory)) == 2:
                    time.sleep(0.0005)
                process.send_signal(number)
                codes.append(process.wait(timeout=120))
                rest = set(os.listdir(self.directory)) - {"x.safetensors", "y.safetensors"}
                self.assertTrue(self.get("x.safetensors") ==
                                (rotated if codes[-1] == 0 else original))
                if number == signal.SIGTERM:
                    self.assertEqual(rest, set())
                for name in rest:
                    os.remove(self.path(name))
            self.assertIn(-number, codes, "it was never met in its middle")


if __name__ == "__main__":
    unittest.main()
