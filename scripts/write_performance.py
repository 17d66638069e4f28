#!/usr/bin/env python3
"""Writes what was measured into docs/performance.md, or checks it:

    write_performance.py [--bench FILE] [--peers FILE] [--package FILE] [ROOT]
    write_performance.py --check [ROOT]

FILE is what `ropewalk bench --json`, bench/peers or bench/peers/package.py printed. It is kept in
docs/performance.json, and the page and its chart, docs/performance.svg, are made of that. Without a FILE,
what was kept is written again.
The page says where the tables go:

    <!-- measured: NAME -->
    | ... |
    <!-- end -->

With --check nothing is written: `file:line: message` for each table that is not as what was kept makes it,
and exit code 1 if there is one. Only the chart needs matplotlib (scripts/setup --report).
"""

import argparse
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from performance_tables import BLOCKS  # noqa: E402

BEGIN, END = re.compile(r"<!-- measured: (.+?) -->$"), "<!-- end -->"


def block(name, kept):
    """The lines of a block, or None if there is none of this name."""
    if name not in BLOCKS:
        return None
    source, make = BLOCKS[name]
    return make(kept[source]) if source in kept else ["Not measured."]


def written(name, text, kept):
    """The page with its blocks, and the problems: `name:line: message`."""
    lines, problems, given = [], [], text.split("\n")
    at = 0
    while at < len(given):
        lines.append(given[at])
        begin = BEGIN.match(given[at])
        at += 1
        if not begin:
            continue
        marks = (n for n in range(at, len(given)) if given[n] == END or BEGIN.match(given[n]))
        end = next(marks, None)
        if end is None or given[end] != END:
            problems.append(f"{name}:{at}: `{begin[1]}` does not end")
            continue
        made = block(begin[1], kept)
        if made is None:
            problems.append(f"{name}:{at}: nothing measures `{begin[1]}`")
        elif given[at:end] != made:
            problems.append(f"{name}:{at}: `{begin[1]}` is not what was measured; run make bench-report")
        lines += given[at:end] if made is None else made
        at = end
    return "\n".join(lines), problems


def rounded(value):
    """Numbers to five digits: more is noise, and would make every line of the file longer."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def kept_text(value, indent=""):
    """JSON with a line for each row, so that a difference can be read."""
    def is_rows(item):
        return isinstance(item, list) and any(isinstance(row, dict) for row in item)
    inner = indent + " "
    if isinstance(value, dict) and any(isinstance(item, dict) or is_rows(item) for item in value.values()):
        lines = [f"{inner}{json.dumps(key)}: {kept_text(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if is_rows(value):
        return "[\n" + ",\n".join(inner + kept_text(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value)


def main(arguments):
    parser = argparse.ArgumentParser(description="Writes docs/performance.md of what was measured.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--package", type=Path)
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args(arguments)
    docs = options.root / "docs"
    page, store = docs / "performance.md", docs / "performance.json"
    kept = json.loads(store.read_text(encoding="utf-8")) if store.is_file() else {}
    for source in ("bench", "peers", "package"):
        file = getattr(options, source)
        if file:
            kept[source] = rounded(json.loads(file.read_text(encoding="utf-8")))
    text = page.read_text(encoding="utf-8")
    new, problems = written(page.relative_to(options.root), text, kept)
    if not options.check:
        problems = [problem for problem in problems if "is not what was measured" not in problem]
        store.write_text(kept_text(kept) + "\n", encoding="utf-8")
        page.write_text(new, encoding="utf-8")
        if "bench" in kept:
            from performance_chart import draw
            draw(kept["bench"], docs / "performance.svg")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"write_performance: {sum(bool(BEGIN.match(line)) for line in text.splitlines())} tables")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
