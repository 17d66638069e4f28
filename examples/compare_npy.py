#!/usr/bin/env python3
"""Compares .npy files with expected ones, element by element.

    compare_npy.py EXPECTED.json NAME OURS.npy THEIRS.npy [NAME OURS.npy THEIRS.npy ...]

EXPECTED.json holds the absolute "tolerance". Prints a line per tensor; exits 1 if one is beyond.
"""

import ast
import json
import math
import struct
import sys
from pathlib import Path

CODES = {"<f4": "f", "<f8": "d"}


def read_npy(path):
    """The shape and the values of a little-endian float array in C order."""
    data = Path(path).read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise SystemExit(f"{path} is not a .npy file")
    width, code = (2, "<H") if data[6] == 1 else (4, "<I")
    start = 8 + width + struct.unpack(code, data[8:8 + width])[0]
    head = ast.literal_eval(data[8 + width:start].decode("latin1"))
    if head["descr"] not in CODES or head["fortran_order"]:
        raise SystemExit(f"{path} must hold {' or '.join(CODES)} in C order, has {head}")
    count = math.prod(head["shape"])
    return head["shape"], struct.unpack(f"<{count}{CODES[head['descr']]}", data[start:])


def largest_difference(ours, theirs):
    """NaN if a NaN is among them: it is within no tolerance."""
    differences = [abs(a - b) for a, b in zip(ours, theirs)]
    return math.nan if any(map(math.isnan, differences)) else max(differences, default=0.0)


def main(arguments):
    if len(arguments) < 4 or len(arguments) % 3 != 1:
        raise SystemExit(__doc__)
    tolerance = json.loads(Path(arguments[0]).read_text())["tolerance"]
    failed = False
    for name, ours_path, theirs_path in zip(*[iter(arguments[1:])] * 3):
        ours_shape, ours = read_npy(ours_path)
        theirs_shape, theirs = read_npy(theirs_path)
        if ours_shape != theirs_shape:
            print(f"  {name}  has shape {list(ours_shape)}, expected {list(theirs_shape)}")
            failed = True
            continue
        worst = largest_difference(ours, theirs)
        verdict = "ok" if worst <= tolerance else "BEYOND"
        failed |= verdict != "ok"
        print(f"  {name}  {list(ours_shape)}  largest difference {worst:.2e}"
              f"  tolerance {tolerance:.2e}  {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
