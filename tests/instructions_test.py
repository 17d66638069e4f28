#!/usr/bin/env python3
"""instructions.py on made-up counts: that it can fail, and where it must not."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import instructions  # noqa: E402

DUMP = """version: 1
creator: callgrind-3.19.0
pid: 12
cmd:  program
part: 3


desc: I1 cache:
desc: Trigger: Client Request: decode f32 halves fresh

positions: line
events: Ir
summary: 2345

fn=(0) main
1 2345
totals: 2345
"""


class Instructions(unittest.TestCase):
    def test_a_dump_has_a_name_and_a_count(self):
        self.assertEqual(instructions.count_of(DUMP), ("decode f32 halves fresh", 2345))

    def test_the_dump_at_the_end_of_the_program_is_no_call(self):
        self.assertIsNone(instructions.count_of(DUMP.replace("Client Request: decode f32 halves fresh",
                                                             "Program termination")))

    def test_within_a_tenth_more_and_a_little_less_nothing_is_said(self):
        for count in (860, 1000, 1099):
            self.assertEqual(instructions.problems({"a": 1000}, {"a": count}), [], count)

    def test_more_is_refused(self):
        self.assertEqual(instructions.problems({"a": 1000, "b": 10}, {"a": 1200, "b": 10}),
                         ["a: 1200 instructions, 20% more than 1000"])

    def test_much_less_is_to_be_recorded(self):
        found = instructions.problems({"a": 1000}, {"a": 700})
        self.assertEqual(len(found), 1)
        self.assertIn("30% fewer than 1000", found[0])
        self.assertIn("make instructions", found[0])

    def test_other_calls_than_those_recorded_are_refused(self):
        self.assertEqual(instructions.problems({"a": 1}, {"b": 1}),
                         ["b: is not in instructions.json", "a: was recorded and is no call any more"])


if __name__ == "__main__":
    unittest.main()
