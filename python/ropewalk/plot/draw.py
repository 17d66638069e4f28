"""The pictures: what data.py computes, on matplotlib's axes.

Colours are those of Okabe and Ito, which all eyes tell apart; lines also differ in their dashes and
markers, so that a print in grey can be read. Legends stand above the axes, where no data is.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .sources import Source

# Without Okabe and Ito's yellow, which is too pale for a line on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (6, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "X")
_GREY = "#555555"

# Of the errors: label, colour, marker.
_WAYS = {
    "ropewalk": ("ropewalk", "#0072B2", "o"),
    "float32_angles": ("float32 angles", "#D55E00", "s"),
    "float16_table": ("float16 table", "#009E73", "^"),
    "bfloat16_table": ("bfloat16 table", "#CC79A7", "D"),
}


def _matplotlib() -> Any:
    try:
        import matplotlib.lines
    except ModuleNotFoundError:
        raise ImportError("ropewalk.plot draws with matplotlib, which is not installed: "
                          "pip install matplotlib") from None
    return matplotlib


def _axes(axes: Any) -> Any:
    """The given axes, or those of a new figure of pyplot."""
    _matplotlib()
    if axes is not None:
        return axes
    from matplotlib import pyplot  # which shows it, in a notebook or on a screen
    return pyplot.subplots(figsize=(7, 4.5), layout="constrained")[1]


def _all(sources: Source | Iterable[Source]) -> list[Source]:
    found = [sources] if isinstance(sources, Source) else list(sources)
    if not found:
        raise ValueError("sources is empty: there is nothing to draw")
    return found


def _style(index: int, points: int) -> dict[str, Any]:
    """How the line of a source looks: about ten markers, of no two lines at the same places."""
    step = max(1, points // 10)
    return {"color": _COLOURS[index % len(_COLOURS)], "linestyle": _DASHES[index % len(_DASHES)],
            "marker": _MARKERS[index % len(_MARKERS)], "markersize": 4, "linewidth": 1.4,
            "markevery": (index * step // 3 % step, step)}


def _named(source: Source) -> str:
    """Its label as a legend shows it: matplotlib leaves out what begins with an underscore, and $ is mathematics."""
    label = source.label.replace("$", r"\$")
    return f" {label}" if not label or label.startswith("_") else label


def _whose(sources: Sequence[Source]) -> str:
    """What an axis adds to its label: of one source the name, which no legend says."""
    return f", {_named(sources[0])}" if len(sources) == 1 else ""


def _legend(axes: Any, handles: Sequence[Any] | None = None) -> None:
    handles = axes.get_legend_handles_labels()[0] if handles is None else handles
    longest = max(len(str(handle.get_label())) for handle in handles)
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2 if longest < 36 else 1,
                frameon=False, borderaxespad=0.3, handlelength=3.2, fontsize="small")


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _contexts(sources: Sequence[Source], line: Any, place: Any = float, most: float = np.inf) -> list[Any]:
    """A line for each trained context and each context before it was stretched, at place(length).

    line: the axes' axhline or axvline. Lengths beyond `most`, where no data is, are left out.
    """
    trained, originals = {}, {}
    for source in sources:
        for lengths, length in ((trained, source.trained_length), (originals, source.original_length)):
            if length is not None:
                # A model has its contexts also without its scaling.
                lengths.setdefault(length, {})[_named(source).removesuffix(", unscaled")] = None
    owners = {label for lengths in (trained, originals) for labels in lengths.values() for label in labels}
    drawn = []
    for lengths, name, dash in (({length: originals[length] for length in originals if length not in trained},
                                 "context before scaling", 1), (trained, "trained context", 8)):
        for n, length in enumerate(sorted(length for length in lengths if length <= most)):
            models = lengths[length]
            named = ", ".join(models) if len(models) < 3 else f"{len(models)} models"
            whose = f" of {named}" if len(owners) > 1 else ""
            drawn.append(line(place(length), color=_GREY, linewidth=1, linestyle=(0, (dash, 2 + 3 * n)),
                              label=f"{name}{whose}, {_grouped(length)}"))
    return drawn


def _per_pair(sources: Sequence[Source], axes: Any, values: Any) -> None:
    for index, source in enumerate(sources):
        all_pairs = values(source.rope)
        turning = np.flatnonzero(np.isfinite(all_pairs) & (all_pairs != 0))
        still = len(all_pairs) - len(turning)
        label = f"{_named(source)} ({still} pairs do not turn)" if still else _named(source)
        axes.plot(turning, np.abs(all_pairs[turning]), label=label, **_style(index, len(turning)))
    axes.set_yscale("log")
    axes.set_xlabel("pair i")


def draw_frequencies(sources: Source | Iterable[Source], axes: Any = None) -> Any:
    """The frequency of each pair, and that which makes one turn in the trained context. Returns the Axes.

    Pairs that do not turn are left out, since the axis is logarithmic; of negative frequencies the absolute
    value is drawn.
    """
    sources, axes = _all(sources), _axes(axes)
    _per_pair(sources, axes, data.frequencies)
    _contexts(sources, axes.axhline, lambda length: 2 * np.pi / length)
    axes.set_ylabel("frequency ω (radians per position)")
    _legend(axes)
    return axes


def draw_wavelengths(sources: Source | Iterable[Source], axes: Any = None) -> Any:
    """The wavelength of each pair, and the trained context: a pair above it never makes a whole turn.

    Returns the Axes. Pairs that do not turn are left out.
    """
    sources, axes = _all(sources), _axes(axes)
    _per_pair(sources, axes, data.wavelengths)
    _contexts(sources, axes.axhline)
    axes.set_ylabel("wavelength 2π/ω (positions per turn)")
    _legend(axes)
    return axes


def draw_scores(sources: Source | Iterable[Source], distances: Any, axes: Any = None, *, samples: int = 256,
                seed: int = 1, q: Any = None, k: Any = None) -> Any:
    """Scores against distance, see data.scores(). Returns the Axes.

    For each source a line for q = k = 1, markers for random q = k, a thin line for independent q and k, and
    with q, a thick line for the given ones. The axis is logarithmic if no distance is below 1.
    """
    sources, axes = _all(sources), _axes(axes)
    lines = _matplotlib().lines
    handles = []
    for index, source in enumerate(sources):
        found = data.scores(source.rope, distances, samples=samples, seed=seed, q=q, k=k)
        style = _style(index, len(found.distances))
        marker, step = style.pop("marker"), max(1, len(found.distances) // 30)
        plain = {"color": style["color"], "linestyle": style["linestyle"]}
        axes.plot(found.distances, found.ones, linewidth=1.4, **plain)
        axes.plot(found.distances, found.alike, color=style["color"], linestyle="none", marker=marker,
                  markersize=4, markerfacecolor="white", markevery=(index * step // 3 % step, step))
        axes.plot(found.distances, found.independent, linewidth=0.6, **plain)
        if found.given is not None:
            axes.plot(found.distances, found.given, linewidth=2.6, **plain)
        if len(sources) > 1:
            handles.append(lines.Line2D([], [], marker=marker, markersize=4, markerfacecolor="white",
                                        label=_named(source), **plain))
    one = _COLOURS[0] if len(sources) == 1 else _GREY
    handles += [lines.Line2D([], [], color=one, linewidth=1.4, label="q = k, all elements 1"),
                lines.Line2D([], [], color=one, linestyle="none", marker="o", markersize=4,
                             markerfacecolor="white", label=f"q = k, mean of {samples} random"),
                lines.Line2D([], [], color=one, linewidth=0.6,
                             label=f"q and k independent, mean of {samples}")]
    if q is not None:
        handles.append(lines.Line2D([], [], color=one, linewidth=2.6, label="q and k as given"))
    handles += _contexts(sources, axes.axvline, most=np.max(distances))
    if np.min(distances) >= 1:
        axes.set_xscale("log")
    axes.set_xlabel(f"distance of q and k (positions){_whose(sources)}")
    axes.set_ylabel("score / (|q| |k|)")
    _legend(axes, handles)
    return axes


def draw_rotation(sources: Source | Iterable[Source], positions: Any, axes: Any = None, *,
                  pairs: int = 4) -> Any:
    """cos (thick) and sin (thin) of the first pairs, one band each, pair 0 on top. Returns the Axes.

    In the band of pair i, -2.5 i has been added to both. Where a token stands, at an integer, is a marker,
    if there are not more than 100 of them.
    """
    sources, axes = _all(sources), _axes(axes)
    positions = np.asarray(positions, np.float64)
    first, last = np.ceil(positions.min()), np.floor(positions.max())
    tokens = np.arange(first, last + 1) if last - first < 100 else np.empty(0)
    lines, handles = _matplotlib().lines, []
    for index, source in enumerate(sources):
        style = _style(index, 1)
        plain = {"color": style["color"], "linestyle": style["linestyle"]}
        curves = data.rotation(source.rope, positions, pairs)
        dots = data.rotation(source.rope, tokens, pairs)
        for pair in range(pairs):
            axes.plot(positions, curves.cos[:, pair] - 2.5 * pair, linewidth=1.6, **plain)
            axes.plot(positions, curves.sin[:, pair] - 2.5 * pair, linewidth=0.7, **plain)
            if len(tokens):
                axes.plot(tokens, dots.cos[:, pair] - 2.5 * pair, linestyle="none", color=style["color"],
                          marker=style["marker"], markersize=3)
        if len(sources) > 1:
            handles.append(lines.Line2D([], [], marker=style["marker"], markersize=3, label=_named(source),
                                        **plain))
    one = _COLOURS[0] if len(sources) == 1 else _GREY
    handles += [lines.Line2D([], [], color=one, linewidth=1.6, label="cos(p ω), at tokens a marker"
                             if len(tokens) else "cos(p ω)"),
                lines.Line2D([], [], color=one, linewidth=0.7, label="sin(p ω)")]
    for pair in range(pairs):
        axes.axhline(-2.5 * pair, color=_GREY, linewidth=0.4, zorder=0)
    axes.set_yticks([level - 2.5 * pair for pair in range(pairs) for level in (-1, 0, 1)],
                    [text for pair in range(pairs) for text in ("-1", f"pair {pair}", "1")])
    axes.set_xlabel(f"position p{_whose(sources)}")
    axes.margins(x=0.01)
    _legend(axes, handles)
    return axes


def draw_heatmap(source: Source, positions: Any, axes: Any = None) -> Any:
    """cos(p ω_i) as lightness, light being 1; positions from left to right, pair 0 on top. Returns the Axes.

    positions: evenly spaced; in steps above π / ω a pair looks slower than it is. A line marks the first pair
    that makes no whole turn in the trained context.
    """
    axes = _axes(axes)
    positions = np.asarray(positions, np.float64)
    values = data.heatmap(source.rope, positions)
    half = (positions[1] - positions[0]) / 2 if len(positions) > 1 else 0.5
    # cividis grows lighter all the way, for all eyes and in grey.
    image = axes.imshow(values, cmap="cividis", vmin=-1, vmax=1, aspect="auto", interpolation="none",
                        extent=(positions[0] - half, positions[-1] + half, len(values) - 0.5, -0.5))
    axes.figure.colorbar(image, ax=axes, label="cos(p ω)", ticks=(-1, -0.5, 0, 0.5, 1))
    if source.trained_length is not None:
        slow = np.flatnonzero(data.wavelengths(source.rope) > source.trained_length)
        if len(slow):
            lines = _matplotlib().lines
            axes.axhline(slow[0] - 0.5, color="white", linewidth=2.2)
            axes.axhline(slow[0] - 0.5, color="black", linewidth=1, linestyle="--")
            _legend(axes, [lines.Line2D([], [], color="black", linewidth=1, linestyle="--", label=(
                f"{_named(source)}: from pair {slow[0]} on, no whole turn in the trained context, "
                f"{_grouped(source.trained_length)}"))])
    axes.set_xlabel(f"position p{_whose([source])}")
    axes.set_ylabel("pair i")
    return axes


def draw_errors(sources: Source | Iterable[Source], positions: Any, axes: Any = None) -> Any:
    """How far angles are off at each position, see data.errors(), on logarithmic axes. Returns the Axes.

    An error that is exactly 0 has no place on the axis, and is left out.
    """
    sources, axes = _all(sources), _axes(axes)
    for source in sources:
        if not np.any(data.frequencies(source.rope)):
            raise ValueError(f"{source.label}: no pair turns, there is no error to draw")
    lines, handles = _matplotlib().lines, []
    for index, source in enumerate(sources):
        found = data.errors(source.rope, positions)
        dashes = _DASHES[index % len(_DASHES)]
        step = max(1, len(found.positions) // 10)
        for way, (label, colour, marker) in _WAYS.items():
            values = getattr(found, way)
            seen = values > 0
            axes.plot(found.positions[seen], values[seen], color=colour, linestyle=dashes, marker=marker,
                      markersize=4, linewidth=1.2, markevery=(index * step // 3 % step, step),
                      label=label if index == 0 else None)
        if len(sources) > 1:
            handles.append(lines.Line2D([], [], color=_GREY, linestyle=dashes, label=_named(source)))
    handles = axes.get_legend_handles_labels()[0] + handles
    handles += _contexts(sources, axes.axvline, most=np.max(positions))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"position p{_whose(sources)}")
    axes.set_ylabel("error of the angle (radians), worst pair")
    _legend(axes, handles)
    return axes


def new_figure() -> Any:
    """An empty figure for save(), which no screen shows: pyplot's would look for one."""
    _matplotlib()
    from matplotlib.figure import Figure
    return Figure(figsize=(7, 4.5), layout="constrained")


def make_room(figure: Any) -> None:
    """Makes a figure of new_figure() taller where a long legend would press its axes flat."""
    legend = figure.axes[0].get_legend()
    if legend is not None and len(legend.get_texts()) > 8:
        figure.draw_without_rendering()
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, max(height, 3.7 + legend.get_window_extent().height / figure.dpi))


@contextlib.contextmanager
def print_style() -> Any:
    """Inside, figures are made and saved as for print, and the same figure gives the same bytes."""
    with _matplotlib().rc_context({"svg.hashsalt": "ropewalk", "svg.fonttype": "none", "font.size": 10,
                                   "font.family": "sans-serif", "axes.spines.top": False,
                                   "axes.spines.right": False, "path.simplify": True}):
        yield


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Writes a figure as .svg, .png or .pdf, without a date: the same figure gives the same bytes.

    It is written beside and renamed. Raises ValueError for another ending, OSError where it cannot be
    written.
    """
    path = Path(path)
    kind = path.suffix.lower()
    metadata = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None},
                ".pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
    if kind not in metadata:
        raise ValueError(f"{path}: the name does not end in .svg, .png or .pdf")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
    with print_style(), tempfile.TemporaryDirectory(dir=path.parent, prefix=".ropewalk-") as folder:
        written = Path(folder) / path.name
        figure.savefig(written, format=kind[1:], metadata=metadata[kind], facecolor="white", dpi=200)
        os.replace(written, path)
