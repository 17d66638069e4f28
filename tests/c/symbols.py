#!/usr/bin/env python3
"""Checks that the C interface is what symbols.txt lists: symbols.py NM LIBRARY...

Each library, static or shared, exports these names for C and no others; ropewalk.h declares them,
as stable or as experimental; and each is called by a test in C. Prints what differs, and exits 1.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "include/ropewalk/ropewalk.h"

DECLARATION = re.compile(r"^(ROPEWALK_API|ROPEWALK_EXPERIMENTAL)\s[^;{}]*?\b(\w+)\(", re.MULTILINE)
MARK = {"ROPEWALK_API": "stable", "ROPEWALK_EXPERIMENTAL": "experimental"}


def listed():
    """Name -> stable or experimental, as symbols.txt says."""
    names, section = {}, None
    for line in (HERE / "symbols.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            names[line] = section
    return names


def declared():
    text = re.sub(r"//[^\n]*", "", HEADER.read_text(encoding="utf-8"))
    return {name: MARK[mark] for mark, name in DECLARATION.findall(text)}


def exported(nm, library):
    """The names that a program can link with, but those of C++ and of the linker itself."""
    options = ["--dynamic"] if ".so" in Path(library).name else ["--extern-only"]
    output = subprocess.run([nm, *options, "--defined-only", "--format=posix", library],
                            check=True, capture_output=True, text=True).stdout
    fields = (line.split() for line in output.splitlines())
    names = {field[0].split("@")[0] for field in fields if len(field) > 2}
    return {name for name in names if re.fullmatch(r"[A-Za-z]\w*", name)}


def called():
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.c")))
    # ropewalk_##name##_into, with name in CHECK_FORMS(rotate, ...)
    names = set(re.findall(r"\b(ropewalk_\w+)\(", text))
    patterns = set(re.findall(r"\bropewalk_##name(?:##(\w+))?\(", text))
    for name in re.findall(r"\bCHECK_FORMS\((\w+),", text):
        names |= {f"ropewalk_{name}{suffix}" for suffix in patterns}
    return names


def main(arguments):
    nm, libraries = arguments[0], arguments[1:]
    names, problems = listed(), []

    def compare(what, found, wanted):
        problems.extend(f"{name}: in symbols.txt, not {what}" for name in sorted(wanted - found))
        problems.extend(f"{name}: {what}, not in symbols.txt" for name in sorted(found - wanted))

    compare("in ropewalk.h", set(declared()), set(names))
    problems += [f"{name}: {kind} in ropewalk.h, {names[name]} in symbols.txt"
                 for name, kind in sorted(declared().items()) if names.get(name, kind) != kind]
    problems += [f"{name}: called by no test in C" for name in sorted(set(names) - called())]
    for library in libraries:
        compare(f"exported by {Path(library).name}", exported(nm, library), set(names))
    for problem in problems:
        print(problem)
    print(f"symbols: {len(names)} names, {len(libraries)} libraries, {len(problems)} differences")
    return 1 if problems or not names or not libraries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
