#!/usr/bin/env python3
"""`ropewalk inspect` from outside. Run like cli.py."""

import json
import math
import struct
import unittest

from cli import Files, floats


def plain(base, width):
    """The frequencies of the plain rule."""
    return [base ** (-2 * i / width) for i in range(width // 2)]


def turning(frequencies, length):
    return sum(abs(w) * length >= 2 * math.pi for w in frequencies)


class Inspect(Files):
    def table(self, *arguments):
        """The rows of the table, as lists of words, and the lines after it."""
        table, after = self.succeed("inspect", *arguments).split("\n\n")[1:]
        return [line.split() for line in table.split("\n")], after.split("\n")[:-1]

    def put_spec(self, **spec):
        return ["--spec", self.put("spec.json", json.dumps(spec).encode())]

    def test_json_has_the_frequencies_of_the_formula(self):
        shown = json.loads(self.succeed("inspect", "--head-dim", "96", "--rotary-dim", "64", "--base",
                                        "500000", "--json"))
        self.assertEqual(list(shown), ["model_type", "layers", "warnings"])
        self.assertEqual((shown["model_type"], shown["warnings"]), (None, []))
        (layer,) = shown["layers"]
        frequencies = layer.pop("frequencies")
        self.assertEqual(layer, {
            "layer_type": "full_attention", "layer_indices": [], "rotates": True,
            "spec": {"head_dim": 96, "rotary_dim": 64, "pairing": "halves", "base": 500000.0},
            "attention_factor": 1.0, "softmax_scale_factor": 1.0})
        for shown_one, wanted in zip(frequencies, plain(500000, 64), strict=True):
            self.assertLess(abs(shown_one / wanted - 1), 1e-14)

    def test_linear_scaling_and_an_attention_factor_are_in_force(self):
        spec = self.put_spec(head_dim=64, scaling={"type": "linear", "factor": 8}, attention_factor=0.5)
        (layer,) = json.loads(self.succeed("inspect", *spec, "--json"))["layers"]
        self.assertEqual(layer["attention_factor"], 0.5)
        for shown, wanted in zip(layer["frequencies"], plain(10000, 64), strict=True):
            self.assertLess(abs(shown / (wanted / 8) - 1), 1e-14)
        self.assertIn("linear scaling by 8, attention factor 0.5",
                      self.succeed("inspect", *spec).split("\n")[0])

    def test_the_spec_reads_back_to_the_same_bits(self):
        for spec in [{"head_dim": 80, "rotary_dim": 66, "rotary_offset": 3, "base": 123456.7,
                      "attention_factor": 1.1386294361119891, "output_pairing": "adjacent"},
                     {"head_dim": 6, "frequencies": [0.1, -1 / 3, 0], "clockwise": True}]:
            first = self.succeed("inspect", *self.put_spec(**spec), "--json")
            (layer,) = json.loads(first)["layers"]
            again = self.succeed("inspect", *self.put_spec(**layer["spec"]), "--json")
            self.assertEqual(again, first)
            bits = [struct.pack("<d", w) for w in layer["frequencies"]]
            if "frequencies" in spec:
                self.assertEqual(bits, [struct.pack("<d", w) for w in spec["frequencies"]])

    def test_the_table_has_wavelengths_and_pairs_that_turn(self):
        frequencies = plain(500000, 128)
        rows, after = self.table("--head-dim", "128", "--base", "500000", "--all")
        self.assertEqual(rows[0], ["pair", "elements", "frequency", "wavelength"])
        self.assertEqual(len(rows), 1 + 64)
        for i, (pair, a, b, frequency, wavelength) in enumerate(rows[1:]):
            self.assertEqual((pair, a, b), (str(i), f"{i},", str(i + 64)))
            self.assertLess(abs(float(frequency) / frequencies[i] - 1), 1e-5)
            self.assertLess(abs(float(wavelength) / (2 * math.pi / frequencies[i]) - 1), 1e-5)
        self.assertEqual(after[1], "fastest pair 0, wavelength 6.28319")
        self.assertEqual(after[2].split()[:4], ["slowest", "pair", "63,", "wavelength"])
        self.assertEqual(after[3:], [
            f"within {length} positions, {turning(frequencies, length)} of 64 pairs complete a turn"
            for length in (4096, 32768, 131072, 1048576)])

    def test_a_length_of_ones_own_is_counted(self):
        # A pair of 4 positions a turn; one that just misses 4; none; and one that turns backwards.
        frequencies = [math.pi / 2, 1.57, 0, -6]
        spec = self.put_spec(head_dim=8, frequencies=frequencies)
        for length, turns in (1, 0), (2, 1), (4, 2), (5, 3):
            rows, after = self.table(*spec, "--length", str(length))
            self.assertEqual(
                after[3:], [f"within {length} positions, {turns} of 4 pairs complete a turn"])
        self.assertEqual(rows[3][3:], ["0", "never", "turns"])
        self.assertEqual(after[1].split()[:3], ["fastest", "pair", "3,"])
        self.assertEqual(after[2], "slowest pair 2, wavelength never turns")

    def test_many_pairs_are_sampled_from_the_first_to_the_last(self):
        for pairs, shown in (1, 1), (9, 9), (10, 9), (512, 9):
            rows, _ = self.table("--head-dim", str(2 * pairs))
            self.assertEqual(len(rows), 1 + shown)
            numbers = [int(row[0]) for row in rows[1:]]
            self.assertEqual((numbers[0], numbers[-1]), (0, pairs - 1))
            self.assertEqual(sorted(set(numbers)), numbers)

    def test_the_elements_are_those_that_turn_together(self):
        # Which elements change where the head has a 1 in one of them, and the tokens stand at 1.
        for flags in (["--head-dim", "8"], ["--head-dim", "8", "--pairing", "adjacent"],
                      ["--head-dim", "11", "--rotary-dim", "8", "--rotary-offset", "2"],
                      ["--head-dim", "8", "--window-parts", "2"],
                      ["--head-dim", "8", "--window-parts", "2", "--pairing", "adjacent"]):
            width = int(flags[1])
            rows, _ = self.table(*flags)
            for _, first, second, *_ in rows[1:]:
                first, second = int(first.rstrip(",")), int(second)
                head = floats([0.0] * width)
                head[first] = 1.0
                x = self.put_tensor("x.npy", (1, 1, 1, width), head)
                self.succeed("rotate", *flags, "--start", "1", "--in", x, "--out", "y.npy")
                changed = [i for i, value in enumerate(self.get_tensor("y.npy")) if value != 0]
                self.assertEqual(changed, sorted([first, second]), flags)

    def test_axes_have_a_column(self):
        rows, _ = self.table(*self.put_spec(
            head_dim=12, axes={"sections": [2, 1, 3], "order": "blocks"}))
        self.assertEqual(rows[0][2], "axis")
        self.assertEqual([row[3] for row in rows[1:]], ["0", "0", "1", "2", "2", "2"])

    def put_config(self, **keys):
        config = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8,
                  "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 500000.0}
        return self.put("config.json", json.dumps({**config, **keys}).encode())

    GEMMA = dict(model_type="gemma3_text", head_dim=64, num_hidden_layers=7,
                 rope_theta=1000000.0, rope_scaling={"rope_type": "linear", "factor": 8})

    def test_a_model_has_an_entry_for_each_kind_of_layer(self):
        shown = json.loads(self.succeed("inspect", self.put_config(**self.GEMMA), "--json"))
        self.assertEqual(list(shown), ["model_type", "layers", "warnings", "trained_length"])
        self.assertEqual(shown.pop("trained_length"), 8192)
        self.assertEqual((shown["model_type"], shown["warnings"]), ("gemma3_text", []))
        sliding, full = shown["layers"]
        self.assertEqual(list(full), ["layer_type", "layer_indices", "rotates", "spec", "frequencies",
                                      "attention_factor", "softmax_scale_factor"])
        self.assertEqual((sliding["layer_type"], sliding["layer_indices"]),
                         ("sliding_attention", [0, 1, 2, 3, 4, 6]))
        self.assertEqual((full["layer_type"], full["layer_indices"]), ("full_attention", [5]))
        for layer, wanted in (sliding, plain(10000, 64)), (full, [w / 8 for w in plain(1e6, 64)]):
            for a, b in zip(layer["frequencies"], wanted, strict=True):
                self.assertEqual(a, struct.unpack("<f", struct.pack("<f", b))[0])

    def test_a_model_s_spec_reads_back_to_the_same_bits(self):
        for layer in json.loads(self.succeed("inspect", self.put_config(**self.GEMMA), "--json"))["layers"]:
            spec = self.put_spec(**layer["spec"])
            (again,) = json.loads(self.succeed("inspect", *spec, "--json"))["layers"]
            self.assertEqual(again["frequencies"], layer["frequencies"])

    def test_layers_that_do_not_rotate_have_no_spec(self):
        config = self.put_config(model_type="llama4_text", head_dim=64, num_hidden_layers=4)
        (rotating, nope) = json.loads(self.succeed("inspect", config, "--json"))["layers"]
        self.assertNotIn("query_scale", rotating)
        # Of Llama 4, in layers that do not rotate: attn_scale and floor_scale of its config class.
        self.assertEqual(nope.pop("query_scale"),
                         {"kind": "floor_log", "scale": 0.1, "offset": 1, "length": 8192})
        self.assertEqual(nope, {
            "layer_type": "full_attention", "layer_indices": [3], "rotates": False, "spec": None,
            "frequencies": [], "attention_factor": None, "softmax_scale_factor": 1.0})
        text = self.succeed("inspect", config)
        self.assertIn("full_attention, layers 3: no rotation\n", text)
        self.assertIn("multiplied by 1 + 0.1 ln(1 + floor((p + 1) / 8192))", text)

    def test_a_kind_of_layer_can_be_chosen(self):
        config = self.put_config(**self.GEMMA)
        for arguments, base in ((["--layer", "0"], 1e4), (["--layer", "5"], 1e6),
                                (["--layer-type", "full_attention"], 1e6)):
            (layer,) = json.loads(self.succeed("inspect", config, *arguments, "--json"))["layers"]
            self.assertEqual(layer["spec"]["base"], base)
            self.succeed("check", "--config", config, *arguments, "--seed", "1")
        self.refuse(1, "say --layer N, or --layer-type", "check", "--config", config)
        self.refuse(1, ["config.json: the layers", "say --layer N"], "rotate", "--config", config, "--in",
                    self.put_tensor("x.npy", (1, 1, 1, 64)), "--in-place")
        self.refuse(1, "config.json: --layer 7: layer 7 is not between 0 and 6", "inspect", config,
                    "--layer", "7")
        self.refuse(1, ["config.json: --layer-type chunked_attention: ", "does not occur"], "inspect", config,
                    "--layer-type", "chunked_attention")

    def test_rotating_by_a_config_is_rotating_by_its_spec(self):
        config = self.put_config()
        (layer,) = json.loads(self.succeed("inspect", config, "--json"))["layers"]
        x = self.put_tensor("x.npy", (1, 2, 1, 64), floats([0.5] * 128))
        self.succeed("rotate", "--config", config, "--start", "99", "--in", x, "--out", "a.npy")
        self.succeed("rotate", *self.put_spec(**layer["spec"]), "--start", "99", "--in", x,
                     "--out", "b.npy")
        self.assertEqual(self.get_tensor("a.npy"), self.get_tensor("b.npy"))

    def test_what_scaling_does_is_said(self):
        text = self.succeed("inspect", self.put_config(rope_scaling={
            "rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
            "original_max_position_embeddings": 8192}))
        # Of 32 pairs, 0 to 14 are as they were, 18 to 31 divided by 32.
        self.assertIn("what llama3 scaling does:\n  pairs 0 to 14: as without it\n"
                      "  pairs 15 to 31: slower, by ", text)
        self.assertIn(" to 32 times\n", text)
        self.assertIn("llama, context 8192\n", text)

    def test_warnings_have_lines_of_their_own(self):
        config = self.put_config(rope_scaling={"rope_type": "linear", "factor": 8, "colour": 1})
        line = "rope_scaling.colour: ignored, not a key that is known here"
        self.assertIn(f"\nwarning: {line}\n", self.succeed("inspect", config))
        self.assertEqual(json.loads(self.succeed("inspect", config, "--json"))["warnings"], [line])

    def test_scaling_by_length_wants_a_length(self):
        config = self.put_config(rope_scaling={"rope_type": "dynamic", "factor": 2})
        text = self.succeed("inspect", config)
        self.assertIn("depends on the length", text)
        # At the trained length the rule is the plain one; beyond it, turns are those at that length.
        self.assertIn(f"within 8192 positions, {turning(plain(500000, 64), 8192)} of 32 pairs complete a "
                      "turn\n", text)
        spec = self.put_spec(head_dim=64, base=500000, scaling={
            "type": "dynamic", "factor": 2, "original_max_position_embeddings": 8192})
        stretched = plain(500000 * (2 * 1048576 / 8192 - 1) ** (64 / 62), 64)
        self.assertIn(f"within 1048576 positions, {turning(stretched, 1048576)} of 32 pairs complete a "
                      "turn, with the frequencies for --length 1048576\n", self.succeed("inspect", *spec))
        first, longer = (json.loads(self.succeed("inspect", config, *length, "--json"))["layers"][0]
                         for length in ([], ["--length", "16384"]))
        self.assertEqual(first["spec"], longer["spec"])
        self.assertTrue(first["depends_on_length"] and longer["depends_on_length"])
        wanted = (2 * 16384 / 8192 - 1) ** (64 / 62)
        self.assertLess(abs(first["frequencies"][31] / longer["frequencies"][31] / wanted ** (62 / 64) - 1),
                        1e-6)

    def test_names_do_nothing_to_a_terminal(self):
        config = self.put_config(rope_scaling={"rope_type": "linear", "factor": 8,
                                               "a\x9b31m\u202ered": 1})
        key = r"rope_scaling.a\u009b31m\u202ered"
        self.assertIn(f"\nwarning: {key}: ignored", self.succeed("inspect", config))
        printed = self.succeed("inspect", config, "--json")
        self.assertTrue(printed.isascii())
        self.assertIn(key, json.loads(printed)["warnings"][0])
        result = self.run_cli("inspect", self.put_config(model_type="m\x85\x9bx\u2066"))
        self.assertTrue((result.stdout + result.stderr).isascii())
        self.put("no.json", b'{"model_type": \x9b31m\xff}')
        self.refuse(1, "last read: '\"model_type\": ?'", "inspect", "no.json")

    def test_a_frequency_out_of_range_names_the_file_and_leaves_nothing_printed(self):
        config = self.put_config(num_attention_heads=128, rope_scaling={
            "rope_type": "longrope", "short_factor": [1e-30, 1], "long_factor": [1, 1], "factor": 4})
        for arguments in (["inspect", config], ["inspect", config, "--json"],
                          ["check", "--config", config]):
            self.refuse(1, ["config.json: full_attention: the frequency of pair 0"], *arguments)

    def test_what_is_wrong_is_said(self):
        self.put("bad.json", b'{"head_dim": 8, "theta": 5}')
        self.put("wrong.json", b'{"model_type": "llama", "head_dim": 64, "rope_theta": 0}')
        for code, words, arguments in [
            (2, "say which rope", []),
            (2, "--length 0 is less than 1", ["--head-dim", "8", "--length", "0"]),
            (2, "--length 0 is less than 1", ["wrong.json", "--length", "0"]),
            (2, "--all beside --list", ["--list", "--all"]),
            (1, "say --preset llama-3.1-8b", ["llama-3.1-8b"]),
            (2, "--length 1e3", ["--head-dim", "8", "--length", "1e3"]),
            (2, "--length: got an empty value", ["--head-dim", "8", "--length", ""]),
            (2, "--base beside --spec", ["--spec", "bad.json", "--base", "5"]),
            (1, ["bad.json", "theta"], ["--spec", "bad.json"]),
            (1, "none.json", ["--spec", "none.json"]),
            (1, ["wrong.json", "rope_theta: 0"], ["wrong.json"]),
            (1, "none.json", ["none.json"]),
            (2, "--config beside wrong.json", ["wrong.json", "--config", "bad.json"]),
            (2, "--spec beside --config", ["wrong.json", "--spec", "bad.json"]),
            (2, "--base beside --config", ["wrong.json", "--base", "5"]),
            (2, "only a model has layers", ["--spec", "bad.json", "--layer", "0"]),
            (2, "--layer-type beside --layer", ["wrong.json", "--layer", "0", "--layer-type", "x"]),
        ]:
            self.refuse(code, words, "inspect", *arguments)


if __name__ == "__main__":
    unittest.main()
