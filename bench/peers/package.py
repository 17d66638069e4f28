#!/usr/bin/env python3
"""The Python package on one core: its calls beside those that people write, each compared with the formula and
then timed in turn. `make bench-python` runs it; what is compared with what is in docs/performance.md."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Before any library is loaded: each would have its own idea of how many threads there are.
for name in ("OMP_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT / "build/python/inductor"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "build/release/python"))

import jax  # noqa: E402
import machine  # noqa: E402
import measure  # noqa: E402
import numpy as np  # noqa: E402
import ropewalk  # noqa: E402
import ropewalk.jax  # noqa: E402
import ropewalk.torch  # noqa: E402
import torch  # noqa: E402
from contender import Calls  # noqa: E402
from contenders.pytorch import halves as rotate_half_form  # noqa: E402

DIM, BASE, START = 128, 500000.0, 1000
LARGE = (1, 4096, 32, DIM)
WITHIN = 1e-5  # of an element; those are below 8


def formula(x, start):
    """x [batch, tokens, heads, DIM] in float64."""
    turns = (start + np.arange(x.shape[1]))[:, None, None] * BASE ** -(np.arange(0, DIM, 2) / DIM)
    a, b = x[..., :DIM // 2].astype(np.float64), x[..., DIM // 2:].astype(np.float64)
    return np.concatenate([a * np.cos(turns) - b * np.sin(turns), b * np.cos(turns) + a * np.sin(turns)], -1)


def tables(tokens, start):
    """cos and sin [tokens, 1, DIM] as models have them: ready, each value twice."""
    frequencies = BASE ** -(torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
    turns = (start + torch.arange(tokens, dtype=torch.float64))[:, None] * frequencies
    return [torch.cat([each, each], -1).float()[:, None] for each in (turns.cos(), turns.sin())]


def apart(x, cos, sin, out):
    """The halves written apart, without a concatenation."""
    half = x.shape[-1] // 2
    a, b, c, s = x[..., :half], x[..., half:], cos[..., :half], sin[..., :half]
    out[..., :half] = a * c - b * s
    out[..., half:] = b * c + a * s


def into(x, cos, sin, out):
    out.copy_(rotate_half_form(x, cos, sin))


def compiled(function):
    return torch.compile(function, fullgraph=True, dynamic=False)


class Case:
    """A call that is timed. makes: "in place", "given" or "new" memory. copies: it does not turn."""

    def __init__(self, name, makes, call, read, copies=False):
        self.name, self.makes, self.run, self.copies = name, makes, Calls(call, read), copies


def large(random):
    """One large tensor."""
    x = torch.from_numpy(random.standard_normal(LARGE, np.float32))
    out, moved = torch.empty_like(x), x.clone()
    cos, sin = tables(LARGE[1], START)
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=DIM, base=BASE))
    eager, by_halves, by_cat = compiled(rotate_half_form), compiled(apart), compiled(into)

    def written(function):
        def call():
            function(x, cos, sin, out)
            return out
        return call
    return [x.numpy()], [
        Case("`ropewalk.rotate_`", "in place", lambda: ropewalk.rotate_(rope, moved, START), lambda y: [y]),
        Case("`ropewalk.rotate(..., out=)`", "given", lambda: ropewalk.rotate(rope, x, START, out=out), lambda y: [y]),
        Case("`ropewalk.rotate`", "new", lambda: ropewalk.rotate(rope, x, START), lambda y: [y]),
        Case("`ropewalk.torch.rotate`", "new", lambda: ropewalk.torch.rotate(x, None, START, rope), lambda y: [y]),
        Case("`x.clone()`", "new", x.clone, lambda y: [y], copies=True),
        Case("PyTorch, eager `rotate_half`", "new", lambda: rotate_half_form(x, cos, sin), lambda y: [y]),
        Case("`torch.compile` of that", "new", lambda: eager(x, cos, sin), lambda y: [y]),
        Case("`torch.compile` of that, to a tensor", "given", written(by_cat), lambda y: [y]),
        Case("`torch.compile`, halves written apart", "given", written(by_halves),
             lambda y: [y]),
    ]


def decode(random):
    """One token: queries of 32 heads, keys of 8."""
    arrays = [random.standard_normal((1, 1, heads, DIM), np.float32) for heads in (32, 8)]
    q, k = (torch.from_numpy(each) for each in arrays)
    cos, sin = tables(1, START)
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=DIM, base=BASE))
    angles = ropewalk.Angles(rope, ropewalk.Positions.start(START, 1))
    in_numpy, in_torch, by_angles = ([each.copy() for each in arrays], [q.clone(), k.clone()], [q.clone(), k.clone()])
    watched = [each.clone().requires_grad_() for each in (q, k)]
    both = compiled(lambda q, k, cos, sin: (rotate_half_form(q, cos, sin), rotate_half_form(k, cos, sin)))
    ours = compiled(lambda q, k, position: ropewalk.torch.rotate(q, k, position, rope))
    position = torch.tensor([START])
    jitted = jax.jit(lambda q, k: ropewalk.jax.rotate(q, k, START, rope))
    in_jax = [jax.numpy.asarray(each) for each in arrays]

    def waited(call):
        return lambda: jax.block_until_ready(call())
    return arrays, [
        Case("`ropewalk.rotate_`, NumPy", "in place",
             lambda: ropewalk.rotate_(rope, in_numpy[0], START, k=in_numpy[1]), list),
        Case("`ropewalk.rotate_`, PyTorch", "in place",
             lambda: ropewalk.rotate_(rope, in_torch[0], START, k=in_torch[1]), list),
        Case("`ropewalk.rotate_`, ready `Angles`", "in place",
             lambda: ropewalk.rotate_(angles, by_angles[0], k=by_angles[1]), list),
        Case("`ropewalk.rotate`, PyTorch", "new", lambda: ropewalk.rotate(rope, q, START, k=k), list),
        Case("`ropewalk.torch.rotate`", "new", lambda: ropewalk.torch.rotate(q, k, START, rope), list),
        Case("`ropewalk.torch.rotate`, with a gradient", "new",
             lambda: ropewalk.torch.rotate(*watched, START, rope), list),
        Case("`ropewalk.torch.rotate` under `torch.compile`", "new", lambda: ours(q, k, position), list),
        Case("`ropewalk.jax.rotate` under `jit`", "new", waited(lambda: jitted(*in_jax)), list),
        Case("`q.clone(), k.clone()`", "new", lambda: (q.clone(), k.clone()), list, copies=True),
        Case("PyTorch, eager `rotate_half`", "new",
             lambda: (rotate_half_form(q, cos, sin), rotate_half_form(k, cos, sin)), list),
        Case("`torch.compile` of that", "new", lambda: both(q, k, cos, sin), list),
    ]


def check(case, given):
    """Raises if the call does not do what its name says."""
    if case.makes == "given":  # what another case has left there is no result of this one
        case.run.output()[0].fill_(float("nan"))
    made = [np.asarray(y.detach() if isinstance(y, torch.Tensor) else y) for y in case.run.output()]
    for x, y in zip(given, made, strict=True):
        off = np.abs(y - (x if case.copies else formula(x, START))).max()
        if not off <= WITHIN:
            raise SystemExit(f"package: {case.name} is off by {off:.1e}")


def rows(group, made, rounds, batch_ns):
    given, cases = made
    for case in cases:
        check(case, given)
    times = measure.measure([case.run for case in cases], rounds, batch_ns)
    return [{"group": group, "call": case.name, "makes": case.makes, "ns": ns} for case, ns in zip(cases, times)]


def decode_of_cpp(rounds):
    """ns of the same call from C++, in place: `ropewalk bench`."""
    command = [ROOT / "build/release/ropewalk", "bench", "--work", "rotate_qk", "--shape", f"1x40x{DIM}",
               "--dtype", "f32", "--layout", "bthd", "--threads", "1", "--rounds", str(rounds), "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next(row["ns"] for row in json.loads(printed)["rows"]
                if (row["pairing"], row["angles"]) == ("halves", "fresh"))


def text(result):
    lines = []
    for group in ("large", "decode"):
        lines += [f"{group}:", *(f"  {row['call']:46} {row['makes']:9} {row['ns'] / 1e3:12.2f} us"
                                 for row in result["rows"] if row["group"] == group)]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch-us", type=int, default=2000, help="calls timed together last so long")
    parser.add_argument("--json", metavar="FILE", default=str(ROOT / "build/package.json"))
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core for all
    torch.set_num_threads(1)
    ropewalk.set_threads(1)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # on one core it would wait for itself
    random = np.random.default_rng(1)
    versions = {"ropewalk": ropewalk.__version__, "numpy": np.__version__, "torch": torch.__version__,
                "jax": jax.__version__}
    result = {"machine": machine.machine(versions, ROOT / "build/release"), "rows": [
        {"group": "decode", "call": "C++", "makes": "in place", "ns": decode_of_cpp(options.rounds)},
        *rows("decode", decode(random), options.rounds, 1000 * options.batch_us),
        *rows("large", large(random), options.rounds, 1000 * options.batch_us)]}
    Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(text(result))


if __name__ == "__main__":
    main()
