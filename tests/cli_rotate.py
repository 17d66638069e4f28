#!/usr/bin/env python3
"""`ropewalk rotate` from outside: right results on every path. Run like cli.py."""

import math
import os
import random
import struct
import unittest

from cli import Files, floats, npy_header

LAYOUTS = ("bthd", "bhtd", "thd", "htd")


def rotated(head, position, rotary_dim, base=10000.0, pairing="halves", m=1.0):
    """The formula, in float64, for one head."""
    result = list(head)
    half = rotary_dim // 2
    for i in range(half):
        a, b = (i, i + half) if pairing == "halves" else (2 * i, 2 * i + 1)
        angle = position * base ** (-2 * i / rotary_dim)
        cos, sin = m * math.cos(angle), m * math.sin(angle)
        result[a] = head[a] * cos - head[b] * sin
        result[b] = head[a] * sin + head[b] * cos
    return result


class Rotate(Files):
    def assert_close(self, got, wanted, message=None):
        self.assertEqual(len(got), len(wanted), message)
        for i, (a, b) in enumerate(zip(got, wanted)):
            self.assertAlmostEqual(a, b, delta=4e-6, msg=(message, i))

    def test_the_report_on_pairings_and_partial_rotary(self):
        self.put_tensor("x.npy", (1, 1, 1, 4), floats([1, 2, 3, 4]))
        for pairing, wanted in {"halves": [-1.984111, 1.959901, 2.462378, 4.019800],
                                "adjacent": [-1.142640, 1.922076, 2.959851, 4.029800]}.items():
            self.succeed("rotate", "--head-dim", "4", "--pairing", pairing, "--start", "1",
                         "--in", "x.npy", "--out", "y.npy")
            self.assert_close(self.get_tensor("y.npy"), wanted)
        self.put_tensor("x.npy", (1, 1, 1, 8), floats(range(1, 9)))
        self.succeed("rotate", "--head-dim", "8", "--rotary-dim", "4", "--start", "1",
                     "--in", "x.npy", "--out", "y.npy")
        self.assert_close(self.get_tensor("y.npy"),
                          [-1.984111, 1.959901, 2.462378, 4.019800, 5, 6, 7, 8])

    def check_against_the_formula(self, layout, flags, position, **rope):
        batch, tokens, heads, head_dim = 2 if layout[0] == "b" else 1, 5, 3, 8
        sizes = {"b": batch, "t": tokens, "h": heads, "d": head_dim}
        shape = [sizes[letter] for letter in layout]
        self.put_tensor("x.npy", shape)
        self.succeed("rotate", "--head-dim", "8", "--layout", layout, "--in", "x.npy",
                     "--out", "y.npy", *flags)
        x, y = self.get_tensor("x.npy"), self.get_tensor("y.npy")
        self.assertEqual(len(x), len(y))
        for row in range(batch * tokens * heads):
            b = row // (tokens * heads)
            t = row // heads % tokens if layout.endswith("thd") else row % tokens
            wanted = rotated(x[row * 8:row * 8 + 8], position(b, t), **rope)
            self.assert_close(y[row * 8:row * 8 + 8], wanted, (layout, flags, row))

    def test_every_layout_and_flag_against_the_formula(self):
        for layout in LAYOUTS:
            self.check_against_the_formula(layout, [], lambda b, t: t, rotary_dim=8)
            self.check_against_the_formula(
                layout, ["--start", "7", "--rotary-dim", "4", "--pairing", "adjacent",
                         "--base", "500", "--attention-factor", "1.25"],
                lambda b, t: 7 + t, rotary_dim=4, pairing="adjacent", base=500, m=1.25)
            self.check_against_the_formula(layout, ["--start", "-4"], lambda b, t: t - 4,
                                           rotary_dim=8)
            self.check_against_the_formula(layout, ["--start=010"], lambda b, t: t + 10,
                                           rotary_dim=8)

    def test_a_spec_file_says_the_same_as_flags(self):
        self.put("spec.json", b'{"head_dim": 8, "rotary_dim": 4, "pairing": "adjacent",'
                              b' "scaling": {"type": "linear", "factor": 4}}')
        x = self.put_tensor("x.npy", (3, 1, 8))
        self.succeed("rotate", "--spec", "spec.json", "--layout", "thd", "--start", "8",
                     "--in", x, "--out", "y.npy")
        y = self.get_tensor("y.npy")
        for t in range(3):
            wanted = rotated(self.get_tensor(x)[t * 8:t * 8 + 8], (8 + t) / 4, 4,
                             pairing="adjacent")
            self.assert_close(y[t * 8:t * 8 + 8], wanted)

    def test_positions_of_every_shape_and_type(self):
        ids = [[3, 1, 4, 1, -5], [0, 0, 0, 1, 2]]
        for layout in LAYOUTS:
            batch = 2 if layout[0] == "b" else 1
            for descr in ("<i4", "<i8"):
                self.put_ids("p.npy", (5,), ids[0], descr)
                self.check_against_the_formula(layout, ["--positions", "p.npy"],
                                               lambda b, t: ids[0][t], rotary_dim=8)
                self.put_ids("p.npy", (1, 5), ids[1], descr)
                self.check_against_the_formula(layout, ["--positions", "p.npy"],
                                               lambda b, t: ids[1][t], rotary_dim=8)
                self.put_ids("p.npy", (batch, 5), sum(ids[:batch], []), descr)
                self.check_against_the_formula(layout, ["--positions", "p.npy"],
                                               lambda b, t: ids[b][t], rotary_dim=8)

    def test_other_shapes_and_types_of_positions_are_refused(self):
        self.put_tensor("x.npy", (2, 5, 1, 8))
        command = ["rotate", "--head-dim", "8", "--in", "x.npy", "--out", "y.npy",
                   "--positions", "p.npy"]
        for shape in [(), (4,), (6,), (2, 4), (3, 5), (5, 2), (2, 1), (1, 3, 5), (1, 1, 2, 5)]:
            self.put_ids("p.npy", shape, range(math.prod(shape)))
            self.refuse(1, ["p.npy: has shape", "[5], [1, 5], [2, 5], or with several axes"],
                        *command)
        self.put("p.npy", npy_header((5,), "<u4") + bytes(20))
        self.refuse(1, ["p.npy: has dtype <u4", "<i8 or <i4"], *command)
        self.put("p.npy", npy_header((5,), "<i8") + bytes(39))
        self.refuse(1, "p.npy: is cut off", *command)
        self.put_tensor("x.npy", (5, 1, 8))
        self.put_ids("p.npy", (2, 5), range(10))
        self.refuse(1, "[5], [1, 5], or with several axes [axes, 1, 5]\n", *command, "--layout",
                    "thd")

    def test_positions_beyond_64_bits_are_refused(self):
        self.put_tensor("x.npy", (1, 2, 1, 4))
        command = ["rotate", "--head-dim", "4", "--in", "x.npy", "--out", "y.npy", "--start"]
        self.refuse(1, "9223372036854775807", *command, "9223372036854775807")
        self.succeed(*command, "9223372036854775806")
        self.succeed(*command, "-9223372036854775808")

    def test_the_header_of_every_version_is_kept(self):
        for version in (1, 2, 3):
            header = npy_header((1, 2, 1, 4), version=version).replace(b"'", b'"')
            self.put("x.npy", header + floats(range(8)).tobytes())
            self.succeed("rotate", "--head-dim", "4", "--in", "x.npy", "--out", "y.npy")
            x, y = self.get("x.npy"), self.get("y.npy")
            self.assertEqual(y[:len(header) + 16], x[:len(header) + 16])
            self.assertEqual(len(y), len(x))

    def test_tensors_without_elements_are_copied(self):
        for shape in [(0, 3, 2, 4), (1, 0, 2, 4), (1, 3, 0, 4), (0, 2 ** 40, 2 ** 40, 4)]:
            self.put("x.npy", npy_header(shape))
            self.succeed("rotate", "--head-dim", "4", "--in", "x.npy", "--out", "y.npy")
            self.assertEqual(self.get("y.npy"), self.get("x.npy"))

    def test_q_and_k_together_are_as_each_alone(self):
        self.put_tensor("q.npy", (2, 3, 4, 8))
        self.put_tensor("k.npy", (2, 3, 1, 8))
        self.put_ids("p.npy", (2, 3), [5, 6, 7, 1, 2, 3])
        rope = ["--head-dim", "8", "--positions", "p.npy"]
        self.succeed("rotate", *rope, "--q", "q.npy", "--k", "k.npy", "--out-q", "qr.npy",
                     "--out-k", "kr.npy")
        for name in "qk":
            self.succeed("rotate", *rope, "--in", name + ".npy", "--out", "alone.npy")
            self.assertEqual(self.get("alone.npy"), self.get(name + "r.npy"))
        self.succeed("rotate", *rope, "--q", "q.npy", "--k", "k.npy", "--in-place")
        for name in "qk":
            self.assertEqual(self.get(name + ".npy"), self.get(name + "r.npy"))
        self.put_tensor("k.npy", (2, 4, 1, 8))
        self.refuse(1, "q and k must have the same", "rotate", "--head-dim", "8", "--q", "q.npy",
                    "--k", "k.npy", "--in-place")

    def test_in_place_is_as_to_a_new_file(self):
        x = self.put_tensor("x.npy", (2, 3, 4, 8))
        original = self.get(x)
        os.chmod(self.path(x), 0o640)
        self.succeed("rotate", "--head-dim", "8", "--in", x, "--out", "y.npy")
        self.assertEqual(self.get(x), original)
        self.succeed("rotate", "--head-dim", "8", "--in", x, "--in-place")
        self.assertEqual(self.get(x), self.get("y.npy"))
        self.assertEqual(os.stat(self.path(x)).st_mode & 0o7777, 0o640)
        self.put(x, original)
        self.succeed("rotate", "--head-dim", "8", "--in", x, "--out", "./" + x)
        self.assertEqual(self.get(x), self.get("y.npy"))
        self.put(x, original)
        os.symlink("x.npy", self.path("link.npy"))
        self.succeed("rotate", "--head-dim", "8", "--in", "link.npy", "--in-place")
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assertEqual(self.get(x), self.get("y.npy"))
        self.assertEqual(sorted(os.listdir(self.directory)), ["link.npy", "x.npy", "y.npy"])

    def test_outputs_that_would_destroy_another_file_in_use_are_refused(self):
        for name in ("q.npy", "k.npy"):
            self.put_tensor(name, (1, 2, 1, 8))
        self.put_ids("p.npy", (2,), [0, 1])
        os.symlink("k.npy", self.path("link.npy"))
        command = ["rotate", "--head-dim", "8", "--q", "q.npy", "--k", "k.npy"]
        for words, arguments in [
            ("where --out-k writes", ["--out-q", "y.npy", "--out-k", "./y.npy"]),
            ("what --k reads", ["--out-q", "k.npy", "--out-k", "y.npy"]),
            ("what --k reads", ["--out-q", "link.npy", "--out-k", "y.npy"]),
            ("what --q reads", ["--out-q", "y.npy", "--out-k", "q.npy"]),
            ("what --k reads", ["--out-q", "k.npy", "--out-k", "q.npy"]),
            ("what --positions reads",
             ["--out-q", "y.npy", "--out-k", "p.npy", "--positions", "p.npy"]),
        ]:
            self.refuse(2, words, *command, *arguments)
        self.refuse(2, "what --k reads", "rotate", "--head-dim", "8", "--q", "q.npy",
                    "--k", "q.npy", "--in-place")

    def test_many_blocks_are_as_one(self):
        """The layouts agree bit for bit where they cut the work in different ways."""
        for shape in [(2, 300, 9, 64), (40, 3, 2, 512), (1, 2, 3000, 64), (3, 1, 1, 2 ** 18),
                      (2, 2500, 2, 64)]:
            batch, tokens, heads, head_dim = shape
            row = head_dim * 4
            data = bytearray(random.Random(1).randbytes(math.prod(shape) * 4))
            # Any float from 2^-63 to 2: no NaN, whose payload no promise covers.
            data[3::4] = bytes(0x20 | byte & 0x9f for byte in data[3::4])
            swapped = b"".join(
                data[((b * tokens + t) * heads + h) * row:][:row]
                for b in range(batch) for h in range(heads) for t in range(tokens))
            self.put("bthd.npy", npy_header(shape) + data)
            self.put("bhtd.npy", npy_header((batch, heads, tokens, head_dim)) + swapped)
            self.put_ids("p.npy", (batch, tokens),
                         [i * 37 % 1001 for i in range(batch * tokens)])
            for positions in (["--start", "100"], ["--positions", "p.npy"]):
                for layout in ("bthd", "bhtd"):
                    self.succeed("rotate", "--head-dim", str(head_dim), *positions, "--layout",
                                 layout, "--in", layout + ".npy", "--out", layout + "_out.npy")
                offset = len(npy_header(shape))
                got = self.get("bthd_out.npy")[offset:]
                other = self.get("bhtd_out.npy")[len(npy_header((batch, heads, tokens, head_dim))):]
                self.assertEqual(len(got), len(data))
                for b in range(batch):
                    for t in range(tokens):
                        for h in range(heads):
                            i = ((b * tokens + t) * heads + h) * row
                            j = ((b * heads + h) * tokens + t) * row
                            self.assertEqual(got[i:i + row], other[j:j + row], (shape, b, t, h))
                self.check_some_rows(data, got, shape, positions[0] == "--start")

    def check_some_rows(self, x, y, shape, from_start):
        batch, tokens, heads, head_dim = shape
        row = head_dim * 4
        generator = random.Random(3)
        for _ in range(4):
            b, t, h = (generator.randrange(size) for size in shape[:3])
            position = 100 + t if from_start else (b * tokens + t) * 37 % 1001
            i = ((b * tokens + t) * heads + h) * row
            head = struct.unpack(f"<{head_dim}f", x[i:i + row])
            got = struct.unpack(f"<{head_dim}f", y[i:i + row])
            self.assert_close(got, rotated(head, position, head_dim), (shape, b, t, h))


if __name__ == "__main__":
    unittest.main()
