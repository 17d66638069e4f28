"""What the documents show of Python, run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def printed(name):
    return subprocess.run([sys.executable, ROOT / "examples" / name], capture_output=True, text=True, check=True).stdout


def test_a_first_rotation_is_that_of_the_other_languages():
    assert printed("first_rotation.py") == "q[0] = 1.28675\n"  # cos(1000000) - sin(1000000)


def test_positions_of_images_are_those_of_the_page():
    page = (ROOT / "docs/axes.md").read_text()
    assert f"```text\n{printed('image_positions.py')}```" in page


def test_the_tutorial_prints_what_its_page_says():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    page = (ROOT / "docs/tutorial.md").read_text()
    blocks = page.split("```text\n")[1:]
    assert printed("tutorial.py") == "".join(block.partition("```")[0] for block in blocks)
