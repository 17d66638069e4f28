"""The chart of docs/performance.md: performance.svg, drawn by matplotlib. See write_performance.py."""

from performance_tables import best_target, bytes_of, level, size

DTYPES = ("f32", "bf16", "f16")
LEVELS = ("L1", "L2", "L3", "memory")
PAIRINGS = ("halves", "adjacent")
# Blue and orange of Okabe and Ito, told apart by all eyes, and by their lightness in grey.
COLOURS = {"halves": "#0072B2", "adjacent": "#E69F00"}


def bars(bench):
    """{(dtype, level, pairing, angles): row} of one tensor in place, one thread.

    Of several that lie in the same level, the smallest: the larger ones of a level that is shared lie
    partly in the next. With 32 heads of 128, so that bars differ in where their tensors lie and in
    nothing else.
    """
    target = best_target(bench["rows"])
    found = {}
    for row in bench["rows"]:
        if (row["work"], row["layout"], row["positions"], row["threads"], row["target"]) != (
                "rotate", "bthd", "consecutive", 1, target) or row["shape"][1:] != [32, 128]:
            continue
        key = (row["dtype"], level(row, bench["machine"]), row["pairing"], row["angles"])
        if key not in found or bytes_of(row) < bytes_of(found[key]):
            found[key] = row
    return {key: row for key, row in found.items() if key[0] in DTYPES}


def draw(bench, path):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    matplotlib.rcParams.update({"svg.hashsalt": "ropewalk", "svg.fonttype": "none", "font.size": 10,
                                "font.family": "sans-serif", "axes.spines.top": False,
                                "axes.spines.right": False})
    rows, width = bars(bench), 0.38
    shares = {key: row["fraction"] for key, row in rows.items()}
    figure, axes = pyplot.subplots(1, len(DTYPES), figsize=(9, 3.4), sharey=True, facecolor="white")
    for axis, dtype in zip(axes, DTYPES):
        for place, where in enumerate(LEVELS):
            for side, pairing in enumerate(PAIRINGS):
                x = place + (side - 0.5) * width
                fresh, ready = (shares.get((dtype, where, pairing, kind)) for kind in ("fresh", "ready"))
                if fresh is not None:
                    axis.bar(x, fresh, width * 0.95, color=COLOURS[pairing])
                if ready is not None:
                    axis.plot([x - width * 0.42, x + width * 0.42], [ready, ready], color="black",
                              linewidth=1.6)
        axis.axhline(1, color="#555555", linewidth=0.8, linestyle="--")
        axis.set_title(dtype, fontsize=11)
        sizes = [next((size(bytes_of(row)) for key, row in rows.items() if key[:2] == (dtype, where)), "")
                 for where in LEVELS]
        axis.set_xticks(range(len(LEVELS)), [f"{where}\n{text}" for where, text in zip(LEVELS, sizes)])
    axes[0].set_ylabel("share of the limit")
    axes[0].set_ylim(0, max(1.1, 1.05 * max(shares.values(), default=1)))
    legend = [Patch(color=COLOURS[pairing], label=f"{pairing}, fresh angles") for pairing in PAIRINGS]
    legend += [Line2D([], [], color="black", linewidth=1.6, label="ready angles"),
               Line2D([], [], color="#555555", linewidth=0.8, linestyle="--", label="the limit")]
    figure.legend(handles=legend, ncol=4, loc="lower center", frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, metadata={"Date": None, "Creator": None}, facecolor="white")
    pyplot.close(figure)
