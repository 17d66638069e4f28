#!/usr/bin/env python3
"""--preset and `ropewalk inspect --list` from outside. Run like cli.py."""

import json
import unittest

from cli import Files, floats


class Presets(Files):
    def presets(self):
        return json.loads(self.succeed("inspect", "--list", "--json"))

    def test_the_list_has_a_row_for_each(self):
        presets = self.presets()
        lines = self.succeed("inspect", "--list").split("\n")
        self.assertEqual(lines.pop(), "")
        self.assertEqual(lines[0].split(), ["name", "model_type", "source", "RoPE"])
        self.assertEqual(len(lines), 1 + len(presets))
        for line, preset in zip(lines[1:], presets, strict=True):
            source = preset["source"]
            self.assertEqual(line.split(maxsplit=3), [
                preset["name"], preset["model_type"], source["repository"] + "@" + source["commit"][:7],
                preset["rope"]])

    def test_json_has_whole_sources_and_configs(self):
        for preset in self.presets():
            self.assertEqual(list(preset), ["name", "model_type", "rope", "source", "config"])
            self.assertEqual(list(preset["source"]), ["repository", "path", "commit", "entry"])
            self.assertRegex(preset["source"]["commit"], "^[0-9a-f]{40}$")

    def test_the_phrase_is_short_and_says_it_all(self):
        phrases = {preset["name"]: preset["rope"] for preset in self.presets()}
        self.assertEqual(phrases["llama-3.1-8b"], "128, halves, base 500000, llama3 by 8")
        self.assertEqual(phrases["gpt-j-6b"], "64 of 256, adjacent, base 10000")
        self.assertEqual(phrases["deepseek-v3"],
                         "64 of 192 from 128, adjacent to halves, base 10000, yarn by 40")
        self.assertEqual(phrases["gemma-3-1b"], "sliding_attention: 256, halves, base 10000; "
                                                "full_attention: 256, halves, base 1000000")
        # One phrase where the kinds of layers that rotate do it alike.
        self.assertEqual(phrases["exaone-4-32b"], "128, halves, base 1000000, llama3 by 16")

    def test_a_preset_is_its_config(self):
        for preset in self.presets()[::7]:
            config = self.put("config.json", json.dumps(preset["config"]).encode())
            for output in [], ["--json"]:
                self.assertEqual(self.succeed("inspect", "--preset", preset["name"], *output),
                                 self.succeed("inspect", config, *output), preset["name"])

    def test_the_options_of_a_model_apply(self):
        for arguments, base in (["--layer", "0"], 1e4), (["--layer", "5"], 1e6), (
                ["--layer-type", "full_attention"], 1e6):
            (layer,) = json.loads(self.succeed("inspect", "--preset", "gemma-3-1b", *arguments,
                                               "--json"))["layers"]
            self.assertEqual(layer["spec"]["base"], base)
        self.refuse(1, "say --layer N, or --layer-type", "check", "--preset", "gemma-3-1b")
        self.succeed("check", "--preset", "smollm2-135m", "--layer", "0", "--seed", "1")
        short, longer = (json.loads(self.succeed("inspect", "--preset", "internlm2.5-7b", *length,
                                                 "--json"))["layers"][0]["frequencies"]
                         for length in ([], ["--length", "65536"]))
        self.assertEqual(short[0], longer[0])
        self.assertLess(longer[63], short[63])

    def test_rotating_by_a_preset_is_rotating_by_its_spec(self):
        (layer,) = json.loads(self.succeed("inspect", "--preset", "llama-3.2-1b", "--json"))["layers"]
        spec = self.put("spec.json", json.dumps(layer["spec"]).encode())
        x = self.put_tensor("x.npy", (1, 2, 1, 64), floats([0.5] * 128))
        for arguments, out in (["--preset", "llama-3.2-1b"], "a.npy"), (["--spec", spec], "b.npy"):
            self.succeed("rotate", *arguments, "--start", "99", "--in", x, "--out", out)
        self.assertEqual(self.get_tensor("a.npy"), self.get_tensor("b.npy"))

    def test_what_is_wrong_is_said(self):
        for words, arguments in [
            (["Llama3.1-8B", "near it are llama-3.1-8b", "inspect --list"], ["--preset", "Llama3.1-8B"]),
            ("--preset: got an empty value", ["--preset", ""]),
            ("--preset beside --config", ["--preset", "gpt-j-6b", "--config", "a.json"]),
            ("--preset beside --config", ["--preset", "gpt-j-6b", "a.json"]),
            ("--spec beside --preset", ["--preset", "gpt-j-6b", "--spec", "a.json"]),
            ("--base beside --preset", ["--preset", "gpt-j-6b", "--base", "5"]),
            ("only a model has layers", ["--head-dim", "8", "--layer", "0"]),
            ("--preset beside --list", ["--list", "--preset", "gpt-j-6b"]),
            ("--layer beside --list", ["--list", "--layer", "0"]),
            ("--base beside --list", ["--list", "--base", "5"]),
            ("a.json beside --list", ["--list", "a.json"]),
        ]:
            self.refuse(2, words, "inspect", *arguments)
        self.refuse(2, "not known", "rotate", "--preset", "x", "--in", "x.npy", "--out", "y.npy")


if __name__ == "__main__":
    unittest.main()
