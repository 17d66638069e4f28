#!/usr/bin/env python3
"""Checks that what the documents show is what the tree holds: check_docs.py [ROOT]

README.md, CONTRIBUTING.md, docs/**/*.md and examples/**/*.md. A fenced block is preceded by one of

    <!-- file: examples/first_rotation.cpp -->       it is that file, or
    <!-- file: scripts/demo [rotate] -->             the lines between # [rotate] and # [/rotate], or
    <!-- targets: Makefile -->                       each of its lines is `make TARGET` (and NAME=VALUE)

but for `text` blocks, which are output. Relative links must lead to files that are there. Prints
`file:line: message` for each violation and exits 1 if there is one.
"""

import re
import sys
import textwrap
from pathlib import Path

FENCE = re.compile(r"^(`{3,}|~{3,})\s*(\S*)")
SOURCE = re.compile(r"<!-- (file|targets): (\S+)(?: \[([\w-]+)\])? -->$")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def region(text, name):
    """The lines between [name] and [/name], dedented, or None."""
    lines = text.split("\n")
    marks = [n for n, line in enumerate(lines) if re.search(rf"(#|//) \[/?{name}\]$", line)]
    if len(marks) != 2:
        return None
    return textwrap.dedent("\n".join(lines[marks[0] + 1:marks[1]]))


def problem_with_block(root, language, block, source):
    """What is wrong with a fenced block of this language and preceding line, or None."""
    if language == "text":
        return None
    match = SOURCE.match(source)
    if not match:
        return f"a `{language}` block that no test runs: put <!-- file: ... --> before it"
    kind, name, part = match.groups()
    path = root / name
    if not path.is_file():
        return f"{name}: no such file"
    text = path.read_text(encoding="utf-8")
    if kind == "targets":
        for line in block.split("\n"):
            target = re.fullmatch(r"make ([\w-]+)( [A-Z]+=\S+)*(\s+#.*)?", line)
            if not target or not re.search(rf"^{target[1]}:", text, re.MULTILINE):
                return f"{name} has no target for `{line}`"
        return None
    wanted = region(text, part) if part else text
    if wanted is None:
        return f"{name} has no lines between [{part}] and [/{part}]"
    if block.strip("\n") != wanted.strip("\n"):
        return f"the block differs from {name}" + (f" [{part}]" if part else "")
    return None


def check_document(root, path):
    """The violations in one document, and how many blocks it has."""
    problems, blocks, source, fence, start, block = [], 0, "", None, 0, []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence, start, block = match, number, []
        elif fence is not None and line.strip() == fence[1]:
            problem = problem_with_block(root, fence[2], "\n".join(block), source)
            if problem:
                problems.append((start, problem))
            blocks, fence, source = blocks + 1, None, ""
        elif fence is not None:
            block.append(line)
        else:
            source = line.strip()
            for target in LINK.findall(line):
                if "://" not in target and not (path.parent / target).exists():
                    problems.append((number, f"a link to {target}, which is not there"))
    if fence is not None:
        problems.append((start, "a block that does not end"))
    return problems, blocks


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    documents = [path for path in (root / "README.md", root / "CONTRIBUTING.md") if path.is_file()]
    for folder in ("docs", "examples"):
        documents += sorted((root / folder).glob("**/*.md"))
    failed = not documents
    total = 0
    for path in documents:
        problems, blocks = check_document(root, path)
        total += blocks
        failed |= bool(problems)
        for number, problem in problems:
            print(f"{path.relative_to(root)}:{number}: {problem}")
    print(f"check_docs: {len(documents)} documents, {total} blocks")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
