#!/usr/bin/env python3
"""write_docs.py on made-up documents: that it can fail, and what it writes."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import write_docs  # noqa: E402

MEASURED = {
    "pair a": ("close", "-1.7450"),
    "machine": ("free", "a CPU"),
    "no such target": ("factor", ""),
    "errors | 1 000 | ours": ("factor", "1.2e-7"),
    "errors | 1 000 | theirs": ("close", "5.8e-5"),
    "errors | 1 000 | size": ("exact", "500 KiB"),
}
TABLE = """<!-- table: errors | ours | - | theirs | size -->
| position | ours | note | theirs | size |
|---:|---:|---|---:|---:|
| 1 000 | {} | kept | {} | {} |
"""


def document(text):
    return write_docs.Document("docs/a.md", text, MEASURED)


class WriteDocs(unittest.TestCase):
    def assert_refused(self, text, line, words):
        problems = document(text).problems
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(f"docs/a.md:{line}: "), problems)
        self.assertIn(words, problems[0])

    def test_figures_that_hold_pass(self):
        for text in (TABLE.format("1.2e-7", "5.8e-5", "500 KiB"), TABLE.format("2.3e-7", "6.0e-5", "500 KiB"),
                     "A <!-- figure: pair a -->-1.7450<!-- end -->.\n",
                     "On <!-- figure: machine -->another<!-- end -->.\n",
                     "A <!-- figure: no such target -->2.0<!-- end -->.\n"):
            self.assertEqual(document(text).problems, [], text)

    def test_figures_that_do_not_hold_are_refused(self):
        self.assert_refused(TABLE.format("2.5e-7", "5.8e-5", "500 KiB"), 4, "ours")
        self.assert_refused(TABLE.format("0.5e-7", "5.8e-5", "500 KiB"), 4, "ours")
        self.assert_refused(TABLE.format("1.2e-7", "6.5e-5", "500 KiB"), 4, "theirs")
        self.assert_refused(TABLE.format("1.2e-7", "5.8e-5", "501 KiB"), 4, "size")
        self.assert_refused(TABLE.format("1.2e-7", "none", "500 KiB"), 4, "theirs")
        self.assert_refused("\nA <!-- figure: pair a -->1.7450<!-- end -->.\n", 2, "pair a")

    def test_figures_that_nothing_measures_are_refused(self):
        self.assert_refused("A <!-- figure: pair c -->1<!-- end -->.\n", 1, "nothing measures")
        self.assert_refused(TABLE.format("1.2e-7", "5.8e-5", "500 KiB").replace("1 000", "1 001").replace(
            "- | theirs | size -->", "- | - | - -->"), 4, "nothing measures")

    def test_a_row_that_has_other_cells_than_the_table_is_refused(self):
        self.assert_refused(TABLE.format("1.2e-7", "5.8e-5", "500 KiB | more"), 4, "cells")

    def test_figures_are_replaced_and_nothing_else(self):
        text = "| a | <!-- figure: pair a -->?<!-- end --> | b |\n" + TABLE.format("?", "?", "?") + "\nOn.\n"
        want = "| a | <!-- figure: pair a -->-1.7450<!-- end --> | b |\n" + TABLE.format(
            "1.2e-7", "5.8e-5", "500 KiB") + "\nOn.\n"
        self.assertEqual("\n".join(document(text).lines), want)
        kept = "A <!-- figure: no such target -->2.0<!-- end -->.\n"
        self.assertEqual("\n".join(document(kept).lines), kept)


if __name__ == "__main__":
    unittest.main()
