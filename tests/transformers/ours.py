"""What the ropewalk command says of a config, and how it rotates."""

import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

COMMAND = os.environ.get("ROPEWALK", "build/release/ropewalk")


def run(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ropewalk {arguments[0]}: {done.stderr.strip()}"
    return done.stdout


def inspect(config, length=None):
    """inspect --json of a config given as a dictionary."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "config.json")
        file.write_text(json.dumps(config), encoding="utf-8")
        return json.loads(run("inspect", file, "--json", *(["--length", length] if length else [])))


def rotate(spec, queries, positions):
    """Queries [1, tokens, heads, width] rotated by a Spec."""
    with tempfile.TemporaryDirectory() as folder:
        files = ("spec.json", "p.npy", "in.npy", "out.npy")
        given, told, taken, made = (pathlib.Path(folder, name) for name in files)
        given.write_text(json.dumps(spec), encoding="utf-8")
        np.save(told, positions)
        np.save(taken, np.ascontiguousarray(queries))
        run("rotate", "--spec", given, "--in", taken, "--out", made, "--positions", told)
        return np.load(made)


def kind_of_layer(answer, index):
    """The entry of a layer."""
    (kind,) = [k for k in answer["layers"] if index in k["layer_indices"]]
    return kind
