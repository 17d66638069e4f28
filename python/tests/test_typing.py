"""What a type checker knows of the package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ropewalk

PROGRAM = """
from typing import Any, assert_type
import numpy as np
import numpy.typing as npt
import ropewalk

rope = ropewalk.Rope(ropewalk.Spec(head_dim=128, base=500000.0, scaling={"type": "linear", "factor": 2.0}))
Array = npt.NDArray[np.float32]
def turn(q: Array, k: Array, out: Array) -> None:
    assert_type(ropewalk.rotate(rope, q, 3), Array)
    assert_type(ropewalk.rotate(rope, q, 3, k=k), tuple[Array, Array])
    assert_type(ropewalk.rotate_(rope, q, [1, 2], k=k), tuple[Array, Array])
    assert_type(ropewalk.backward(rope, q, 3, out=out), Any)
assert_type(rope.frequencies, npt.NDArray[np.float64])
assert_type(rope.spec.base, float | None)
assert_type(ropewalk.Model.from_preset("llama-3.1-8b").layer(0).spec, ropewalk.Spec)
assert_type(ropewalk.image_positions(ropewalk.Grid(2, 3)), npt.NDArray[np.int64])
assert_type(ropewalk.Angles(rope, [1, 2]).tokens, int)
"""
MISTAKES = {
    "ropewalk.Spec(dim=128)": 'argument "dim"',
    "ropewalk.rotate(128, [1], 3)": 'matches argument types "int", "list[int]", "int"',
    "ropewalk.Rope(128)": '"int"; expected "Spec"',
    "ropewalk.Rope(ropewalk.Spec(head_dim=8)).freqs": 'no attribute "freqs"',
}


def checked(program, folder):
    (folder / "program.py").write_text(program)
    # Where it is installed, mypy finds it, and does not want to be told.
    place = Path(ropewalk.__file__).parents[1]
    environment = {**os.environ, "MYPYPATH": "" if place.name == "site-packages" else str(place)}
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"],
                          cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_results_are_of_the_types_of_what_was_given_and_mistakes_are_seen(tmp_path):
    pytest.importorskip("mypy")
    assert checked(PROGRAM, tmp_path).startswith("Success")
    said = checked("import ropewalk\n" + "\n".join(MISTAKES), tmp_path)
    assert all(message in said for message in MISTAKES.values()), said
    assert f"Found {len(MISTAKES)} errors" in said
