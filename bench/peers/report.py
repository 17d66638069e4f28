"""What the comparison says: rows, geometric means, a table for people."""

import math

# Group of peers -> how many times faster ropewalk wants to be, see README.md.
WANTED = {"ggml": 10, "onnxruntime (com.microsoft)": 1.5, "onnxruntime (ai.onnx)": 1.5}


def geometric_mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def ratio(ns, overhead_ns, ropewalk_ns):
    """How many times as long a peer's kernel takes; at least as long as nothing."""
    return max(ns - (overhead_ns or 0), 0) / ropewalk_ns


def row(work, peer, form, ns, overhead_ns, ropewalk_ns, errors):
    return {"peer": peer, "work": form, "dtype": work.dtype, "pairing": work.pairing,
            "shape": list(work.shape), "threads": 1, "ns": ns, "overhead_ns": overhead_ns,
            "ropewalk_ns": ropewalk_ns, "ratio": ratio(ns, overhead_ns, ropewalk_ns),
            "error_at_100000": errors.get("100000"), "error_at_1000000": errors.get("1000000")}


def geometric_means(rows):
    """Of each peer's ratios; where a call's own cost was taken off, also of those with it."""
    means = {}
    for peer in dict.fromkeys(each["peer"] for each in rows):
        of_peer = [each for each in rows if each["peer"] == peer]
        ratios = [each["ratio"] for each in of_peer]
        # A kernel that was lost in its overhead says nothing.
        if peer == "ropewalk" or min(ratios) <= 0:
            continue
        means[peer] = geometric_mean(ratios)
        if any(each["overhead_ns"] is not None for each in of_peer):
            means[f"{peer}, with its overhead"] = geometric_mean(
                [each["ns"] / each["ropewalk_ns"] for each in of_peer])
    return means


def number(value):
    """Three digits, as short as they get: 0.123, 4.56, 78.9, 1234."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def table(head, lines):
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
                     for line in (head, *lines))


def text_of_peer(rows, cell, unit):
    """A table of one peer in one form: a line for each dtype and pairing, a column for each shape."""
    shapes = list(dict.fromkeys(tuple(each["shape"]) for each in rows))
    lines = []
    for key in dict.fromkeys((each["dtype"], each["pairing"]) for each in rows):
        of_key = {tuple(each["shape"]): each for each in rows if (each["dtype"], each["pairing"]) == key}
        first = next(iter(of_key.values()))
        errors = [first[f"error_at_{p}"] for p in (100000, 1000000)]
        lines.append((" ".join(key), *(number(cell(of_key[s])) if s in of_key else "-" for s in shapes),
                      *("-" if each is None else f"{each:.1e}" for each in errors)))
    head = (unit, *("x".join(map(str, s)) for s in shapes), "error at 100k", "at 1M")
    return f"{rows[0]['peer']}: {rows[0]['work']}\n{table(head, lines)}\n"


def text(result):
    """The whole report."""
    rows, machine = result["rows"], result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    parts = [f"{machine['cpu']}, one core of {machine['cores']}; {machine['os']}; {machine['compiler']}; "
             f"{machine['date']}\n{versions}\n"]
    for peer, form in dict.fromkeys((each["peer"], each["work"]) for each in rows):
        of_peer = [each for each in rows if (each["peer"], each["work"]) == (peer, form)]
        if peer == "ropewalk":
            parts.append(text_of_peer(of_peer, lambda each: each["ns"] / 1000, "us"))
        else:
            parts.append(text_of_peer(of_peer, lambda each: each["ratio"], "times as long"))
    lines = []
    for peer, mean in result["geometric_means"].items():
        lines.append((peer, number(mean), number(WANTED[peer]) if peer in WANTED else ""))
    parts.append(table(("geometric mean of", "times as long", "wanted"), lines) + "\n")
    parts += [f"not measured: {each['peer']}: {each['why']}" for each in result["not_measured"]]
    return "\n".join(parts)
