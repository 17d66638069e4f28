#!/usr/bin/env python3
"""Installs ropewalk, and builds and runs other projects against what was installed.

    tests/install/install.py BUILD TEST        BUILD: a build folder; TEST: a function below

The tests named after copies make them, in BUILD/tests/install; the other tests use them:

    as_built   what BUILD has; moved after it was installed
    shared     the same with shared libraries, in lib/deep; moved too
    minimal    the core alone, with no package to be found; its folders are absolute, and stay
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
WORK = BUILD / "tests" / "install"

CACHE = dict(re.findall(r"^([\w-]+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))
CMAKE, VERSION = CACHE["CMAKE_COMMAND"], CACHE["CMAKE_PROJECT_VERSION"]
HAS = {part: CACHE[f"ROPEWALK_{part}"] == "ON" for part in ("MODEL", "CLI")}
HAS["MODEL"] |= HAS["CLI"]
SAME = [f"-D{key}={CACHE[key]}" for key in (
    "CMAKE_MAKE_PROGRAM", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS",
    "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "ROPEWALK_HIGHWAY_INCLUDE") if CACHE.get(key)]
PACKAGES = ("nlohmann_json", "CLI11", "GTest", "Python3", "OpenMP", "Threads", "benchmark")


def expect(condition, message):
    if not condition:
        sys.exit(f"install: {message}")


def run(*command, env=None, cwd=None, succeeds=True):
    words = [str(word) for word in command]
    print("+", shlex.join(words), flush=True)
    # What a caller's shell says of libraries is not to help.
    clean = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "DESTDIR")}
    done = subprocess.run(words, env=clean | (env or {}), cwd=cwd)
    expect((done.returncode == 0) == succeeds, f"{words[0]} ended with {done.returncode}")


def configure(source, build, *arguments):
    shutil.rmtree(build, ignore_errors=True)
    run(CMAKE, "--no-warn-unused-cli", "-S", source, "-B", build, "-G", CACHE["CMAKE_GENERATOR"], *SAME,
        *arguments)


def another_build(build, *arguments):
    """Another build of this tree, of the objects that BUILD has."""
    launcher = [HERE / "reuse_object.sh", BUILD, *filter(None, [CACHE.get("CMAKE_CXX_COMPILER_LAUNCHER")])]
    configure(SOURCE, build, f"-DCMAKE_BUILD_TYPE={CACHE['CMAKE_BUILD_TYPE']}", "-DROPEWALK_TESTS=OFF",
              "-DCMAKE_CXX_COMPILER_LAUNCHER=" + ";".join(map(str, launcher)), *arguments)
    run(CMAKE, "--build", build)


def install(build, name):
    """Installs and moves what was installed."""
    first, copy = WORK / "first" / name, WORK / name
    for folder in (first, copy):
        shutil.rmtree(folder, ignore_errors=True)
    run(CMAKE, "--install", build, "--prefix", first)
    check_files(first, [SOURCE, BUILD, build, first])
    first.rename(copy)


def check_files(prefix, foreign):
    """Every header is there, and no text leads to a folder that a user has not."""
    public = {path.name for path in (SOURCE / "include" / "ropewalk").iterdir()}
    if not list(prefix.rglob("libropewalk_model.*")):
        public.discard("model.hpp")
    headers = list(prefix.rglob("include/ropewalk/*"))
    differing = {path.name for path in headers} ^ public
    expect(not differing, f"headers installed that are not public, or the other way: {differing}")
    documents = {path.name for path in (prefix / "share" / "doc" / "ropewalk").iterdir()}
    expect({"LICENSE", "README.md", "CHANGELOG.md"} <= documents, f"documents installed: {documents}")
    others = [path for suffix in ("cmake", "pc") for path in prefix.rglob(f"*.{suffix}")]
    expect(len(others) >= 5, f"files for CMake and pkg-config: {others}")
    for path in headers + others:
        for folder in foreign:
            expect(str(folder) not in path.read_text(), f"{path} names {folder}")


def as_built():
    install(BUILD, "as_built")


def shared():
    build = WORK / "build" / "shared"
    another_build(build, "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_INSTALL_LIBDIR=lib/deep",
                  *(f"-DROPEWALK_{part}={'ON' if there else 'OFF'}" for part, there in HAS.items()))
    install(build, "shared")
    shutil.rmtree(build)  # where no program may find its libraries
    libraries = WORK / "shared" / "lib" / "deep"
    major, minor, _ = VERSION.split(".")
    abi = major if major != "0" else f"0.{minor}"
    for name in ("libropewalk.so", "libropewalk_model.so")[:1 + HAS["MODEL"]]:
        links = [os.readlink(libraries / link) for link in (name, f"{name}.{abi}")]
        expect(links == [f"{name}.{abi}", f"{name}.{VERSION}"], f"{name} leads to {links}")
        # As a program does that knows nothing of the other library.
        run(sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", libraries / name)
    if HAS["CLI"]:
        run(WORK / "shared" / "bin" / "ropewalk", "check", "--head-dim", "64")


def minimal():
    build, prefix = WORK / "build" / "minimal", WORK / "minimal"
    shutil.rmtree(prefix, ignore_errors=True)
    another_build(build, f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_INSTALL_LIBDIR={prefix}/libraries",
                  f"-DCMAKE_INSTALL_INCLUDEDIR={prefix}/headers/include", "-DBUILD_SHARED_LIBS=OFF",
                  "-DROPEWALK_MODEL=OFF", "-DROPEWALK_CLI=OFF",
                  *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in PACKAGES))
    run(CMAKE, "--install", build)
    shutil.rmtree(build)
    check_files(prefix, [SOURCE / "include", SOURCE / "src", build])


def consume(project, copy, *programs):
    """Builds the project of that folder with what is installed in a copy, and runs its programs."""
    build = WORK / "build" / f"{project}-{copy}"
    where = f"-DCMAKE_PREFIX_PATH={WORK / copy}"
    if copy != "as_built":  # its folders are not where CMake looks by itself
        where = f"-Dropewalk_DIR={next((WORK / copy).rglob('ropewalkConfig.cmake')).parent}"
    configure(HERE / project, build, where, f"-DVERSION={VERSION}", f"-DMODEL={HAS['MODEL'] and copy != 'minimal'}")
    if programs:
        run(CMAKE, "--build", build)
    for program in programs:
        run(build / program)


def find_package():
    for copy in ("as_built", "shared", "minimal"):
        consume("find_package", copy, "program")


def find_package_c():
    for copy in ("as_built", "shared"):
        consume("find_package_c", copy, "program")


def find_package_model():
    for copy in ("as_built", "shared"):
        consume("find_package_model", copy, "program")


def refused():
    for copy in ("as_built", "minimal"):
        consume("refused", copy)


def options_of(build, name):
    """The compiler's options for the source of that name, but for those that name files."""
    entries = json.loads((build / "compile_commands.json").read_text())
    command = next(entry["command"] for entry in entries if entry["file"].endswith(name))
    options = [word for word in shlex.split(command) if word.startswith("-") and word not in ("-o", "-c")]
    return set(options) - set(shlex.split(CACHE.get("CMAKE_CXX_FLAGS", "")))


def add_subdirectory():
    """The tree inside another project: its settings reach ropewalk, and nothing of ropewalk's the project."""
    project, build = WORK / "add_subdirectory", WORK / "build" / "add_subdirectory"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(HERE / "add_subdirectory", project)
    for name in ("program.cpp", "program.c", "formula.h"):
        shutil.copy(HERE / name, project)
    (project / "ropewalk").symlink_to(SOURCE)
    compiles = ("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",)

    configure(project, build, "-DCMAKE_BUILD_TYPE=", *compiles)
    expect("-O3" in options_of(build, "rotate.cpp"), "without a build type, ropewalk is not optimised")
    expect(not {"-O3", "-DNDEBUG"} & options_of(build, "program.cpp"), "ropewalk's build type leaks")

    # To the end in a build without optimisation: it is soon compiled, and a build that users make.
    configure(project, build, "-DCMAKE_BUILD_TYPE=Debug", *compiles)
    expect("-g" in options_of(build, "rotate.cpp"), "the project's build type does not reach ropewalk")
    expect("-O3" not in options_of(build, "rotate.cpp"), "the project's build type does not reach ropewalk")
    leaked = {option for option in options_of(build, "program.cpp")
              if option not in ("-g", f"-I{project}/ropewalk/include") and not option.startswith("-std=")}
    expect(not leaked, f"the project is compiled with {leaked}")
    run(CMAKE, "--build", build, "--parallel", 2)
    for program in ("program", "program_c"):
        run(build / program)

    # Installed with the project where the project says so, and only then.
    prefix = WORK / "inside"
    shutil.rmtree(prefix, ignore_errors=True)
    run(CMAKE, "--install", build, "--prefix", prefix)
    expect(not list(prefix.rglob("*ropewalk*")), "the project installs ropewalk unasked")
    run(CMAKE, "-DROPEWALK_INSTALL=ON", build)
    run(CMAKE, "--install", build, "--prefix", prefix)
    check_files(prefix, [SOURCE, build])


def by_pkg_config(way, copy):
    """What a reader of the README types, with the compilers of BUILD."""
    folder = WORK / "pkg_config" / f"{way}-{copy}"
    shutil.rmtree(folder, ignore_errors=True)
    tools = folder / "tools"
    tools.mkdir(parents=True)
    for name, key in (("cc", "CMAKE_C_COMPILER"), ("c++", "CMAKE_CXX_COMPILER"), ("pkg-config", "ROPEWALK_PKG_CONFIG")):
        (tools / name).symlink_to(CACHE[key])
    for name in ("program.cpp", "program.c", "model.cpp", "formula.h"):
        shutil.copy(HERE / name, folder)
    where = next((WORK / copy).rglob("ropewalk.pc")).parent
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "PKG_CONFIG_LIBDIR": str(where), "PKG_CONFIG_PATH": ""}
    run(HERE / "pkg_config" / "build.sh", way, cwd=folder, env=environment)
    run(folder / "program", env={"LD_LIBRARY_PATH": str(where.parent)} if copy == "shared" else {})
    return environment


def pkg_config():
    by_pkg_config("c_static", "as_built")
    by_pkg_config("c_static", "minimal")
    by_pkg_config("c", "shared")
    by_pkg_config("cxx", "as_built")
    environment = by_pkg_config("cxx_without_exceptions", "as_built")
    run("pkg-config", "--exists", "--print-errors", f"ropewalk = {VERSION}", env=environment)
    run("pkg-config", "--exists", f"ropewalk > {VERSION}", env=environment, succeeds=False)
    if HAS["MODEL"]:
        by_pkg_config("model", "as_built")
        by_pkg_config("model", "shared")


TESTS = (as_built, shared, minimal, find_package, find_package_c, find_package_model, refused,
         add_subdirectory, pkg_config)

if __name__ == "__main__":
    {test.__name__: test for test in TESTS}[sys.argv[2]]()
