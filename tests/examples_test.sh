#!/usr/bin/env bash
# The demo and the shell examples, with the ropewalk that is given: examples_test.sh ROPEWALK
set -euo pipefail

ropewalk="$(realpath "$1")"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
house="$(mktemp -d)"
trap 'rm -rf "$house"' EXIT

# A house of links, whose build/release is the ropewalk that is given and whose outputs are its own.
ln -s "$root/examples" "$root/scripts" "$house/"
mkdir -p "$house/build/release"
ln -s "$ropewalk" "$house/build/release/ropewalk"
cd "$house"

fail() {
  echo "examples_test: $*" >&2
  exit 1
}

echo "-- scripts/demo"
scripts/demo
cmp -s examples/data/q.npy build/demo/q_rotated.npy && fail "the demo rotated nothing"

echo "-- compare_npy.py refuses what was not rotated"
if python3 -B examples/compare_npy.py examples/data/expected.json \
    q examples/data/q.npy examples/data/q_expected.npy; then
  fail "compare_npy.py passed q.npy itself"
fi

echo "-- examples/own_tensor.sh"
python3 -B - <<'PYTHON'
import sys
from pathlib import Path

sys.path.insert(0, "examples")
from make_data import write_npy

write_npy(Path("q.npy"), [1.0] * (2 * 3 * 4 * 128), (2, 3, 4, 128), "<f4", "f")
PYTHON
bash examples/own_tensor.sh
python3 -B - <<'PYTHON'
import math
import sys

sys.path.insert(0, "examples")
from compare_npy import read_npy

shape, values = read_npy("q_rotated.npy")
assert shape == (2, 3, 4, 128), shape
# Pair 0 of token 2 turns by 1 radian per position.
wanted = math.cos(4098) - math.sin(4098)
assert abs(values[2 * 4 * 128] - wanted) < 1e-6, (values[2 * 4 * 128], wanted)
PYTHON
