#!/usr/bin/env python3
"""The progress bar of `ropewalk rotate`: when there is one and what it leaves. Run like cli.py."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import unittest

from cli import CLI, Files, npy_header

BAR = re.compile(r"\rrotate +\d+% \[#* *\] \d+\.\d of \d+\.\d GB")


class Progress(Files):
    def setUp(self):
        super().setUp()
        with open(self.path("x.npy"), "wb") as file:
            file.write(npy_header((1, 16384, 32, 128)))
            self.size = file.tell() + 16384 * 32 * 128 * 4
            file.truncate(self.size)
        self.names = set(os.listdir(self.directory))

    def run_slowly(self, pause, stderr, *arguments, number=None, term="xterm", meanwhile=None):
        """Stops the tool in its middle for that long, so that the clock runs and the work does not.
        Its exit code."""
        environment = {**os.environ, "TERM": term}
        command = [CLI, "rotate", "--head-dim", "128", "--in", "x.npy", *arguments]
        process = subprocess.Popen(command, cwd=self.directory, stderr=stderr, env=environment)
        while process.poll() is None and not set(os.listdir(self.directory)) - self.names:
            time.sleep(0.0005)
        process.send_signal(signal.SIGSTOP)
        time.sleep(pause)
        if meanwhile is not None:
            meanwhile()
        process.send_signal(signal.SIGCONT)
        if number is not None:
            time.sleep(0.03)
            process.send_signal(number)
        return process.wait(timeout=120)

    def on_terminal(self, pause, *arguments, columns=80, attempts=5, **options):
        """What a terminal is sent, and the exit code. Again if the tool was done, or nearly, before
        it could be stopped: whoever expects a bar waits for one."""
        for _ in range(attempts):
            os.truncate(self.path("x.npy"), self.size)
            main, terminal = pty.openpty()
            try:
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
                code = self.run_slowly(pause, terminal, *arguments, **options)
                os.set_blocking(main, False)
                try:
                    text = os.read(main, 1 << 16).decode()
                except BlockingIOError:
                    text = ""
            finally:
                os.close(main)
                os.close(terminal)
            if "\rrotate" in text:
                break
        return text, code

    def test_a_long_work_shows_one_line_and_erases_it(self):
        text, code = self.on_terminal(1.1, "--in-place")
        self.assertEqual(code, 0)
        self.assertRegex(text, BAR)
        self.assertTrue(text.endswith("\r\x1b[K"), repr(text))
        self.assertNotIn("\n", text)
        bars = text[:-len("\r\x1b[K")]
        self.assertEqual(BAR.sub("", bars), "", repr(text))
        self.assertLess(max(map(len, bars.split("\r"))), 80)

    def test_a_narrow_terminal_has_the_number_alone(self):
        text, code = self.on_terminal(1.1, "--in-place", columns=40)
        self.assertEqual(code, 0)
        self.assertRegex(text, r"\A(\rrotate +\d+%)+\r\x1b\[K\Z")

    def test_a_short_work_shows_nothing(self):
        header = npy_header((1, 1, 1, 128))
        self.size = len(header) + 128 * 4
        self.put("x.npy", header + bytes(128 * 4))
        # Again if the machine took a second for 512 bytes, which says nothing of the tool.
        results = (self.on_terminal(0, "--in-place", attempts=1) for _ in range(5))
        self.assertIn(("", 0), results)

    def test_what_is_no_terminal_gets_nothing(self):
        self.assertEqual(self.on_terminal(1.1, "--in-place", attempts=1, term="dumb"), ("", 0))
        with open(self.path("log"), "w+b") as log:
            self.names.add("log")
            self.assertEqual(self.run_slowly(1.1, log, "--out", "y.npy"), 0)
            self.assertEqual(log.seek(0, os.SEEK_END), 0)

    def test_a_signal_erases_the_line(self):
        for _ in range(10):
            text, code = self.on_terminal(1.1, "--in-place", number=signal.SIGINT)
            if code == -signal.SIGINT and "\rrotate" in text:
                break
        self.assertEqual(code, -signal.SIGINT)
        self.assertTrue(text.endswith("\r\x1b[K"), repr(text))
        self.assertEqual(set(os.listdir(self.directory)), self.names)

    def test_an_error_has_the_line_for_itself(self):
        text, code = self.on_terminal(
            1.1, "--in-place",
            meanwhile=lambda: os.truncate(self.path("x.npy"), self.size - 10000))
        self.assertEqual(code, 1)
        self.assertRegex(text, BAR)
        self.assertRegex(text, r"\r\x1b\[Kropewalk: x\.npy: ends at byte [^\n]*\r\n\Z")
        self.assertEqual(set(os.listdir(self.directory)), self.names)


if __name__ == "__main__":
    unittest.main()
