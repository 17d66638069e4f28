#!/usr/bin/env python3
"""`ropewalk rotate` from outside: bad input, full disks, kills. Run like cli.py."""

import os
import resource
import signal
import struct
import subprocess
import time
import unittest

from cli import CLI, Files, default_signals, npy_header


class BadInput(Files):
    COMMAND = ["rotate", "--head-dim", "4", "--in", "x.npy"]

    def refuse_x(self, contents, *words):
        self.put("x.npy", contents)
        for arguments in (["--out", "y.npy"], ["--in-place"]):
            self.refuse(1, ["x.npy: ", *words], *self.COMMAND, *arguments)
        self.put_tensor("q.npy", (1, 2, 1, 4))
        self.refuse(1, ["x.npy: ", *words], "rotate", "--head-dim", "4", "--q", "q.npy", "--k",
                    "x.npy", "--in-place")

    def test_bad_files_are_refused(self):
        shape = (1, 2, 1, 4)
        data = bytes(32)
        self.refuse_x(b"", "is no .npy file")
        self.refuse_x(b"PK\x03\x04" + bytes(100), "is no .npy file")
        self.refuse_x(npy_header(shape)[:50], "is cut off inside its header")
        self.refuse_x(npy_header(shape) + data[:-1], "is cut off", "wants 32 bytes", "there are 31")
        self.refuse_x(npy_header(shape), "is cut off", "wants 32 bytes", "there are 0")
        self.refuse_x(npy_header(shape) + data + b"!", "goes on after its array", "are 33")
        self.refuse_x(npy_header(shape, fortran="True") + data, "numpy.ascontiguousarray")
        self.refuse_x(npy_header(shape, "<i4") + data, "has dtype <i4", "want <f4 or <f2 or <f8")
        self.refuse_x(npy_header(shape, "<V2") + data[:16], "has dtype <V2", ".safetensors has")
        self.refuse_x(npy_header(shape, ">f4") + data, "big-endian", 'x.astype("<f4")')
        self.refuse_x(npy_header(shape, "|O") + data, "Python objects")
        self.refuse_x(npy_header(shape).replace(b"{", b"[") + data, "its header is damaged")
        self.refuse_x(npy_header((2 ** 62 + 2, 1, 1, 4)) + data, "more than a file can hold")
        self.refuse_x(npy_header((2 ** 40, 1, 1, 4)) + data, "is cut off")
        self.refuse_x(npy_header((10 ** 30, 1, 1, 4)) + data, "no size of an array")
        self.refuse_x(npy_header((-1, -2, 1, 4)) + data, "no size of an array")

    def test_shapes_that_do_not_fit_are_refused(self):
        self.refuse_x(npy_header((2, 1, 4)) + bytes(32), "layout bthd wants 4 dimensions")
        self.refuse_x(npy_header(()) + bytes(4), "layout bthd wants 4 dimensions")
        self.refuse_x(npy_header((1, 2, 1, 8)) + bytes(64), "head_dim 8", "the rope has head_dim 4")
        self.put_tensor("x.npy", (1, 2, 1, 4))
        self.refuse(1, "layout htd wants 3 dimensions", *self.COMMAND, "--out", "y.npy",
                    "--layout", "htd")

    def test_inputs_that_are_no_files_are_refused(self):
        self.refuse(1, "x.npy: cannot be opened", *self.COMMAND, "--out", "y.npy")
        os.mkdir(self.path("x.npy"))
        self.refuse(1, "x.npy: is a directory", *self.COMMAND, "--out", "y.npy")
        os.rmdir(self.path("x.npy"))
        os.mkfifo(self.path("x.npy"))
        result = self.run_cli(*self.COMMAND, "--out", "y.npy")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no regular file", result.stderr)

    def test_outputs_that_cannot_be_written_are_refused(self):
        self.put_tensor("x.npy", (1, 2, 1, 4))
        self.put("file", b"")
        os.mkdir(self.path("directory.npy"))
        os.symlink("/dev/full", self.path("device.npy"))
        for words, path in [("none/y.npy: ", "none/y.npy"), ("file is no directory", "file/y.npy"),
                            ("is a directory", "directory.npy"), ("no regular file", "device.npy")]:
            self.refuse(1, words, *self.COMMAND, "--out", path)
            # The other output, which could be written, must not appear either.
            self.refuse(1, words, "rotate", "--head-dim", "4", "--q", "x.npy", "--k", "x.npy",
                        "--out-q", "y.npy", "--out-k", path)

    def test_a_full_disk_is_an_error_that_leaves_nothing(self):
        self.put_tensor("x.npy", (1, 2, 1, 4))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (140, 140))
        for arguments in (["--out", "y.npy"], ["--in-place"]):
            self.refuse(1, ["x.npy" if "--in-place" in arguments else "y.npy", "make room"],
                        *self.COMMAND, *arguments, preexec_fn=limit)

    def test_a_name_with_a_line_break_stays_on_its_line(self):
        self.refuse(1, "a b.npy", "rotate", "--head-dim", "4", "--in", "a\nb.npy", "--out", "y.npy")


class Killed(Files):
    """A run that is stopped in its middle leaves the old file whole."""

    def setUp(self):
        super().setUp()
        row = struct.pack("<128f", *(i / 64 - 1 for i in range(128)))
        with open(self.path("x.npy"), "wb") as file:
            file.write(npy_header((1, 8192, 32, 128)))
            for _ in range(8192):
                file.write(row * 32)
        self.command = [CLI, "rotate", "--head-dim", "128", "--in", "x.npy"]
        subprocess.run([*self.command, "--out", "y.npy"], cwd=self.directory, check=True)
        self.original = self.get("x.npy")

    def stop_in_the_middle(self, number, preexec_fn=default_signals):
        """Sends the signal while the temporary file is there; the names beside x and y, then."""
        process = subprocess.Popen([*self.command, "--in-place"], cwd=self.directory,
                                   preexec_fn=preexec_fn)
        while process.poll() is None and len(os.listdir(self.directory)) == 2:
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        process.wait(timeout=120)
        rest = set(os.listdir(self.directory)) - {"x.npy", "y.npy"}
        if process.returncode == 0:
            self.assertEqual(self.get("x.npy"), self.get("y.npy"))
            self.put("x.npy", self.original)
        else:
            self.assertEqual(process.returncode, -number)
            self.assertEqual(self.get("x.npy"), self.original)
        return process.returncode, rest

    def test_killed_by_a_signal_that_asks(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            codes = []
            for _ in range(3):
                code, rest = self.stop_in_the_middle(number)
                self.assertEqual(rest, set())
                codes.append(code)
            self.assertIn(-number, codes, "it was never met in its middle")

    def test_killed_by_a_signal_that_does_not_ask(self):
        code, rest = self.stop_in_the_middle(signal.SIGKILL)
        if code != 0:
            self.assertEqual(len(rest), 1)
            self.assertRegex(rest.pop(), r"\A\.ropewalk-.*\.tmp\Z")

    def test_a_signal_that_is_ignored_stays_ignored(self):
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        code, rest = self.stop_in_the_middle(signal.SIGHUP, preexec_fn=ignore)
        self.assertEqual((code, rest), (0, set()))


if __name__ == "__main__":
    unittest.main()
