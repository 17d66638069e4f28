#!/usr/bin/env python3
"""ropewalk beside other implementations on one core: what they compute, how long they take, how far they
are off. See README.md; `make bench-peers` runs it."""

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Before any library is loaded: each would have its own idea of how many threads there are.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT / "build/peers/inductor"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

import contender as c  # noqa: E402
import machine  # noqa: E402
import measure  # noqa: E402
import probe  # noqa: E402
import report  # noqa: E402
import work as w  # noqa: E402


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Comparison:
    def __init__(self, rounds, batch_ns):
        self.rounds, self.batch_ns = rounds, batch_ns
        self.rows, self.not_measured, self.versions = [], [], {}
        self.contenders = {}  # (peer, form) -> Contender
        self.errors = {}  # (peer, form, dtype, pairing) -> errors at far positions; what is in it is timed

    def skip(self, peer, why):
        say(f"  {peer}: not measured: {why}")
        self.not_measured.append({"peer": peer, "why": why})

    def add(self, module):
        """Takes in what a module's contenders compute as they should."""
        say(f"checking {module}")
        answer = probe.ask(module)
        if "why" in answer:
            self.skip(module, answer["why"])
            return
        self.versions.update(answer["versions"])
        for peer, form, dtype, pairing, told in answer["told"]:
            if "why" in told:
                self.skip(f"{peer}, {dtype} {pairing}", told["why"])
            else:
                self.errors[peer, form, dtype, pairing] = told["errors"]
        self.contenders.update({(each.peer, str(each.form)): each for each in c.contenders(module)})

    def prepared(self, contender, work):
        """The work ready to be timed, by what was just seen to be right; and what its calls cost anyway."""
        try:
            run = contender.prepare(work)
            off = w.error_within(work, w.tensor(work), run.output())
            if off > w.WITHIN[work.dtype]:
                raise ValueError(f"differs by {off:.1e} of a pair's length within {w.CONTEXT} positions")
            nothing = contender.nothing and contender.nothing(work)
            if nothing:
                nothing.run(1)
            return run, nothing
        except Exception as error:  # whatever a peer throws, the others go on
            shape = "x".join(map(str, work.shape))
            self.skip(f"{contender.peer}, {work.dtype} {work.pairing} {shape}", probe.reason(error))
            return None

    def entrants(self, work):
        """Who can do this work: (contender, run, nothing); ropewalk in each form that another has."""
        able = [each for (peer, form), each in self.contenders.items()
                if (peer, form, work.dtype, work.pairing) in self.errors]
        forms = {str(each.form) for each in able if each.peer != "ropewalk"}
        found = []
        for each in able:
            if each.peer == "ropewalk" and str(each.form) not in forms:
                continue
            prepared = self.prepared(each, work)
            if prepared:
                found.append((each, *prepared))
        return found

    def measure(self, work):
        entrants = self.entrants(work)
        runs = []
        for _, run, nothing in entrants:
            runs += [run, nothing] if nothing else [run]
        times = iter(measure.measure(runs, self.rounds, self.batch_ns))
        ns = {(each.peer, str(each.form)): (next(times), next(times) if nothing else None)
              for each, _, nothing in entrants}
        for (peer, form), (of_peer, overhead) in ns.items():
            if ("ropewalk", form) in ns:
                self.rows.append(report.row(work, peer, form, of_peer, overhead, ns["ropewalk", form][0],
                                            self.errors[peer, form, work.dtype, work.pairing]))

    def result(self, library):
        about = machine.machine(self.versions, ROOT / "build/peers/ropewalk")
        if library:
            about["commit"] = "another library"
        return {"machine": about, "rows": self.rows,
                "geometric_means": report.geometric_means(self.rows), "not_measured": self.not_measured}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", metavar="FILE", help="another libropewalk.so of this version")
    parser.add_argument("--only", metavar="NAMES", help=f"some of {','.join(c.PEERS)}")
    parser.add_argument("--dtypes", metavar="NAMES", default="f32,f16,bf16")
    parser.add_argument("--shapes", metavar="SHAPES", help="tokens, heads and head_dim: 1x32x128,512x32x128")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch-us", type=int, default=200, help="calls timed together last so long")
    parser.add_argument("--json", metavar="FILE", default=str(ROOT / "build/peers.json"))
    return parser.parse_args()


def main():
    options = arguments()
    if options.library:
        os.environ["ROPEWALK_PEERS_LIBRARY"] = os.path.abspath(options.library)
    # One core for all that a peer does, whatever threads it makes.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    peers = options.only.split(",") if options.only else c.PEERS
    shapes = w.SHAPES
    if options.shapes:
        shapes = [tuple(map(int, shape.split("x"))) for shape in options.shapes.split(",")]
    comparison = Comparison(options.rounds, 1000 * options.batch_us)
    for module in ("ropewalk", *peers):
        comparison.add(module)
    for work in w.works(shapes, options.dtypes.split(",")):
        say(f"measuring {work.dtype} {work.pairing} {'x'.join(map(str, work.shape))}")
        comparison.measure(work)
    result = comparison.result(options.library)
    Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(report.text(result))
    say(f"written: {options.json}")
    # A peer that fails is a line of the report; ropewalk itself is not.
    return 1 if any(each["peer"].startswith("ropewalk") for each in comparison.not_measured) else 0


if __name__ == "__main__":
    sys.exit(main())
