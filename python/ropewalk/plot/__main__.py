"""python -m ropewalk.plot KIND ... -o FILE: a picture of one or several ropes. See --help."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import draw
from .sources import Source

KINDS = {
    "frequencies": "radians per position of each pair",
    "wavelengths": "positions per turn of each pair, against the trained context",
    "scores": "the score of a query and a key against their distance",
    "rotation": "cos and sin of the first pairs over positions",
    "heatmap": "cos(p ω), positions by pairs",
    "errors": "how far an angle is off, by position: ropewalk, float32 angles, 16-bit tables",
}
LARGEST, MOST = 2**53, 100_000


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"ropewalk.plot: {' '.join(message.split())}\n")


class Given(argparse.Action):
    """Keeps the sources of all three options in the order in which they stand."""

    def __call__(self, parser: Any, namespace: Any, value: Any, option: str | None = None) -> None:
        namespace.given = [*(namespace.given or []), (self.dest, value)]


def whole(text: str, least: int, most: int = LARGEST) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{value} is not between {least} and {most}")
    return value


def bounds(text: str) -> tuple[int, int, int | None]:
    """FIRST:LAST or FIRST:LAST:COUNT."""
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST:LAST or FIRST:LAST:COUNT")
    first, last = whole(parts[0], 0), whole(parts[1], 1)
    if first >= last:
        raise argparse.ArgumentTypeError(f"{text!r}: FIRST is not below LAST")
    return first, last, whole(parts[2], 2, MOST) if len(parts) == 3 else None


def integers(given: tuple[int, int, int | None], count: int, logarithmic: bool) -> np.ndarray:
    """Up to `count` different integers of a range, both ends among them, evenly spaced or in ratio."""
    first, last, own = given
    spaced = (np.geomspace if logarithmic else np.linspace)(first, last, min(own or count, last - first + 1))
    return np.unique(np.rint(spaced).astype(np.int64))


def parser() -> Parser:
    top = Parser(prog="python -m ropewalk.plot", description="Pictures of rotary position embeddings.",
                 epilog="python -m ropewalk.plot KIND --help has the options of each kind. "
                        "Exit codes: 0 done, 1 the input failed, 2 wrong usage.")
    kinds = top.add_subparsers(dest="kind", metavar="KIND", required=True)
    for kind, text in KINDS.items():
        sub = kinds.add_parser(kind, help=text, description=f"Draws {text}.")
        sub.set_defaults(given=None)
        sources = sub.add_argument_group("sources", "one or more" if kind != "heatmap" else "one")
        for option, name, what in (("--preset", "NAME", "a well-known model, see `ropewalk inspect --list`"),
                                   ("--config", "FILE", "a config.json or a GGUF"),
                                   ("--spec", "SPEC", "a file of a Spec's JSON form, or that text itself")):
            sources.add_argument(option, metavar=name, action=Given, help=what)
        sources.add_argument("--label", metavar="TEXT", action="append",
                             help="what the legend calls a source: one for each, in their order")
        sources.add_argument("--layer", metavar="N", type=lambda text: whole(text, 0), action="append",
                             help="of presets and configs this layer, repeatable; else the first to rotate")
        sources.add_argument("--length", metavar="N", type=lambda text: whole(text, 1),
                             help="how long a text is, for scaling that depends on it")
        if kind != "heatmap":
            sources.add_argument("--unscaled", action="store_true", help="each also without its scaling")
        sub.add_argument("-o", dest="out", metavar="FILE", required=True, help="a name in .svg, .png or .pdf")
        span = {"metavar": "FIRST:LAST[:COUNT]", "type": bounds}
        if kind == "scores":
            sub.add_argument("--distances", default=(1, 131072, None), **span,
                             help="1:131072 by default; in ratio, but from 0 on evenly spaced")
            sub.add_argument("--samples", metavar="N", type=lambda text: whole(text, 1, MOST), default=256,
                             help="so many random q and k, 256 by default")
            sub.add_argument("--seed", metavar="N", type=lambda text: whole(text, 0), default=1,
                             help="of these, 1 by default")
            sub.add_argument("--q", metavar="FILE",
                             help=".npy of [head_dim] or [vectors, head_dim], drawn too")
            sub.add_argument("--k", metavar="FILE", help="as --q; without it k = q")
        if kind in ("rotation", "heatmap"):
            sub.add_argument("--positions", default=(0, 64 if kind == "rotation" else 511, None), **span,
                             help="0:64 by default" if kind == "rotation" else
                             "0:511 by default; in steps above 3 fast pairs look slow")
        if kind == "rotation":
            sub.add_argument("--pairs", metavar="N", type=lambda text: whole(text, 1, 16), default=4,
                             help="so many of the first, 4 by default")
        if kind == "errors":
            sub.add_argument("--positions", default=(1, 10**9, None), **span,
                             help="1:1000000000 by default; in ratio")
    return top


def sources_of(arguments: argparse.Namespace) -> list[Source]:
    found = []
    for option, value in arguments.given:
        if option == "spec":
            found.append(Source.of_spec(value, arguments.length))
            continue
        of = Source.of_preset if option == "preset" else Source.of_file
        found += [of(value, layer, arguments.length) for layer in arguments.layer or [None]]
    return found


def check_usage(top: Parser, arguments: argparse.Namespace) -> None:
    if not arguments.given:
        top.error("no source: give --preset, --config or --spec")
    models = sum(option != "spec" for option, _ in arguments.given)
    count = len(arguments.given) + models * (len(arguments.layer or [None]) - 1)
    if arguments.layer and not models:
        top.error("--layer is of presets and configs, and there is none")
    if arguments.label and len(arguments.label) != count:
        top.error(f"{len(arguments.label)} times --label for {count} sources: give one for each")
    if arguments.kind == "heatmap" and count > 1:
        top.error(f"heatmap draws one source, {count} are given")
    if arguments.kind == "errors" and arguments.positions[0] < 1:
        top.error("--positions of errors begin at 1 or later: the axis is logarithmic")
    if arguments.kind == "scores" and arguments.k and not arguments.q:
        top.error("--k is given without --q")
    if not arguments.out.lower().endswith((".svg", ".png", ".pdf")):
        top.error(f"-o {arguments.out}: the name does not end in .svg, .png or .pdf")


def vectors(path: str | None) -> np.ndarray | None:
    if path is None:
        return None
    try:
        loaded = np.load(path, allow_pickle=False)
        if loaded.dtype.kind not in "iuf":
            raise TypeError(f"its elements are {loaded.dtype}")
        loaded = loaded.astype(np.float64)
    except (ValueError, TypeError, EOFError) as error:
        raise ValueError(f"{path}: not a .npy of real numbers: {error}") from None
    if loaded.size == 0 or not np.all(np.abs(loaded) <= 1e100):  # their squares are summed
        raise ValueError(f"{path}: has no elements, or one that is not finite or beyond 1e100")
    return loaded


def picture(arguments: argparse.Namespace) -> Any:
    """The figure, whatever its kind."""
    sources = sources_of(arguments)
    if arguments.label:
        sources = [dataclasses.replace(source, label=label)
                   for label, source in zip(arguments.label, sources)]
    if getattr(arguments, "unscaled", False):
        pairs = [(source, source.unscaled()) for source in sources]
        sources = [source for pair in pairs for source in pair if source is not None]
    figure = draw.new_figure()
    axes, kind = figure.add_subplot(), arguments.kind
    if kind == "scores":
        draw.draw_scores(sources, integers(arguments.distances, 250, arguments.distances[0] > 0), axes,
                         samples=arguments.samples, seed=arguments.seed, q=vectors(arguments.q),
                         k=vectors(arguments.k))
    elif kind == "rotation":
        first, last, count = arguments.positions
        positions = np.linspace(first, last, count or min(4 * (last - first) + 1, 2000))
        draw.draw_rotation(sources, positions, axes, pairs=arguments.pairs)
    elif kind == "heatmap":
        draw.draw_heatmap(sources[0], integers(arguments.positions, 512, False), axes)
    elif kind == "errors":
        draw.draw_errors(sources, integers(arguments.positions, 200, True), axes)
    else:
        {"frequencies": draw.draw_frequencies, "wavelengths": draw.draw_wavelengths}[kind](sources, axes)
    draw.make_room(figure)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    top = parser()
    given = top.parse_args(arguments)
    check_usage(top, given)
    try:
        with draw.print_style():
            draw.save(picture(given), given.out)
    except (ValueError, OSError, NotImplementedError, ImportError) as error:
        print(f"ropewalk.plot: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
