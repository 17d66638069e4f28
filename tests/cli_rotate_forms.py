#!/usr/bin/env python3
"""`ropewalk rotate` from outside: every dtype, operation, window and kind of position. Run like
cli.py."""

import json
import math
import struct
import unittest
from fractions import Fraction

from cli import Files, npy_header
from tensor_files import (DTYPES, Formula, bound, decode, encode, random_data, safetensors,
                          safetensors_data)

# Exact in a product with any position below 2^40, so that f64 has a reference.
FREQUENCIES = [1.0, 0.625, 0.40625, 0.25, 0.15625, 0.1015625, 0.0625, 0.0390625]


class Forms(Files):
    def put_x(self, dtype, shape, seed=1):
        """A file of x; its name and the name of an output of its kind."""
        data = random_data(dtype, shape, seed)
        descr, code = DTYPES[dtype][:2]
        if descr:
            self.put("x.npy", npy_header(shape, descr) + data)
        self.put("x.safetensors", safetensors({"x": (code, shape, data)}))
        return decode(dtype, data)

    def get_x(self, dtype, name):
        contents = self.get(name)
        if name.endswith(".safetensors"):
            (data,) = safetensors_data(contents).values()
        else:
            (length,) = struct.unpack("<H", contents[8:10])
            data = contents[10 + length:]
        return decode(dtype, data)

    def assert_rotated(self, dtype, x, y, shape, formula, operation="rotate",
                       position=lambda b, t: t):
        """x and y in the layout bthd."""
        batch, tokens, heads, head_dim = shape
        self.assertEqual(len(x), len(y))
        for row in range(batch * tokens * heads):
            b, t = divmod(row // heads, tokens)
            head = slice(row * head_dim, (row + 1) * head_dim)
            wanted = formula.apply(operation, x[head], position(b, t))
            for i, (got, (exact, length)) in enumerate(zip(y[head], wanted)):
                where = (dtype, operation, b, t, i)
                if length is None:
                    self.assertEqual(got, exact, where)
                else:
                    error = float(abs(Fraction(got) - exact))
                    self.assertLessEqual(error, bound(dtype, exact, got, length), where)

    def put_spec(self, **spec):
        self.put("spec.json", json.dumps(spec).encode())
        axes = spec.pop("axes", None)
        if axes:
            spec["axis_of_pair"] = sum(([a] * n for a, n in enumerate(axes["sections"])), [])
        return Formula(**spec)

    def formats_of(self, dtype):
        return ["x.safetensors"] + (["x.npy"] if DTYPES[dtype][0] else [])


class Tensors(Forms):
    def test_every_dtype_in_every_format_keeps_the_promise(self):
        shape = (2, 5, 3, 18)
        formula = self.put_spec(head_dim=18, rotary_dim=16, frequencies=FREQUENCIES,
                                attention_factor=1.25)
        for dtype in DTYPES:
            x = self.put_x(dtype, shape)
            for name in self.formats_of(dtype):
                out = name.replace("x", "y", 1)
                for operation in ("rotate", "unrotate", "backward"):
                    self.succeed("rotate", "--spec", "spec.json", "--in", name, "--out", out,
                                 "--start", "100", "--operation", operation)
                    self.assert_rotated(dtype, x, self.get_x(dtype, out), shape, formula, operation,
                                        lambda b, t: 100 + t)
                    header = len(self.get(name)) - len(x) * DTYPES[dtype][2]
                    self.assertEqual(self.get(out)[:header], self.get(name)[:header])

    def test_plain_frequencies_far_out(self):
        shape = (1, 3, 2, 16)
        for dtype in ("f32", "f16", "bf16"):
            x = self.put_x(dtype, shape)
            self.succeed("rotate", "--head-dim", "16", "--base", "500000", "--in", "x.safetensors",
                         "--out", "y.safetensors", "--start", "1000000")
            self.assert_rotated(dtype, x, self.get_x(dtype, "y.safetensors"), shape,
                                Formula(16, base=500000.0), position=lambda b, t: 1000000 + t)

    def test_every_layout_of_every_dtype(self):
        shape = (2, 4, 3, 8)
        batch, tokens, heads, head_dim = shape
        for dtype, (_, code, size, _, _) in DTYPES.items():
            data = random_data(dtype, shape)
            row = head_dim * size
            swapped = b"".join(data[((b * tokens + t) * heads + h) * row:][:row]
                               for b in range(batch) for h in range(heads) for t in range(tokens))
            self.put("bthd.safetensors", safetensors({"x": (code, shape, data)}))
            self.put("bhtd.safetensors",
                     safetensors({"x": (code, (batch, heads, tokens, head_dim), swapped)}))
            got = {}
            for layout in ("bthd", "bhtd"):
                self.succeed("rotate", "--head-dim", "8", "--layout", layout, "--in",
                             layout + ".safetensors", "--in-place")
                got[layout] = safetensors_data(self.get(layout + ".safetensors"))["x"]
            for b in range(batch):
                for t in range(tokens):
                    for h in range(heads):
                        i = ((b * tokens + t) * heads + h) * row
                        j = ((b * heads + h) * tokens + t) * row
                        self.assertEqual(got["bthd"][i:i + row], got["bhtd"][j:j + row])

    def test_every_window_and_pairing(self):
        shape = (1, 4, 2, 24)
        x = self.put_x("f32", shape)
        for rope in [{"rotary_offset": 8}, {"rotary_dim": 8, "rotary_offset": 4},
                     {"clockwise": True}, {"window_parts": 2},
                     {"window_parts": 3, "rotary_dim": 12},
                     {"output_pairing": "adjacent"},
                     {"pairing": "adjacent", "output_pairing": "halves", "rotary_offset": 12},
                     {"pairing": "adjacent", "window_parts": 2, "output_pairing": "halves",
                      "clockwise": True, "rotary_dim": 16, "rotary_offset": 2}]:
            flags = ["--head-dim", "24"]
            for key, value in rope.items():
                flags += ["--" + key.replace("_", "-")] + ([] if value is True else [str(value)])
            self.put_spec(head_dim=24, **rope)
            for operation in ("rotate", "unrotate", "backward"):
                command = ["--in", "x.npy", "--start", "7", "--operation", operation, "--out"]
                self.succeed("rotate", *flags, *command, "y.npy")
                self.assert_rotated("f32", x, self.get_x("f32", "y.npy"), shape,
                                    Formula(24, **rope), operation, lambda b, t: 7 + t)
                self.succeed("rotate", "--spec", "spec.json", *command, "z.npy")
                self.assertEqual(self.get("y.npy"), self.get("z.npy"))

    def test_unrotate_undoes_rotate_and_backward_is_its_transpose(self):
        shape = (1, 5, 2, 16)
        x, rope = self.put_x("f32", shape), ["--head-dim", "16", "--attention-factor", "1.5",
                                             "--output-pairing", "adjacent", "--start", "33"]
        self.succeed("rotate", *rope, "--in", "x.npy", "--out", "y.npy")
        y = self.get_x("f32", "y.npy")
        self.succeed("rotate", *rope, "--in", "y.npy", "--in-place", "--operation", "unrotate")
        for a, b in zip(x, self.get_x("f32", "y.npy")):
            self.assertAlmostEqual(a, b, delta=2e-6)
        gradient = self.put_x("f32", shape, seed=2)
        self.succeed("rotate", *rope, "--in", "x.npy", "--out", "y.npy", "--operation", "backward")
        back = self.get_x("f32", "y.npy")
        self.assertAlmostEqual(math.fsum(a * b for a, b in zip(back, x)),
                               math.fsum(a * b for a, b in zip(gradient, y)), delta=2e-5)

    def test_a_tensor_as_wide_as_the_window_is_the_window(self):
        shape = (1, 3, 1, 8)
        x = self.put_x("f32", shape)
        rope = ["--head-dim", "24", "--rotary-offset", "16", "--pairing", "adjacent"]
        self.succeed("rotate", *rope, "--in", "x.npy", "--out", "y.npy")
        self.assert_rotated("f32", x, self.get_x("f32", "y.npy"), shape,
                            Formula(8, pairing="adjacent"))
        self.put_x("f32", (1, 3, 1, 16))
        self.refuse(1, ["so head_dim 16", "head_dim 24, of which rotary_dim 8"], "rotate", *rope,
                    "--in", "x.npy", "--out", "y.npy")


class PositionFiles(Forms):
    COMMAND = ["rotate", "--spec", "spec.json", "--in", "x.npy", "--out", "y.npy", "--positions",
               "p.npy"]

    def put_positions(self, shape, values, descr="<i8"):
        codes = {"<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d", "<f2": "e", "<i2": "h", "<u2": "H"}
        self.put("p.npy", npy_header(shape, descr) +
                 struct.pack(f"<{len(values)}{codes[descr]}", *values))

    def test_positions_of_several_axes(self):
        axes = {"sections": [2, 3, 3], "order": "blocks"}
        formula = self.put_spec(head_dim=16, frequencies=FREQUENCIES, axes=axes)
        shape = (2, 3, 2, 16)
        x = self.put_x("f64", shape)
        ids = [[[5 * axis + 3 * b + t * (axis + 1) for t in range(3)] for b in range(2)]
               for axis in range(4)]
        for descr in ("<i4", "<i8", "<f4", "<f8"):
            for count in (3, 4):
                flat = sum((row for plane in ids[:count] for row in plane), [])
                self.put_positions((count, 2, 3), flat, descr)
                self.succeed(*self.COMMAND)
                self.assert_rotated("f64", x, self.get_x("f64", "y.npy"), shape, formula,
                                    position=lambda b, t: [plane[b][t] for plane in ids])
            self.put_positions((3, 1, 3), sum((plane[1] for plane in ids[:3]), []), descr)
            self.succeed(*self.COMMAND)
            self.assert_rotated("f64", x, self.get_x("f64", "y.npy"), shape, formula,
                                position=lambda b, t: [plane[1][t] for plane in ids])
            self.put_positions((1, 2, 3), ids[1][0] + ids[1][1], descr)  # as for text
            self.succeed(*self.COMMAND)
            self.assert_rotated("f64", x, self.get_x("f64", "y.npy"), shape, formula,
                                position=lambda b, t: ids[1][b][t])
        for given in [(3, 3), (3, 3, 3), (3, 2, 2), (0, 2, 3), (3, 2, 3, 1), (2, 2, 4)]:
            self.put_positions(given, range(math.prod(given)))
            self.refuse(1, ["p.npy: has shape", "[3], [1, 3], [2, 3], or with several axes "
                            "[axes, 1, 3] or [axes, 2, 3]"], *self.COMMAND)
        self.put_positions((2, 2, 3), range(12))
        self.refuse(1, "so 2 axes; the rope has 3", *self.COMMAND)

    def test_many_blocks_of_several_axes_are_as_one(self):
        """A block holds parts of a sequence: each axis has its own place in the file."""
        axes = {"sections": [3, 1], "order": "blocks"}
        self.put_spec(head_dim=8, axes=axes)
        tokens = 20000
        data = encode("f32", [((i * 7919) % 1000) / 500 - 1 for i in range(2 * tokens * 8)])
        ids = [(i * 37) % 1001 for i in range(4 * tokens)]
        self.put("x.npy", npy_header((2, tokens, 1, 8)) + data)
        self.put_positions((2, 2, tokens), ids)
        self.succeed(*self.COMMAND)
        whole = self.get("y.npy")[-len(data):]
        step = 5000
        for b in range(2):
            for t in range(0, tokens, step):
                begin = (b * tokens + t) * 32
                self.put("x.npy", npy_header((1, step, 1, 8)) + data[begin:begin + step * 32])
                self.put_positions((2, 1, step), [
                    p for axis in range(2)
                    for p in ids[(axis * 2 + b) * tokens + t:][:step]])
                self.succeed(*self.COMMAND)
                self.assertEqual(self.get("y.npy")[-step * 32:], whole[begin:begin + step * 32])

    def test_real_positions(self):
        formula = self.put_spec(head_dim=16, frequencies=FREQUENCIES)
        shape = (1, 4, 1, 16)
        x = self.put_x("f64", shape)
        ids = [0.5, -3.25, 100.125, 7.0]
        for descr in ("<f4", "<f8"):
            self.put_positions((4,), ids, descr)
            self.succeed(*self.COMMAND)
            self.assert_rotated("f64", x, self.get_x("f64", "y.npy"), shape, formula,
                                position=lambda b, t: ids[t])
        whole = [3, -2, 10 ** 6, 2 ** 24]
        results = set()
        for descr in ("<i4", "<i8", "<f4", "<f8"):
            self.put_positions((4,), whole, descr)
            self.succeed(*self.COMMAND)
            results.add(self.get("y.npy"))
        self.assertEqual(len(results), 1, "a whole real position is that integer")

    def test_positions_that_are_no_numbers_are_refused_by_their_index(self):
        self.put_spec(head_dim=8)
        tokens = 70000  # several blocks
        self.put_tensor("x.npy", (1, tokens, 1, 8), data=memoryview(bytes(tokens * 32)))
        for value, given in [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"),
                             (2.0 ** 63, "9")]:
            for descr in ("<f4", "<f8"):
                values = [0.0] * tokens
                values[tokens - 3] = value
                self.put_positions((tokens,), values, descr)
                self.refuse(1, [f"p.npy: positions[{tokens - 3}] is {given}", "-2^63 and 2^63"],
                            *self.COMMAND)

    def test_16_bit_positions_are_refused_with_the_reason(self):
        self.put_spec(head_dim=16)
        self.put_x("f32", (1, 4, 1, 16))
        for descr in ("<f2", "<i2", "<u2"):
            self.put_positions((4,), [0, 1, 2, 3], descr)
            self.refuse(1, [f"p.npy: has dtype {descr}", "16 bits do not hold every position"],
                        *self.COMMAND)


class Warnings(Forms):
    """On stderr, a line each; what is written is written all the same."""

    def warn(self, words, *arguments):
        result = self.run_cli(*arguments)
        self.assertEqual(result.returncode, 0, (arguments, result.stderr))
        self.assertRegex(result.stderr, r"\Aropewalk: warning: [^\n]+\n\Z", arguments)
        self.assertIn(words, result.stderr, arguments)

    def test_a_model_s_warnings_are_printed(self):
        self.put("config.json", json.dumps({
            "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
            "max_position_embeddings": 64, "rope_theta": 10000.0, "rope_scaling": {
                "rope_type": "linear", "factor": 8, "colour": 1}}).encode())
        self.put_x("f32", (1, 3, 1, 16))
        words = "rope_scaling.colour: ignored"
        self.warn(words, "rotate", "--config", "config.json", "--in", "x.npy", "--out", "y.npy")
        self.warn(words, "check", "--config", "config.json", "--seed", "1")
        self.refuse(1, "so head_dim 16", "rotate", "--preset", "llama-3.1-8b", "--in", "x.npy",
                    "--out", "y.npy")

    def test_a_length_that_is_exceeded_is_said(self):
        self.put("spec.json", b'{"head_dim": 16, "scaling": {"type": "dynamic", "factor": 2,'
                              b' "original_max_position_embeddings": 64}}')
        self.put_x("f32", (1, 4, 1, 16))
        command = ["rotate", "--spec", "spec.json", "--in", "x.npy", "--out", "y.npy"]
        self.succeed(*command, "--start", "60")  # up to the trained length the rule is the plain one
        self.warn("that of short texts is not for position 64: say --length 65", *command, "--start", "61")
        self.warn("--length 3 is not for position 103: say --length 104", *command, "--start", "100",
                  "--length", "3")
        for length in "104", "200":
            self.succeed(*command, "--start", "100", "--length", length)
        for descr, code in ("<i4", "i"), ("<i8", "q"), ("<f4", "f"), ("<f8", "d"):
            self.put("p.npy", npy_header((4,), descr) + struct.pack("<4" + code, 1, 103, 2, 0))
            self.warn("position 103", *command, "--positions", "p.npy", "--length", "103")
            self.succeed(*command, "--positions", "p.npy", "--length", "104")

    def test_axes_that_a_rope_of_one_does_not_read_are_said(self):
        self.put_spec(head_dim=16)
        self.put_x("f32", (1, 4, 1, 16))
        self.put("p.npy", npy_header((3, 1, 4), "<i8") + struct.pack("<12q", *range(12)))
        self.warn("p.npy: has positions of 3 axes, and the rope has one", "rotate", "--spec", "spec.json",
                  "--in", "x.npy", "--out", "y.npy", "--positions", "p.npy")


if __name__ == "__main__":
    unittest.main()
