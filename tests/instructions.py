#!/usr/bin/env python3
"""How many instructions a few calls take, against what was recorded: instructions.py [--record] PROGRAM

A guard of the speed that does not depend on the clock. PROGRAM is instructions.cpp, which runs each call
for the target AVX2 under `valgrind --tool=callgrind`. instructions.json has the counts; those of one
compiler say nothing of another's, so it names the compiler, and CMake leaves the test out for others.

A call that takes more than a tenth more than recorded fails. So does one that takes much less: the guard
would let it fall back that far. `make instructions` records anew, and git shows what changed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDED = Path(__file__).with_suffix(".json")
MOST, LEAST = 1.10, 0.85
NOT_TO_BE_HAD = 77


def count_of(dump):
    """(name, instructions) of a file that callgrind dumped at a name, else None."""
    name, total = None, None
    for line in dump.splitlines():
        key, _, value = line.partition(":")
        if line.startswith("desc: Trigger: Client Request: "):
            name = line.removeprefix("desc: Trigger: Client Request: ").strip()
        elif key in ("totals", "summary") and total is None:
            total = int(value)
    return None if name is None or total is None else (name, total)


def measure(program):
    """The compiler, and name -> instructions in the order of the calls."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory, "out")
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={out}", program],
            capture_output=True, text=True, check=False)
        if result.returncode:
            print(result.stdout, result.stderr, sep="")
            sys.exit(result.returncode)
        dumps = sorted(Path(directory).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        counts = dict(filter(None, (count_of(path.read_text()) for path in dumps)))
    return result.stdout.strip(), counts


def problems(recorded, counts):
    """What does not hold, a line each."""
    lines = [f"{name}: is not in {RECORDED.name}" for name in counts if name not in recorded]
    for name, before in recorded.items():
        now = counts.get(name)
        if now is None:
            lines.append(f"{name}: was recorded and is no call any more")
        elif now > MOST * before:
            lines.append(f"{name}: {now} instructions, {now / before - 1:.0%} more than {before}")
        elif now < LEAST * before:
            lines.append(f"{name}: {now} instructions, {1 - now / before:.0%} fewer than {before}:"
                         " record it by `make instructions`, so that it stays")
    return lines


def main(arguments):
    record = arguments[:1] == ["--record"]
    if len(arguments) != 1 + record:
        sys.exit("instructions: want [--record] PROGRAM")
    compiler, counts = measure(arguments[-1])
    if record:
        text = json.dumps({"compiler": compiler, "instructions": counts}, indent=2)
        RECORDED.write_text(text + "\n", encoding="utf-8")
        print(f"instructions: {len(counts)} calls recorded in tests/{RECORDED.name}, {compiler}")
        return 0
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    if compiler != recorded["compiler"]:
        sys.exit(f"instructions: recorded of {recorded['compiler']}, and this is {compiler}: not comparable")
    for name, count in counts.items():
        print(f"{count:9} {recorded['instructions'].get(name, 0):9}  {name}")
    found = problems(recorded["instructions"], counts)
    print(*found, sep="\n")
    return 1 if found or not counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
