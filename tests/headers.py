#!/usr/bin/env python3
"""Every public header stands alone, without a warning: headers.py CXX [CC]

With the compilers that are given: each header by itself and twice over, in C++20, and where it is for
C in C11; all of them without exceptions and RTTI; all of them in a program of several sources.
"""

import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*") if path.is_file())
FOR_C = [name for name in HEADERS if name.endswith(".h")]
CXX = sys.argv.pop(1)
CC = sys.argv.pop(1) if len(sys.argv) > 1 else None
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Werror"]
CPP = [CXX, "-x", "c++", "-std=c++20", *WARNINGS]
C = [CC, "-x", "c", "-std=c11", *WARNINGS, "-Wstrict-prototypes"]


def including(names):
    return "".join(f"#include <{name}>\n" for name in names) + "extern int a_source_is_not_empty;\n"


def compile_quietly(command, source):
    return subprocess.run([*command, "-fsyntax-only", f"-I{INCLUDE}", "-"], input=source, text=True,
                          stderr=subprocess.PIPE)


class Headers(unittest.TestCase):
    def compiles(self, command, source):
        done = compile_quietly(command, source)
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}\n{source}{done.stderr}")

    def each_compiles(self, command, names):
        self.assertTrue(names)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: self.compiles(command, including([name, name])), names))

    def test_each_stands_alone_in_cpp(self):
        self.each_compiles(CPP, HEADERS)

    @unittest.skipUnless(CC, "no compiler for C")
    def test_each_stands_alone_in_c(self):
        self.each_compiles(C, FOR_C)

    def test_all_do_without_exceptions_and_rtti(self):
        self.compiles([*CPP, "-fno-exceptions", "-fno-rtti"], including(HEADERS))

    def test_all_do_with_openmp(self):
        if compile_quietly([*CPP, "-fopenmp"], including(["omp.h"])).returncode != 0:
            self.skipTest("no OpenMP with this compiler")
        self.compiles([*CPP, "-fopenmp"], including(HEADERS))

    def test_sources_that_include_all_make_one_program(self):
        with tempfile.TemporaryDirectory(prefix="ropewalk-headers-") as folder:
            objects = []
            sources = [(CPP, HEADERS, ""), (CPP, HEADERS[::-1], "int main() {}\n")]
            for command, names, rest in sources + [(C, FOR_C, "")] * (CC is not None):
                objects.append(f"{folder}/{len(objects)}.o")
                subprocess.run([*command, f"-I{INCLUDE}", "-c", "-", "-o", objects[-1]],
                               input=including(names) + rest, text=True, check=True)
            subprocess.run([CXX, *objects, "-o", f"{folder}/program"], check=True)


if __name__ == "__main__":
    unittest.main()
