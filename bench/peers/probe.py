"""What a peer computes and how far it is off, told by a process of its own: `probe.py MODULE`.

One that ends with a signal ends no other.
"""

import json
import subprocess
import sys

import contender as c
import work as w

SECONDS = 300
FAR = (100_000, 1_000_000)


def reason(error):
    """An exception in one line."""
    return f"{type(error).__name__}: {str(error).strip()}".split("\n")[0][:300]


def off_by(contender, work):
    return w.error(work, w.tensor(work), contender.prepare(work).output())


def told_of(contender, dtype, pairing):
    """Errors at far positions, or why it is not measured."""
    try:
        off = off_by(contender, w.Work(dtype, pairing, 8, 2, 128, start=0))
        if off > w.SMALL[dtype]:
            return {"why": f"differs by {off:.1e} of a pair's length at positions 0 to 7"}
        far = w.Work(dtype, pairing, 1, 32, 128, start=0)
        return {"errors": {str(p): off_by(contender, far.at(p)) for p in FAR}}
    except Exception as error:  # whatever a peer throws, the others go on
        return {"why": reason(error)}


def answer(module):
    """For each contender of a module and each dtype and pairing that it has."""
    told = [[each.peer, str(each.form), dtype, pairing, told_of(each, dtype, pairing)]
            for each in c.contenders(module) for dtype in each.dtypes for pairing in each.pairings]
    return {"versions": c.versions(module), "told": told}


def ask(module):
    """The answer of a process of its own; {"why"} if there is none."""
    command = [sys.executable, __file__, module]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"why": f"no answer in {SECONDS} s"}
    if done.returncode < 0:
        return {"why": f"ended by signal {-done.returncode}"}
    # Libraries print what they like; the answer is the last line.
    lines = done.stdout.strip().split("\n")
    return json.loads(lines[-1]) if done.returncode == 0 else {"why": lines[-1] or "no answer"}


def main(module):
    try:
        print("\n" + json.dumps(answer(module)))
        return 0
    except Exception as error:  # not installed, or not for this machine
        print("\n" + reason(error))
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
