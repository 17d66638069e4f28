#!/usr/bin/env python3
"""Is `ropewalk rotate` as fast as copying the file?

Rotates a 64 MiB file [1, 4096, 32, 128] and, in turns, copies it by a loop of reads and writes of
256 KiB to a new file, renamed in the end. Prints the ratio of the medians (the limit is 1.3) and
the peak memory of the tool. The loop is a C++ program compiled here: an interpreter would flatter
us, and so would a block that does not begin at a page, to which the kernel copies half as fast.

    scripts/measure_rotate_file.py BUILD/ropewalk [--layout bthd] [--rounds 5] [--directory DIR]
"""

import argparse
import os
import statistics
import struct
import subprocess
import tempfile
import time

LIMIT = 1.3
SHAPES = {"bthd": (1, 4096, 32, 128), "bhtd": (1, 32, 4096, 128)}

COPY = r"""
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
int main(int, char** argv) {  // IN OUT TEMPORARY, renamed over OUT in the end
  const size_t size_of_block = 256 << 10;
  char* const block = static_cast<char*>(std::aligned_alloc(4096, size_of_block));
  const int in = open(argv[1], O_RDONLY);
  const int out = open(argv[3], O_WRONLY | O_CREAT | O_EXCL, 0666);
  for (ssize_t size; (size = read(in, block, size_of_block)) > 0;) {
    if (write(out, block, static_cast<size_t>(size)) != size) return 1;
  }
  return close(out) != 0 || std::rename(argv[3], argv[2]) != 0;
}
"""


def write_tensor(path, shape):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
    header += " " * (-(11 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        row = struct.pack("<128f", *(i / 64 - 1 for i in range(128)))
        for _ in range(shape[1] * shape[2]):  # the peak of a child counts from its parent's
            file.write(row)


def timed(command):
    """Seconds and peak KiB of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed with {process.returncode}")
    return seconds, usage.ru_maxrss


def compile_copy(directory):
    source = os.path.join(directory, "copy.cpp")
    program = os.path.join(directory, "copy")
    with open(source, "w") as file:
        file.write(COPY)
    subprocess.run([os.environ.get("CXX", "c++"), "-O2", source, "-o", program], check=True)
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ropewalk")
    parser.add_argument("--layout", choices=SHAPES, default="bthd")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", help="where the 64 MiB file is made; by default $TMPDIR")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        x, y, temporary = (os.path.join(directory, name) for name in ("x.npy", "y.npy", "tmp"))
        write_tensor(x, SHAPES[arguments.layout])
        copy = [compile_copy(directory), x, y, temporary]
        rotate = [arguments.ropewalk, "rotate", "--head-dim", "128", "--layout", arguments.layout,
                  "--in", x, "--out", y]
        timed(copy), timed(rotate)  # the file is in the page cache from here on
        copied, rotated = [], []
        for _ in range(arguments.rounds):
            copied.append(timed(copy))
            rotated.append(timed(rotate))
        copy_ms, rotate_ms = (statistics.median(s for s, _ in runs) * 1e3
                              for runs in (copied, rotated))
        peak = max(kib for _, kib in rotated) / 1024
        print(f"layout {arguments.layout}: copy {copy_ms:.1f} ms, rotate {rotate_ms:.1f} ms, "
              f"ratio {rotate_ms / copy_ms:.2f} (limit {LIMIT}), peak {peak:.1f} MiB")


if __name__ == "__main__":
    main()
