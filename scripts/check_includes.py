#!/usr/bin/env python3
"""Checks that each room of the house uses only what it may: check_includes.py [ROOT]

Reads the #include lines and the calls of include/, src/, bench/ and cli/. Prints `file:line: message` for
each violation and exits 1 if there is one.
"""

import re
import sys
from pathlib import Path

# Room -> the rooms that it may use, beside itself and FREE. A file belongs to the room of its stem.
ROOMS = {
    "error": (),
    "tensor": (),
    "version": ("kernels",),
    "message": (),
    "words": (),
    "spec": ("scaling",),
    "frequencies": ("spec",),
    "rope": ("frequencies", "spec"),
    "positions": (),
    "vision": ("spec", "frequencies"),
    "grids": ("positions",),
    "sequences": ("positions", "grids"),
    "kernels": (),
    "options": (),
    "openmp": (),
    # Parts of a room that have a file of their own.
    "scaling": ("spec",),
    "overlap": (),
    "element": (),
    "rows": ("spec", "rope", "positions", "kernels"),
    "given": ("spec", "angles", "element"),
    "operands": ("spec", "rope", "positions", "angles", "overlap"),
    "angles": ("spec", "rope", "positions", "kernels", "rows", "given"),
    "walk": ("spec", "angles", "kernels", "rows", "operands"),
    "rotate": ("spec", "rope", "positions", "angles", "kernels", "operands", "walk"),
    "check": ("spec", "frequencies", "rope", "positions", "angles", "rotate", "element"),
    "model": ("spec", "formats", "vision"),
    "formats": (),
    # ropewalk.hpp, all of the above; and the C interface, which stands on that.
    "ropewalk": ("spec", "frequencies", "rope", "positions", "angles", "rotate", "check", "vision",
                 "grids", "sequences"),
}
FREE = ("error", "tensor", "version", "options", "message", "element", "words")

# Rooms made of several sources: their stem may go on after the room's name (kernels-inl, model-gguf).
SPLIT = ("kernels", "model", "ropewalk", "vision")
# Rooms without a public header.
PRIVATE = ("kernels", "scaling", "overlap", "element", "rows", "given", "operands", "walk", "message", "words", "formats")
# Rooms that use public headers only, of src/ too.
OUTSIDERS = ("check", "ropewalk")
# Folders that are rooms, and what they use beside public headers and FREE.
FOLDERS = {"bench": ("kernels",), "cli": ("formats", "bench")}
# Projects of their own, which no target of ours is built with: they use what others install.
APART = (Path("bench/peers"),)

# What is neither the project's nor the standard library's -> the rooms that may include it.
OTHERS = {
    r"hwy/": ("kernels",),
    r"omp\.h$": ("openmp",),
    r"(immintrin|cpuid)\.h$": ("kernels",),
    r"nlohmann/": ("model", "formats", "cli"),
    r"CLI/": ("cli",),
    r"unistd\.h$": ("formats", "bench", "cli", "kernels"),  # kernels: the size of a cache
    r"(fcntl|sys/\w+)\.h$": ("formats", "bench", "cli"),
}

# Words that do not occur in the library -> the rooms that are let off, and the reason.
CALLS = (
    (r"#\s*include\s*<(iostream|stdio\.h|cassert|assert\.h|thread|future)>", (), "is not for the library"),
    (r"#\s*include\s*<(fstream|filesystem|cstdio)>", ("model", "formats", "bench"), "does I/O"),
    (r"#\s*include\s*<(chrono|ctime|time\.h)>", ("bench",), "the library does not read the clock"),
    (r"\bstd::(cout|cerr|clog)\b", (), "the library does not print"),
    (r"\b(v?f?printf|f?puts|f?putc|putchar|perror)\s*\(", (), "the library does not print"),
    (r"\b(secure_)?getenv\s*\(", (), "the library does not read the environment"),
    (r"\b(abort|exit|_Exit|_exit|quick_exit)\s*\(", (), "the library does not end the process"),
    (r"\bstd::terminate\b", (), "the library does not end the process"),
    (r"(?<!static_)\bassert\s*\(", (), "the library does not end the process"),
    (r"\bHWY_(ABORT|ASSERT|DASSERT|WARN)\b", (), "prints or ends the process"),
    (r"\bstd::(thread|jthread|async)\b", (), "the library has no threads of its own"),
)

STANDARD = re.compile(r"[a-z_0-9]+$")  # <vector>, <cstdint>
STANDARD_C = re.compile(r"(stddef|stdint)\.h$")
INCLUDE = re.compile(r'\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)"|(.*))')
# Comments, raw strings, strings, characters; digit separators are none of these.
TOKENS = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)"""
    r"""|(?P<text>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.DOTALL)


def blank(text, strings):
    """The text with its comments, and its strings if asked, replaced by as many lines of nothing."""
    def replace(match):
        if match["comment"] is None and not strings:
            return match[0]
        return " " + "\n" * match[0].count("\n")
    return TOKENS.sub(replace, text)


def room_of(path):
    """The room of a file, given by its path from the root, or None."""
    if path.suffix not in (".hpp", ".cpp", ".h"):
        return None
    top, inner = path.parts[0], path.parts[1:-1]
    if path.suffix == ".h" and top != "include":
        return None
    if top in FOLDERS:
        return top if not inner else None
    if top == "src" and inner == ("formats",):
        return "formats"
    if (top, inner) == ("include", ("ropewalk",)) and path.suffix != ".cpp":
        room = path.stem if path.stem not in PRIVATE else None
    elif (top, inner) == ("src", ()):
        room = next((name for name in SPLIT if path.stem.startswith(name + "-")), path.stem)
    else:
        return None
    return room if room in ROOMS else None


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.problems = []
        self.files = 0

    def check(self):
        for top in ("include", "src", *FOLDERS):
            for path in sorted((self.root / top).rglob("*")):
                inner = path.relative_to(self.root)
                apart = any(map(inner.is_relative_to, APART))
                if path.is_file() and path.name != "CMakeLists.txt" and not apart:
                    self.check_file(inner)
        return self.problems

    def check_file(self, path):
        self.files += 1
        room = room_of(path)
        if room is None:
            self.problems.append(f"{path}:1: which room is this? see ROOMS in scripts/check_includes.py")
            return
        text = (self.root / path).read_text(encoding="utf-8")
        for number, line in enumerate(blank(text, strings=False).split("\n"), 1):
            match = INCLUDE.match(line)
            message = match and self.check_include(path, room, match)
            if message:
                self.problems.append(f"{path}:{number}: {message}")
        if room == "cli":
            return
        for number, line in enumerate(blank(text, strings=True).split("\n"), 1):
            for pattern, let_off, reason in CALLS:
                match = re.search(pattern, line)
                if match and room not in let_off:
                    self.problems.append(f"{path}:{number}: {match[0].strip()}: {reason}")

    def check_include(self, path, room, match):
        """What is wrong with an #include, or None."""
        angle, quoted, computed = match.groups()
        if computed is not None:
            return f"#include {computed.strip()}: name the file"
        is_public = path.parts[0] == "include"
        if quoted is not None:
            if is_public:
                return f'"{quoted}": a public header includes <ropewalk/...> and the standard library'
            bases = (self.root / "src", (self.root / path).parent, self.root)  # "bench/limit.hpp"
            target = next((base / quoted for base in bases if (base / quoted).is_file()), None)
            if target is None:
                return f'"{quoted}": no such file in src or beside this one'
            return self.check_use(room, target.resolve().relative_to(self.root.resolve()), quoted)
        if angle.startswith("ropewalk/"):
            target = Path("include") / angle
            if not (self.root / target).is_file():
                return f"<{angle}>: no such public header"
            if path.suffix == ".h" and target.suffix != ".h":
                return f"<{angle}>: a header for C includes no C++"
            return self.check_use(room, target, angle)
        if (STANDARD_C if path.suffix == ".h" else STANDARD).match(angle):
            return None
        if not is_public or room == "openmp":
            for pattern, rooms in OTHERS.items():
                if re.match(pattern, angle):
                    return None if room in rooms else f"{room} may not include <{angle}>"
        return f"<{angle}> is neither the project's nor the standard library's"

    @staticmethod
    def check_use(room, target, name):
        used = room_of(target)
        if used is None:
            return f"{name} is of no room"
        if used == room:
            return None
        is_public = target.parts[0] == "include"
        if room in FOLDERS:
            allowed = is_public or used in FOLDERS[room] or used in FREE
        elif room in OUTSIDERS and not is_public and used not in FREE:
            return f"{room} uses public headers only, not {name}"
        else:
            allowed = used in FREE or used in ROOMS[room]
        return None if allowed else f"{room} may not use {used} ({name})"


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    tree = Tree(root)
    problems = tree.check()
    for problem in problems:
        print(problem)
    if tree.files == 0:
        print(f"{root}: no sources here")
        return 1
    print(f"check_includes: {tree.files} files, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
