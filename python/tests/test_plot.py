"""ropewalk.plot: the data against formulas written here, and what is drawn against the data."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import ropewalk
from ropewalk import plot

LLAMA3 = {"type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0}
PLAIN = ropewalk.Spec(head_dim=16)
SCALED = ropewalk.Spec(head_dim=16, base=500000.0, scaling=LLAMA3)


@pytest.fixture
def axes():
    """Empty axes, of a figure that no screen shows."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure
    return Figure(layout="constrained").add_subplot()


def drawn(line, x, y):
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([x, y]).astype(np.float64))


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


# The data.


def test_frequencies_and_wavelengths_are_those_of_the_paper():
    wanted = [10000.0 ** (-2 * i / 16) for i in range(8)]
    np.testing.assert_allclose(plot.frequencies(ropewalk.Rope(PLAIN)), wanted, rtol=1e-15)
    turns = plot.wavelengths(ropewalk.Rope(PLAIN))
    np.testing.assert_allclose(turns, 2 * math.pi / np.array(wanted), rtol=1e-15)


def test_a_pair_that_does_not_turn_has_no_end_of_its_wavelength():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=6, frequencies=[1.0, -0.5, 0.0]))
    np.testing.assert_allclose(plot.wavelengths(rope), [2 * math.pi, 4 * math.pi, math.inf])


def test_llama3_scales_long_wavelengths_by_the_factor_and_short_ones_not():
    scaled, plain = (plot.wavelengths(ropewalk.Rope(spec)) for spec in (
        SCALED, ropewalk.Spec(head_dim=16, base=500000.0)))
    factors = scaled / plain
    np.testing.assert_allclose(factors[plain < 8192 / 4], 1, rtol=1e-12)
    np.testing.assert_allclose(factors[plain > 8192], 8, rtol=1e-12)


def test_scores_of_ones_are_the_mean_cosine():
    distances = np.array([0, 1, 5, 77, 4096])
    wanted = [sum(math.cos(d * 10000.0 ** (-2 * i / 16)) for i in range(8)) / 8 for d in distances]
    np.testing.assert_allclose(plot.scores(ropewalk.Rope(PLAIN), distances).ones, wanted, atol=1e-12)


def test_scores_carry_the_square_of_the_attention_factor():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=16, attention_factor=1.5))
    assert plot.scores(rope, [0]).ones[0] == pytest.approx(2.25)


def test_many_random_vectors_tend_to_the_scores_of_ones_or_to_zero():
    found = plot.scores(ropewalk.Rope(PLAIN), np.arange(200), samples=20000, seed=3)
    # Of 20000 means over 16 elements of variance 1 or 2; 5 standard deviations.
    bound = 5 * math.sqrt(2 / 16 / 20000)
    assert np.max(np.abs(found.alike - found.ones)) < bound
    assert np.max(np.abs(found.independent)) < bound
    assert found.alike[0] == pytest.approx(1)
    again = plot.scores(ropewalk.Rope(PLAIN), np.arange(200), samples=20000, seed=3)
    np.testing.assert_array_equal(again.independent, found.independent)
    other = plot.scores(ropewalk.Rope(PLAIN), np.arange(200), samples=20000, seed=4)
    assert np.any(other.independent != found.independent)


@pytest.mark.parametrize("fields", [
    {"head_dim": 16}, {"head_dim": 16, "pairing": "adjacent"}, {"head_dim": 16, "clockwise": True},
    {"head_dim": 24, "rotary_dim": 8, "rotary_offset": 8}, {"head_dim": 16, "window_parts": 2},
    {"head_dim": 16, "attention_factor": 1.25}], ids=str)
def test_given_scores_are_those_of_the_rotation(fields, random):
    """q at position 100 + Δ and k at 100, rotated by the library and multiplied."""
    spec = ropewalk.Spec(**fields)
    rope, distances = ropewalk.Rope(spec), np.array([0, 1, 2, 9, 30])
    q, k = random.standard_normal((2, 3, spec.head_dim))
    offset = fields.get("rotary_offset", 0)
    window = np.s_[..., offset:offset + spec.rotary_dim]
    found = plot.scores(rope, distances, q=q, k=k).given
    lengths = np.linalg.norm(q[window], axis=1) * np.linalg.norm(k[window], axis=1)
    rotated_k = ropewalk.rotate(rope, k[None, None], 100)[0, 0][window]
    for distance, score in zip(distances, found):
        rotated_q = ropewalk.rotate(rope, q[None, None], 100 + int(distance))[0, 0][window]
        wanted = np.mean(np.sum(rotated_q * rotated_k, axis=1)) / np.mean(lengths)
        assert score == pytest.approx(wanted, abs=1e-12)
    np.testing.assert_array_equal(plot.scores(rope, distances, q=q[window], k=k[window]).given, found)
    np.testing.assert_array_equal(plot.scores(rope, distances, q=q).given,
                                  plot.scores(rope, distances, q=q, k=q).given)


def test_scores_refuse_vectors_that_do_not_fit():
    rope = ropewalk.Rope(PLAIN)
    for message, arguments in (
            ("k is given without q", {"k": np.ones(16)}), ("q has shape", {"q": np.ones(15)}),
            ("not finite", {"q": np.full(16, np.nan)}), ("zero", {"q": np.zeros(16)}),
            ("as many", {"q": np.ones((2, 16)), "k": np.ones(16)}), ("samples", {"samples": 0})):
        with pytest.raises(ValueError, match=message):
            plot.scores(rope, [1], **arguments)


@pytest.mark.parametrize("direction", [1, -1])
def test_rotation_is_where_the_library_takes_the_first_unit_vector(direction):
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=16, clockwise=direction < 0))
    positions = np.array([0.0, 1.0, 2.5, 40.0])
    found = plot.rotation(rope, positions, pairs=3)
    x = np.zeros((1, 4, 1, 16))
    x[..., :8] = 1
    y = ropewalk.rotate(rope, x, positions)[0, :, 0]
    np.testing.assert_allclose(found.cos, y[:, :3], atol=1e-14)
    np.testing.assert_allclose(found.sin, y[:, 8:11], atol=1e-14)
    assert found.sin[1, 0] == pytest.approx(direction * math.sin(1))
    with pytest.raises(ValueError, match="pairs is 9, want 1 to 8"):
        plot.rotation(rope, positions, pairs=9)


def test_heatmap_is_the_cosine_of_each_angle():
    found = plot.heatmap(ropewalk.Rope(PLAIN), [0, 3, 7])
    assert found.shape == (8, 3)
    for i in range(8):
        for column, p in enumerate((0, 3, 7)):
            assert found[i, column] == pytest.approx(math.cos(p * 10000.0 ** (-2 * i / 16)), abs=1e-12)


def pi():
    """By Machin's formula, π = 16 atan(1/5) - 4 atan(1/239), to 2^-300."""
    def atan_of_inverse(n):
        one, total, k = 1 << 320, 0, 0
        while term := one // ((2 * k + 1) * n ** (2 * k + 1)):
            total, k = total + (-term if k % 2 else term), k + 1
        return total
    return Fraction(16 * atan_of_inverse(5) - 4 * atan_of_inverse(239), 1 << 320)


def test_exact_angles_are_reduced_exactly():
    positions = [0, 1, -5, 10**6, 2**32, 2**53 - 1, -(10**15)]
    omega = np.array([1.0, 0.1, -0.75, 6.3, 1.0e-7, 2.0**-300, 0.0])
    found = plot.exact_angles(positions, omega)
    for row, p in enumerate(positions):
        for i, w in enumerate(omega):
            wanted = Fraction(p) * Fraction(float(w)) % (2 * pi())
            assert found[row, i] == pytest.approx(float(wanted), rel=2**-52, abs=1e-60)


@pytest.mark.parametrize("fields", [
    {"head_dim": 128}, {"head_dim": 64, "base": 500000.0, "scaling": LLAMA3},
    {"head_dim": 16, "clockwise": True, "attention_factor": 1.5}, {"head_dim": 16, "frequencies": [-0.3] * 8},
    {"head_dim": 16, "axes": {"sections": [4, 2, 2], "order": "blocks"}}], ids=str)
def test_errors_are_as_large_as_the_formats_make_them(fields):
    rope = ropewalk.Rope(ropewalk.Spec(**fields))
    positions = np.unique(np.geomspace(1, 2**32, 60).astype(np.int64))
    found = plot.errors(rope, positions)
    # Half an ulp of each of cos and sin is at most √2 of half an ulp of the angle, beside the library's own.
    assert np.max(found.ropewalk) < 1.2e-7
    assert np.max(found.float16_table) <= math.sqrt(2) * 2.0**-12 * 1.01
    assert np.max(found.bfloat16_table) <= math.sqrt(2) * 2.0**-9 * 1.01
    # Nor is it much less: with one bit more it would be at most √2 2^-13 and √2 2^-10.
    assert 2.0**-12 < np.max(found.float16_table) and 2.0**-9 < np.max(found.bfloat16_table)
    # ω rounded by 2^-25 of it at most, and the product and the position by 2^-24 of it.
    largest = np.max(np.abs(rope.frequencies))
    assert np.all(found.float32_angles <= positions * largest * 2.0**-24 * 3.01)
    assert np.all(np.array(found[1:]) <= math.pi)


def test_errors_of_float32_angles_are_those_of_the_rounded_product():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=2, frequencies=[0.1]))
    positions = np.array([3, 1000, 123457, 98765432])
    for p, error in zip(positions, plot.errors(rope, positions).float32_angles):
        product = Fraction(float(np.float32(p) * np.float32(0.1)))
        off = (product - int(p) * Fraction(0.1)) % (2 * pi())
        assert error == pytest.approx(float(min(off, 2 * pi() - off)), rel=1e-6)


def test_errors_refuse_what_is_no_integer_position():
    rope = ropewalk.Rope(PLAIN)
    for positions in ([0.5], [[1]], [2**62 + 2**50]):
        with pytest.raises(ValueError, match="positions are"):
            plot.errors(rope, positions)


# Sources.


def test_a_source_of_a_preset_knows_its_contexts_and_its_layers():
    source = plot.Source.of_preset("llama-3.1-8b")
    assert (source.label, source.trained_length, source.original_length) == ("llama-3.1-8b", 131072, 8192)
    assert "scaling" not in source.unscaled().spec.to_dict()
    assert source.unscaled().label == "llama-3.1-8b, unscaled"
    assert source.unscaled().unscaled() is None
    factor = ropewalk.Spec(head_dim=16, scaling={"type": "linear", "factor": 2}, attention_factor=1.5)
    assert plot.Source("x", factor).unscaled().spec == PLAIN
    layers = [plot.Source.of_preset("gemma-3-1b", layer) for layer in (0, 5)]
    assert [source.spec.base for source in layers] == [10000.0, 1000000.0]
    with pytest.raises(ValueError, match="layer 3: this layer does not rotate"):
        plot.Source.of_preset("llama-4-scout", 3)


def test_sources_of_specs_are_called_by_what_they_are(tmp_path):
    (tmp_path / "mine.json").write_text(SCALED.to_json())
    assert plot.Source.of_spec(tmp_path / "mine.json").label == "mine"
    assert plot.Source.of_spec(SCALED.to_json()).label == "base 500000, llama3, factor 8"
    assert plot.Source.of_spec(SCALED).rope.frequencies[0] == 1
    (tmp_path / "model").mkdir()
    config = tmp_path / "model" / "config.json"
    config.write_text('{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, '
                      '"num_hidden_layers": 1, "max_position_embeddings": 512}')
    source = plot.Source.of_file(config)
    assert (source.label, source.spec.head_dim, source.trained_length) == ("model", 16, 512)


# What is drawn.


def sources():
    scaled = plot.Source("scaled", SCALED, trained_length=65536)
    return [scaled, scaled.unscaled()]


def test_lines_of_frequencies_and_wavelengths_are_the_data_and_the_contexts(axes):
    scaled, unscaled = sources()
    assert plot.draw_frequencies([scaled, unscaled], axes) is axes
    lines = axes.get_lines()
    drawn(lines[0], range(8), plot.frequencies(scaled.rope))
    drawn(lines[1], range(8), plot.frequencies(unscaled.rope))
    assert [line.get_ydata()[0] for line in lines[2:]] == [2 * np.pi / 8192, 2 * np.pi / 65536]
    assert labels(axes) == ["scaled", "scaled, unscaled", "context before scaling, 8 192",
                            "trained context, 65 536"]
    assert axes.get_yscale() == "log"
    axes.clear()
    other = plot.Source("other", PLAIN, trained_length=4096)
    plot.draw_frequencies([scaled, other, unscaled], axes)
    assert labels(axes)[3:] == ["context before scaling of scaled, 8 192", "trained context of other, 4 096",
                                "trained context of scaled, 65 536"]
    axes.clear()
    lines = plot.draw_wavelengths([scaled, unscaled], axes).get_lines()
    drawn(lines[0], range(8), plot.wavelengths(scaled.rope))
    assert [line.get_ydata()[0] for line in lines[2:]] == [8192, 65536]


def test_pairs_that_do_not_turn_are_counted_and_not_drawn(axes):
    spec = ropewalk.Spec(head_dim=8, frequencies=[1.0, 0.0, -0.25, 0.0])
    plot.draw_frequencies(plot.Source("x", spec), axes)
    drawn(axes.get_lines()[0], [0, 2], [1.0, 0.25])
    assert labels(axes) == ["x (2 pairs do not turn)"]


def test_lines_of_scores_are_the_data(axes, random):
    distances, q = np.arange(1, 60), random.standard_normal(16)
    plot.draw_scores(sources(), distances, axes, samples=8, seed=5, q=q)
    lines = axes.get_lines()
    for n, source in enumerate(sources()):
        found = plot.scores(source.rope, distances, samples=8, seed=5, q=q)
        for line, name in zip(lines[4 * n:4 * n + 4], ("ones", "alike", "independent", "given")):
            drawn(line, distances, getattr(found, name))
    assert len(lines) == 8, "no context, since both are beyond the distances"
    assert axes.get_xscale() == "log"
    axes.clear()
    plot.draw_scores(sources()[0], np.arange(0, 70001, 100), axes)
    assert [line.get_xdata()[0] for line in axes.get_lines()[3:]] == [8192, 65536]
    assert axes.get_xscale() == "linear"


def test_lines_of_the_rotation_are_the_data_in_bands(axes):
    source, positions = plot.Source("x", PLAIN), np.linspace(0, 10, 41)
    plot.draw_rotation(source, positions, axes, pairs=2)
    curves, tokens = plot.rotation(source.rope, positions, 2), plot.rotation(source.rope, np.arange(11), 2)
    for pair in range(2):
        cos, sin, markers = axes.get_lines()[3 * pair:3 * pair + 3]
        drawn(cos, positions, curves.cos[:, pair] - 2.5 * pair)
        drawn(sin, positions, curves.sin[:, pair] - 2.5 * pair)
        drawn(markers, range(11), tokens.cos[:, pair] - 2.5 * pair)


def test_the_heatmap_is_the_data_and_marks_the_slow_pairs(axes):
    source = plot.Source("x", PLAIN, trained_length=1000)
    plot.draw_heatmap(source, np.arange(32), axes)
    image = axes.get_images()[0]
    np.testing.assert_array_equal(image.get_array(), plot.heatmap(source.rope, np.arange(32)))
    assert image.get_extent() == [-0.5, 31.5, 7.5, -0.5]
    # 2π 10000^(i/8) is above 1000 from i = 5 on: 628 10^(1/2) = 1987, and 628 before.
    assert {line.get_ydata()[0] for line in axes.get_lines()} == {4.5}
    assert labels(axes) == ["x: from pair 5 on, no whole turn in the trained context, 1 000"]


def test_lines_of_errors_are_the_data(axes):
    positions = np.array([10, 1000, 100000])
    plot.draw_errors(sources(), positions, axes)
    lines = axes.get_lines()
    for n, source in enumerate(sources()):
        found = plot.errors(source.rope, positions)
        for line, values in zip(lines[4 * n:4 * n + 4], found[1:]):
            drawn(line, positions, values)
    assert labels(axes)[:6] == ["ropewalk", "float32 angles", "float16 table", "bfloat16 table", "scaled",
                                "scaled, unscaled"]
    assert [line.get_xdata()[0] for line in lines[8:]] == [8192, 65536]


@pytest.mark.parametrize("draw", [plot.draw_frequencies, plot.draw_wavelengths])
def test_lines_differ_in_colour_dashes_and_marker(axes, draw):
    draw([plot.Source(str(n), PLAIN) for n in range(5)], axes)
    for look in (lambda line: line.get_color(), lambda line: str(line._dash_pattern),
                 lambda line: line.get_marker()):
        assert len({look(line) for line in axes.get_lines()}) == 5


def test_the_legend_covers_no_data_and_nothing_leaves_the_figure(axes):
    many = [plot.Source(f"a source with a long name, number {n}", SCALED, trained_length=2**n)
            for n in range(9, 15)]
    for draw in (plot.draw_frequencies, plot.draw_wavelengths):
        axes.clear()
        draw(many, axes)
        axes.figure.draw_without_rendering()
        legend, whole = axes.get_legend().get_window_extent(), axes.figure.bbox
        assert legend.y0 >= axes.get_window_extent().y1
        assert whole.x0 <= legend.x0 and legend.x1 <= whole.x1 and legend.y1 <= whole.y1


def test_nothing_to_draw_is_an_error(axes):
    with pytest.raises(ValueError, match="sources is empty"):
        plot.draw_frequencies([], axes)


def test_matplotlib_is_imported_only_when_drawing(monkeypatch):
    program = "import sys, ropewalk.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        plot.draw_frequencies(plot.Source("x", PLAIN))
