#!/usr/bin/env python3
"""check_docs.py on made-up documents: that it can fail, and where it must not."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import check_docs  # noqa: E402

TREE = {
    "Makefile": "test: build\n\tctest\n",
    "examples/first.cpp": "int main() {}\n",
    "scripts/demo": "set -e\n  # [rotate]\n  rotate \\\n    x\n  # [/rotate]\n",
}


def problems(document):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name, text in {**TREE, "README.md": document}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_docs.check_document(root, root / "README.md")[0]


class CheckDocs(unittest.TestCase):
    def assert_refused(self, document, line, words):
        found = problems(document)
        self.assertEqual([number for number, _ in found], [line], found)
        self.assertIn(words, found[0][1])

    def test_a_block_that_is_its_file_passes(self):
        self.assertEqual(problems("<!-- file: examples/first.cpp -->\n```cpp\nint main() {}\n```\n"), [])

    def test_a_block_that_is_its_region_passes(self):
        self.assertEqual(
            problems("<!-- file: scripts/demo [rotate] -->\n```bash\nrotate \\\n  x\n```\n"), [])

    def test_targets_of_make_pass(self):
        self.assertEqual(problems("<!-- targets: Makefile -->\n```bash\nmake test  # all\n```\n"), [])

    def test_output_needs_no_file(self):
        self.assertEqual(problems("```text\nanything\n```\n"), [])

    def test_a_block_that_differs_is_refused(self):
        self.assert_refused("\n<!-- file: examples/first.cpp -->\n```cpp\nint main();\n```\n", 3, "differs")
        self.assert_refused("<!-- file: scripts/demo [rotate] -->\n```bash\nrotate y\n```\n", 2, "differs")

    def test_a_block_that_nothing_tests_is_refused(self):
        self.assert_refused("Text.\n```cpp\nint x;\n```\n", 2, "no test runs")
        self.assert_refused("<!-- file: examples/first.cpp -->\n\n```cpp\nint main() {}\n```\n", 3,
                            "no test runs")
        self.assert_refused("```\nls\n```\n", 1, "no test runs")

    def test_what_is_not_there_is_refused(self):
        self.assert_refused("<!-- file: examples/second.cpp -->\n```cpp\n```\n", 2, "no such file")
        self.assert_refused("<!-- file: scripts/demo [check] -->\n```bash\n```\n", 2, "no lines between")
        self.assert_refused("<!-- targets: Makefile -->\n```bash\nmake tea\n```\n", 2, "no target")
        self.assert_refused("See [this](docs/nothing.md#there).\n", 1, "not there")

    def test_links_to_files_and_elsewhere_pass(self):
        self.assertEqual(problems("[a](Makefile), [b](#words), [c](https://example.org/x)\n"), [])

    def test_a_block_that_does_not_end_is_refused(self):
        self.assert_refused("```text\nx\n", 1, "does not end")


if __name__ == "__main__":
    unittest.main()
