"""python -m ropewalk.plot: files, messages and exit codes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ropewalk
from ropewalk.plot.__main__ import KINDS, integers, main, parser, picture

SMALL = {"scores": ["--distances", "1:100:9", "--samples", "3"], "errors": ["--positions", "1:1000:5"],
         "rotation": ["--positions", "0:5", "--pairs", "2"], "heatmap": ["--positions", "0:9"]}
STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("ending", STARTS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_writes_the_same_file_each_time(kind, ending, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a", "b"):
        out = f"{tmp_path}/{name}.{ending}"
        assert main([kind, "--preset", "llama-3.2-1b", *SMALL.get(kind, []), "-o", out]) == 0
    first, second = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("a", "b"))
    assert first == second and first.startswith(STARTS[ending])
    assert b"date>" not in first and b"CreationDate" not in first
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a.{ending}", f"b.{ending}"]


def test_sources_are_drawn_in_their_order_and_called_by_their_labels(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "config.json").write_text(
        '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}')
    spec = tmp_path / "mine.json"
    spec.write_text(ropewalk.Spec(head_dim=8).to_json())
    out = tmp_path / "x.svg"
    sources = ["--spec", '{"head_dim": 8, "base": 77}', "--preset", "gemma-3-1b", "--config",
               f"{tmp_path}/config.json", "--spec", str(spec), "--layer", "0", "--layer", "1"]
    assert main(["frequencies", *sources, "-o", str(out)]) == 0
    text = out.read_text()
    order = ["base 77<", "gemma-3-1b, layer 0<", "gemma-3-1b, layer 1<", f"{tmp_path.name}, layer 0<",
             f"{tmp_path.name}, layer 1<", "mine<"]
    places = [text.index(word) for word in order]
    assert places == sorted(places) and str(tmp_path) not in text
    assert main(["frequencies", "--preset", "phi-2", "--label", "the second", "-o", str(out)]) == 0
    assert "the second<" in out.read_text() and "phi-2" not in out.read_text()


def test_unscaled_and_length_and_given_vectors(tmp_path, random):
    pytest.importorskip("matplotlib")
    np.save(tmp_path / "q.npy", random.standard_normal((3, 96)).astype(np.float32))
    out = tmp_path / "x.svg"
    assert main(["scores", "--preset", "phi-3.5-mini", "--unscaled", "--length", "100000",
                 "--distances", "0:20", "--q", f"{tmp_path}/q.npy", "-o", str(out)]) == 0
    text = out.read_text()
    assert "phi-3.5-mini, unscaled<" in text and "q and k as given<" in text


def test_labels_are_text_and_far_positions_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "x.svg"
    sources = ["--spec", '{"head_dim": 8}', "--spec", '{"head_dim": 8, "base": 77}', "--label", "", "--label", "$x^$"]
    assert main(["rotation", *sources, "--positions", "0:9007199254740992", "-o", str(out)]) == 0
    assert "$x^$" in out.read_text() and "at tokens a marker" not in out.read_text()


@pytest.mark.parametrize("message, arguments", [
    ("arguments are required: KIND", []),
    ("invalid choice: 'pie'", ["pie", "-o", "x.svg"]),
    ("required: -o", ["frequencies", "--preset", "phi-2"]),
    ("no source", ["frequencies", "-o", "x.svg"]),
    ("does not end in .svg, .png or .pdf", ["frequencies", "--preset", "phi-2", "-o", "x.gif"]),
    ("is not between 0", ["frequencies", "--preset", "phi-2", "--layer", "-1", "-o", "x.svg"]),
    ("'a' is not an integer", ["frequencies", "--preset", "phi-2", "--length", "a", "-o", "x.svg"]),
    ("--layer is of presets", ["frequencies", "--spec", "{}", "--layer", "1", "-o", "x.svg"]),
    ("2 times --label for 1 sources",
     ["frequencies", "--preset", "phi-2", "--label", "a", "--label", "b", "-o", "x.svg"]),
    ("heatmap draws one source, 2", ["heatmap", "--preset", "phi-2", "--preset", "phi-4", "-o", "x.svg"]),
    ("unrecognized arguments: --distances",
     ["errors", "--preset", "phi-2", "--distances", "1:2", "-o", "x.svg"]),
    ("FIRST is not below LAST", ["scores", "--preset", "phi-2", "--distances", "5:5", "-o", "x.svg"]),
    ("is not FIRST:LAST", ["scores", "--preset", "phi-2", "--distances", "5", "-o", "x.svg"]),
    ("is not between 2", ["scores", "--preset", "phi-2", "--distances", "1:5:1", "-o", "x.svg"]),
    ("begin at 1", ["errors", "--preset", "phi-2", "--positions", "0:5", "-o", "x.svg"]),
    ("--k is given without --q", ["scores", "--preset", "phi-2", "--k", "x.npy", "-o", "x.svg"]),
])
def test_wrong_usage_is_one_line_and_2(message, arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    said = capsys.readouterr()
    assert exit.value.code == 2 and message in said.err and said.err.count("\n") == 1 and said.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("message, arguments", [
    ("is not known", ["frequencies", "--preset", "phi-99"]),
    ("No such file or directory: 'nothing.json'", ["frequencies", "--config", "nothing.json"]),
    ("nothing.json", ["frequencies", "--spec", "nothing.json"]),
    ("head_dim", ["frequencies", "--spec", "{}"]),
    ("not JSON", ["frequencies", "--spec", "{"]),
    ("layer 99 is not between 0 and 31", ["frequencies", "--preset", "phi-2", "--layer", "99"]),
    ("does not rotate", ["frequencies", "--preset", "llama-4-scout", "--layer", "3"]),
    ("pairs is 9, want 1 to 4", ["rotation", "--spec", '{"head_dim": 8}', "--pairs", "9"]),
    ("text.npy: not a .npy of real numbers", ["scores", "--preset", "phi-2", "--q", "text.npy"]),
    ("complex.npy: not a .npy of real numbers", ["scores", "--spec", '{"head_dim": 4}', "--q", "complex.npy"]),
    ("huge.npy: has no elements, or one", ["scores", "--spec", '{"head_dim": 4}', "--q", "huge.npy"]),
    ("empty.npy: has no elements, or one", ["scores", "--spec", '{"head_dim": 4}', "--q", "empty.npy"]),
    ("no pair turns", ["errors", "--spec", '{"head_dim": 4, "frequencies": [0, 0]}']),
    ("q has shape [1, 3]", ["scores", "--preset", "phi-2", "--q", "three.npy"]),
    ("there is no folder", ["frequencies", "--preset", "phi-2", "-o", "nowhere/x.svg"]),
])
def test_bad_input_is_one_line_and_1(message, arguments, capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("text.npy").write_text("text")
    for name, vectors in (("three", np.ones(3)), ("complex", np.ones(4, complex)), ("huge", np.full(4, 1e308)),
                          ("empty", np.ones((0, 4)))):
        np.save(f"{name}.npy", vectors)
    files = len(list(tmp_path.iterdir())) + 1
    Path("x.svg").write_text("before")
    assert main(arguments if "-o" in arguments else [*arguments, "-o", "x.svg"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("ropewalk.plot: ") and message in said.err and said.err.count("\n") == 1
    assert Path("x.svg").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == files


def test_without_matplotlib_it_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["frequencies", "--preset", "phi-2", "-o", f"{tmp_path}/x.svg"]) == 1
    assert "pip install matplotlib" in capsys.readouterr().err


def test_it_runs_as_a_module():
    result = subprocess.run([sys.executable, "-m", "ropewalk.plot", "--help"], capture_output=True, text=True)
    assert result.returncode == 0 and all(kind in result.stdout for kind in KINDS)


def test_axes_keep_their_height_below_a_long_legend():
    pytest.importorskip("matplotlib")
    for presets in (["phi-2"], sorted(ropewalk.presets())[:20]):
        arguments = ["frequencies", *(word for name in presets for word in ("--preset", name)), "-o", "x.svg"]
        figure = picture(parser().parse_args(arguments))
        figure.draw_without_rendering()
        axes = figure.axes[0]
        assert axes.get_window_extent().height > 2.8 * figure.dpi
        assert axes.get_legend().get_window_extent().y1 <= figure.bbox.y1


def test_integers_of_a_range_have_both_ends_and_no_doubles():
    np.testing.assert_array_equal(integers((0, 4, None), 100, False), [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(integers((1, 1000, 4), 9, True), [1, 10, 100, 1000])
    many = integers((1, 10**9, None), 200, True)
    assert many[0] == 1 and many[-1] == 10**9 and np.all(np.diff(many) > 0) and len(many) <= 200
    assert integers((2**53 - 1, 2**53, None), 200, True).tolist() == [2**53 - 1, 2**53]


def test_the_gallery_shows_what_its_script_runs():
    script = Path(__file__).parents[2] / "scripts/write_gallery.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_the_gallery_is_refused_where_a_picture_or_a_command_differs(tmp_path):
    root = Path(__file__).parents[2]
    (tmp_path / "docs/gallery").mkdir(parents=True)
    for path in [root / "docs/gallery.md", *(root / "docs/gallery").glob("*.svg")]:
        (tmp_path / path.relative_to(root)).write_bytes(path.read_bytes())

    def check():
        return subprocess.run([sys.executable, root / "scripts/write_gallery.py", "--check", tmp_path],
                              capture_output=True, text=True)

    assert check().returncode == 0
    (tmp_path / "docs/gallery/scores.svg").unlink()
    assert check().returncode == 1 and "docs/gallery/scores.svg: no such file" in check().stdout
    (tmp_path / "docs/gallery/scores.svg").write_text("<svg/>")
    page = tmp_path / "docs/gallery.md"
    page.write_text(page.read_text().replace("--distances 0:256", "--distances 0:255"))
    assert check().returncode == 1 and "docs/gallery.md: not what" in check().stdout
