"""The tables of docs/performance.md, made of what was measured. See write_performance.py.

Each function takes the JSON of `ropewalk bench`, of bench/peers or of its package.py and returns lines of
Markdown.
"""

import math

KIB, MIB = 1 << 10, 1 << 20
SIZES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8}
COLUMNS = [(angles, pairing) for angles in ("ready", "fresh") for pairing in ("halves", "adjacent")]
# What makes rows one line of a table: all but the columns and what is measured.
LINE = ("work", "dtype", "shape", "layout", "positions", "threads", "target")
WORKS = ("rotate", "rotate_qk", "rotate_out")
# The CPU's best target first.
TARGETS = ("AVX3_BF16", "AVX3", "AVX2", "NEON", "SCALAR")


def size(count):
    unit, name = (MIB, "MiB") if count >= MIB else (KIB, "KiB")
    return f"{count / unit:.4g} {name}"


def time(ns):
    for unit, name in ((1e6, "ms"), (1e3, "us")):
        if ns >= unit:
            return f"{ns / unit:.3g} {name}"
    return f"{ns:.3g} ns"


def shape(row):
    return " x ".join(str(n) for n in row["shape"])


def bytes_of(row):
    """Of the tensor that is read, or of the rows that are made."""
    return math.prod(row["shape"]) * SIZES[row["dtype"]]


def level(row, machine):
    """Where what is read and written lies."""
    touched = bytes_of(row) * (2 if row["work"] == "rotate_out" else 1)
    for name, key in (("L1", "l1d_bytes"), ("L2", "l2_bytes"), ("L3", "l3_bytes")):
        if touched <= machine[key]:
            return name
    return "memory"


def lies(row, machine):
    """The same in words: of an L3 that other cores and guests share, a tensor has less than its size says."""
    where = level(row, machine)
    shared = where == "L3" and 4 * bytes_of(row) > machine["l3_bytes"]
    return "L3 or memory" if shared else where


def best_target(rows):
    return min((row["target"] for row in rows), key=TARGETS.index, default=None)


def table(head, lines, left=1):
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *lines)]


def lines_of(rows):
    """[(first row, {(angles, pairing): row})] in the order of the measurement."""
    lines = {}
    for row in rows:
        key = tuple(str(row[name]) for name in LINE)
        lines.setdefault(key, (row, {}))[1][row["angles"], row["pairing"]] = row
    return list(lines.values())


def what(row):
    """The work in words, but for what is usual."""
    words = {"rotate": "", "rotate_qk": "q and k", "rotate_out": "to another tensor"}[row["work"]]
    parts = [words, "bhtd" if row["layout"] == "bhtd" else "",
             "random positions" if row["positions"] == "random" else ""]
    return ", ".join(part for part in parts if part)


def fractions(rows, machine):
    """Shares of the limit."""
    lines = []
    for row, cells in lines_of(rows):
        shares = [f"{cells[column]['fraction']:.2f}" if column in cells else "" for column in COLUMNS]
        fresh = cells.get(("fresh", "halves"), row)
        lines.append([row["dtype"], shape(row), what(row), lies(row, machine), *shares, time(fresh["ns"]),
                      time(row["limit_ns"])])
    return table(["dtype", "shape", "of what", "lies in", "ready, halves", "ready, adjacent", "fresh, halves",
                  "fresh, adjacent", "time (fresh, halves)", "limit"], lines, left=4)


def one_thread(bench, decode):
    target = best_target(bench["rows"])
    rows = [row for row in bench["rows"] if row["target"] == target and row["threads"] == 1
            and row["work"] != "angles" and (row["shape"][0] == 1) == decode]
    rows.sort(key=lambda row: (WORKS.index(row["work"]), row["shape"][2], row["shape"][1], row["shape"][0]))
    return fractions(rows, bench["machine"])


def other_targets(bench):
    target = best_target(bench["rows"])
    others = [row for row in bench["rows"] if row["target"] != target and row["work"] != "angles"]
    if not others:
        return [f"None: {target} is the best that this CPU has, and no other of its targets is in the list."]
    lines = []
    for name in sorted({row["target"] for row in others}, key=TARGETS.index):
        rows = fractions([row for row in others if row["target"] == name], bench["machine"])
        lines += ["", f"{name}:", "", *rows] if lines else [f"{name}:", "", *rows]
    return lines


def two_threads(bench):
    """How many times one thread's speed, and the share of what two threads could do."""
    rows = [row for row in bench["rows"] if row["threads"] == 2]
    if not rows:
        return ["Not measured: there was one thread to be had."]
    key = ("work", "dtype", "pairing", "shape", "layout", "angles", "positions", "target")
    one = {tuple(str(row[name]) for name in key): row for row in bench["rows"] if row["threads"] == 1}
    lines = []
    for row, cells in lines_of(rows):
        speedups = []
        for column in COLUMNS:
            single = one.get(tuple(str(cells[column][name]) for name in key)) if column in cells else None
            speedups.append(f"{single['ns'] / cells[column]['ns']:.2f}" if single else "")
        share = min(cell["fraction"] for cell in cells.values())
        lines.append([row["dtype"], shape(row), lies(row, bench["machine"]), *speedups, f"{share:.2f}"])
    return table(["dtype", "shape", "lies in", "ready, halves", "ready, adjacent", "fresh, halves",
                  "fresh, adjacent", "least share of the limit"], lines, left=3)


def angles(bench):
    lines = [[row["dtype"], str(row["shape"][0]), row["positions"], str(row["shape"][2] // 2), row["target"],
              time(row["ns"] / row["shape"][0]), time(row["limit_ns"] / row["shape"][0])]
             for row in bench["rows"] if row["work"] == "angles"]
    return table(["dtype", "rows", "positions", "pairs", "target", "time of a row", "of writing it"], lines,
                 left=3)


def memory(bench):
    machine = bench["machine"]
    rows = machine.get("memory", [])
    names = list(dict.fromkeys(row["loop"] for row in rows))
    # A copy has two tensors of half the size.
    lines = {}
    for row in rows:
        whole = row["bytes"] * (1 if row["loop"].startswith("limit") else 2)
        rate = f"{2 * row['bytes'] / row['ns']:.1f}"
        lines.setdefault((row["threads"], whole), {})[row["loop"]] = rate
    return table(["threads", "bytes in use", *(name.replace("_", " ") for name in names)],
                 [[str(threads), size(whole), *(rates.get(name, "") for name in names)]
                  for (threads, whole), rates in lines.items()])


def spread(bench):
    """How far limits of the same bytes differ, that were measured at different moments of the run."""
    limits = {}
    for row in bench["rows"]:
        key = (row["work"] == "rotate_out", row["work"] == "angles", bytes_of(row), row["threads"])
        limits.setdefault(key, (level(row, bench["machine"]), set()))[1].add(row["limit_ns"])
    largest = {}
    for where, values in limits.values():
        if len(values) > 1:
            largest[where] = max(largest.get(where, 1), max(values) / min(values))
    return table(["lies in", "largest by smallest limit of the same bytes"],
                 [[where, f"{largest[where]:.2f}"] for where in ("L1", "L2", "L3", "memory") if where in largest])


def calls(bench):
    """What a call costs beyond its kernels."""
    lines = []
    if "overhead" in bench:
        lines += [["a decode call, C++", time(bench["overhead"]["cpp_ns"])],
                  ["a decode call, C", time(bench["overhead"]["c_ns"])]]
    if "fork_join_ns" in bench["machine"]:
        lines.append(["fork and join of two threads", time(bench["machine"]["fork_join_ns"])])
    return table(["what", "time"], lines)


def machine_line(machine, version):
    caches = ", ".join(f"{name} {size(machine[key])}" for name, key in
                       (("L1", "l1d_bytes"), ("L2", "l2_bytes"), ("L3", "l3_bytes")) if machine.get(key))
    parts = [machine["cpu"], f"{machine['cores']} cores" + (f", {caches}" if caches else ""), machine["os"],
             machine["compiler"], version, machine["date"][:10]]
    return ["; ".join(part for part in parts if part) + "."]


def bench_machine(bench):
    target = best_target(bench["rows"])
    return machine_line(bench["machine"], f"ropewalk {bench['machine']['ropewalk']}, {target}")


def geometric_mean(values):
    """Of what is above 0; a kernel that is lost in the cost of its call says nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values and min(values) > 0 else None


def number(value, text):
    """As accuracy.md writes them: 1.2e-7."""
    return "" if value is None else text.format(value).replace("e-0", "e-")


def peers(measured):
    """How many times as long as ropewalk a peer takes: a line for each form, dtype and pairing."""
    rows = [row for row in measured["rows"] if row["peer"] != "ropewalk"]
    shapes = list(dict.fromkeys(tuple(row["shape"]) for row in rows))
    lines = {}
    for row in rows:
        key = row["peer"], row["work"], row["dtype"], row["pairing"]
        lines.setdefault(key, {})[tuple(row["shape"])] = row["ratio"]
    cells = [[*key, *(number(ratios.get(one), "{:.1f}") for one in shapes),
              number(geometric_mean(list(ratios.values())), "{:.1f}")] for key, ratios in lines.items()]
    heads = [" x ".join(map(str, one)) for one in shapes]
    return table(["peer", "form", "dtype", "pairing", *heads, "mean"], cells, left=4)


def peers_means(measured):
    return table(["all of", "times as long as ropewalk"],
                 [[peer, f"{mean:.1f}"] for peer, mean in measured["geometric_means"].items()])


def peers_errors(measured):
    """The larger of both pairings."""
    keys = "error_at_100000", "error_at_1000000"
    lines = {}
    for row in measured["rows"]:
        lines.setdefault((row["peer"], row["dtype"]), []).append([row[key] for key in keys])
    cells = []
    for key, errors in lines.items():
        known = [[error for error in column if error is not None] for column in zip(*errors)]
        cells.append([*key, *(number(max(column, default=None), "{:.1e}") for column in known)])
    return table(["peer", "dtype", "at 100 000", "at 1 000 000"], cells, left=2)


def peers_machine(measured):
    versions = measured["machine"].get("versions", {}).items()
    return machine_line(measured["machine"], ", ".join(f"{name} {version}" for name, version in versions))


def peers_not_measured(measured):
    rows = measured.get("not_measured", [])
    return [f"- {row['peer']}: {row['why']}" for row in rows] or ["None was left out."]


def package(measured, group):
    """Calls of the Python package and beside it: their times, and as shares of the first of them."""
    rows = [row for row in measured["rows"] if row["group"] == group]
    first = next(row for row in rows if row["call"] != "C++")
    places = {"in place": "in place", "given": "in a given tensor", "new": "in a new tensor"}
    return table(["call", "result", "time", "by the first `rotate_`"],
                 [[row["call"], places[row["makes"]], time(row["ns"]), number(row["ns"] / first["ns"], "{:.2g}")]
                  for row in rows], left=2)


# The blocks of the page: name -> (which JSON, the function).
BLOCKS = {
    "machine": ("bench", bench_machine),
    "decode": ("bench", lambda bench: one_thread(bench, True)),
    "prefill": ("bench", lambda bench: one_thread(bench, False)),
    "targets": ("bench", other_targets),
    "threads": ("bench", two_threads),
    "angles": ("bench", angles),
    "memory": ("bench", memory),
    "calls": ("bench", calls),
    "spread": ("bench", spread),
    "package machine": ("package", peers_machine),
    "package large": ("package", lambda measured: package(measured, "large")),
    "package decode": ("package", lambda measured: package(measured, "decode")),
    "peers machine": ("peers", peers_machine),
    "peers means": ("peers", peers_means),
    "peers": ("peers", peers),
    "peers errors": ("peers", peers_errors),
    "peers not measured": ("peers", peers_not_measured),
}
