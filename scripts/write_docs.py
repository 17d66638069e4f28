#!/usr/bin/env python3
"""Writes the measured figures into docs/*.md, or checks them: write_docs.py [--check] PROGRAM [ROOT]

PROGRAM is document_numbers (docs/measure), which measures and prints each figure with a name and how
well it must be met again. The documents say where figures go:

    It is off by <!-- figure: NAME -->1.2e-7<!-- end --> at most.

    <!-- table: TABLE | COLUMN | COLUMN -->      the cells of the table that follows, behind the first
    | position | ropewalk | a table |            cell of each row, which is ROW; of a column called `-`
    |---|---|---|                                the cells are left as they are
    | ROW | 1.2e-7 | 3.4e-3 |

Without --check the figures are replaced. With it, the program does less (--quick) and nothing is
written: `file:line: message` for each figure that does not hold, and exit code 1 if there is one.
"""

import datetime
import platform
import re
import subprocess
import sys
from pathlib import Path

FIGURE = re.compile(r"(<!-- figure: ([^>]+?) -->)(.*?)(<!-- end -->)")
TABLE = re.compile(r"<!-- table: ([^>]+?) -->$")
NUMBER = re.compile(r"-?\d[\d ]*(?:\.\d+)?(?:e-?\d+)?")
CLOSE = 0.05


def numbers(text):
    """The numbers of a text, each with a unit of its last digit, and what stands around them."""
    found = []
    for match in NUMBER.finditer(text):
        digits = match[0].replace(" ", "")
        mantissa, _, exponent = digits.partition("e")
        unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        found.append((float(digits), unit))
    return found, re.sub(r"\s+", " ", NUMBER.sub("#", text)).strip()


def holds(kind, written, measured):
    """Whether a figure that is written still holds, by the kind of figure that it is."""
    if kind == "free" or not measured:
        return True
    if kind == "exact" or written == measured:
        return written == measured
    (old, around), (new, around_new) = numbers(written), numbers(measured)
    if around != around_new or len(old) != len(new):
        return False
    for (a, unit), (b, _) in zip(old, new):
        if kind == "close" and abs(a - b) > CLOSE * abs(b) + 1.001 * unit:
            return False
        if kind == "factor" and not (a * b >= 0 and abs(b) <= 2 * abs(a) and abs(a) <= 2 * abs(b)):
            return False
    return True


class Document:
    """The lines of a document, whose figures are replaced by those of `measured`."""

    def __init__(self, name, text, measured):
        self.name, self.measured = name, measured
        self.problems, self.figures, self.changed = [], 0, 0
        self.lines = text.split("\n")
        columns, row_number = None, 0
        for number, line in enumerate(self.lines):
            marker = TABLE.match(line.strip())
            if marker:
                columns, row_number = [part.strip() for part in marker[1].split("|")], 0
                continue
            if columns and line.startswith("|"):
                row_number += 1
                if row_number > 2:
                    line = self.row(number, line, columns)
            elif columns and row_number:
                if row_number < 3:
                    self.problem(number, f"table {columns[0]} has no rows")
                columns = None
            self.lines[number] = FIGURE.sub(lambda match, at=number: self.inline(at, match), line)

    def problem(self, number, message):
        self.problems.append(f"{self.name}:{number + 1}: {message}")

    def figure(self, number, name, written):
        self.figures += 1
        if name not in self.measured:
            self.problem(number, f"nothing measures `{name}`")
            return written
        kind, text = self.measured[name]
        if not holds(kind, written, text):
            self.problem(number, f"`{name}` is written as {written}, measured {text} ({kind})")
        self.changed += bool(text) and text != written
        return text or written

    def inline(self, number, match):
        return match[1] + self.figure(number, match[2], match[3]) + match[4]

    def row(self, number, line, columns):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != len(columns):
            self.problem(number, f"a row of {len(cells)} cells, table {columns[0]} has {len(columns)}")
            return line
        for n in range(1, len(cells)):
            if columns[n] != "-":
                name = f"{columns[0]} | {cells[0]} | {columns[n]}"
                cells[n] = self.figure(number, name, cells[n])
        return "| " + " | ".join(cells) + " |"


def cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def measure(program, arguments):
    """Name -> (kind, text), as the program prints them."""
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    measured = {}
    for line in result.stdout.splitlines():
        name, kind, text = line.split("\t")
        measured[name] = (kind, text)
    measured["machine"] = ("free", cpu())
    measured["date"] = ("free", datetime.date.today().isoformat())
    return measured


def main(arguments):
    check = arguments[:1] == ["--check"]
    arguments = arguments[check:]
    if not 1 <= len(arguments) <= 2:
        sys.exit("write_docs: want [--check] PROGRAM [ROOT]")
    root = Path(arguments[1]) if len(arguments) == 2 else Path(__file__).resolve().parent.parent
    measured = measure(arguments[0], ["--quick"] if check else [])
    problems, figures, changed = [], 0, 0
    for path in sorted((root / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        document = Document(path.relative_to(root), text, measured)
        figures += document.figures
        changed += document.changed
        # A figure that does not hold is what writing is for; one that nothing measures is not.
        problems += [p for p in document.problems if check or "is written as" not in p]
        written = "\n".join(document.lines)
        if not check and written != text:
            path.write_text(written, encoding="utf-8")
    for problem in problems:
        print(problem)
    print(f"write_docs: {figures} figures, " +
          (f"{len(problems)} do not hold" if check else f"{changed} new"))
    return 1 if problems or not figures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
