#!/usr/bin/env python3
"""Turns one case of rotated q and k, computed by Hugging Face transformers, into files to try
ropewalk on: make_data.py CASE.json OUTDIR. examples/data was made by it.

A case is one JSON object of flat arrays in C order: q, k, q_out, k_out, positions, inv_freq, their
shapes, and head_dim, rotary_dim, pairing, layout, attention_factor, source,
max_abs_diff_vs_float64.
"""

import json
import math
import struct
import sys
from pathlib import Path

PAIRINGS = {"half": "halves", "interleaved": "adjacent"}
LAYOUTS = {"bhsd": "bhtd", "bshd": "bthd"}


def write_npy(path, values, shape, descr, code):
    """descr is numpy's name of the dtype, code is struct's."""
    if len(values) != math.prod(shape):
        raise SystemExit(f"{path.name}: {len(values)} values do not fill shape {shape}")
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode("ascii")
    path.write_bytes(data + struct.pack(f"<{len(values)}{code}", *values))


def as_float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def spec_of(case):
    spec = {
        "head_dim": case["head_dim"],
        "rotary_dim": case["rotary_dim"],
        "pairing": PAIRINGS[case["pairing"]],
        # What the model used: float32 values, written as the doubles that they are.
        "frequencies": [as_float32(value) for value in case["inv_freq"]],
    }
    if case["attention_factor"] != 1:
        spec["attention_factor"] = case["attention_factor"]
    return spec


README = """# q and k of a Llama, and what transformers made of them

{batch} sequences of {tokens} tokens, {q_heads} heads of queries and {k_heads} of keys, {head_dim} elements a head,
layout `{layout}`. `make demo` rotates them and compares.

| file | what |
|---|---|
| `q.npy`, `k.npy` | input, float32, made-up numbers |
| `positions.npy` | where each token stands, int64, [batch, tokens] |
| `spec.json` | the rotation: ropewalk's JSON form of a Spec |
| `q_expected.npy`, `k_expected.npy` | the same rotation by Hugging Face transformers, float32 |
| `expected.json` | layout, source and tolerance of the comparison |

Source: {source}.
That program is licensed under Apache-2.0. The numbers are its output for made-up input; no weights
of a model are in them.

The tolerance is absolute, 2 x (how far transformers' numbers lie from the formula in float64) +
4e-6 = {tolerance:.3g}. The first term is so large because transformers forms the angles in float32.

Made by `examples/make_data.py` from the case `{name}`.
"""


def main(arguments):
    if len(arguments) != 2:
        raise SystemExit("usage: make_data.py CASE.json OUTDIR")
    case = json.loads(Path(arguments[0]).read_text())
    out = Path(arguments[1])
    out.mkdir(parents=True, exist_ok=True)

    floats = {"q": "q", "k": "k", "q_expected": "q_out", "k_expected": "k_out"}
    for stem, key in floats.items():
        write_npy(out / f"{stem}.npy", case[key], case[f"{key}_shape"], "<f4", "f")
    write_npy(out / "positions.npy", case["positions"], case["positions_shape"], "<i8", "q")

    expected = {
        "layout": LAYOUTS[case["layout"]],
        "source": case["source"],
        "licence": "Apache-2.0",
        "max_abs_diff_vs_float64": case["max_abs_diff_vs_float64"],
        "tolerance": float(f"{2 * case['max_abs_diff_vs_float64'] + 4e-6:.6g}"),
    }
    for name, value in (("spec", spec_of(case)), ("expected", expected)):
        (out / f"{name}.json").write_text(json.dumps(value, indent=2) + "\n")

    heads = 1 if expected["layout"] == "bhtd" else 2
    batch, tokens = case["positions_shape"]
    (out / "README.md").write_text(README.format(
        name=case["name"], source=case["source"], tolerance=expected["tolerance"],
        layout=expected["layout"], head_dim=case["head_dim"], batch=batch, tokens=tokens,
        q_heads=case["q_shape"][heads], k_heads=case["k_shape"][heads]))


if __name__ == "__main__":
    main(sys.argv[1:])
