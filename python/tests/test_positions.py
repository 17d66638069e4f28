"""Positions of images, videos and prompts, against NumPy's own indices and against transformers."""

import numpy as np
import pytest

import ropewalk


def test_a_grid_is_numbered_row_by_row():
    rows, columns = np.indices((3, 5)).reshape(2, 1, 15)
    np.testing.assert_array_equal(ropewalk.image_positions(ropewalk.Grid(3, 5)), [rows, columns])
    grid = ropewalk.Grid(3, 5, first_row=1, first_column=2, origin_before=1, origin_after=2)
    shifted = ropewalk.image_positions(grid)
    np.testing.assert_array_equal(shifted[:, :, 1:-2], [rows + 1, columns + 2])
    assert not shifted[:, :, [0, -1, -2]].any()
    frames = ropewalk.video_positions(ropewalk.Grid(3, 5, frames=2, first_frame=7))
    np.testing.assert_array_equal(frames, np.indices((2, 3, 5)).reshape(3, 1, 30) + [[[7]], [[0]], [[0]]])


def test_merged_blocks_go_one_after_another():
    rows, columns = np.indices((4, 6)).reshape(2, 2, 2, 3, 2).transpose(0, 1, 3, 2, 4).reshape(2, 1, 24)
    grid = ropewalk.Grid(4, 6, merge=2)
    np.testing.assert_array_equal(ropewalk.image_positions(grid), [rows, columns])
    both = ropewalk.image_positions([grid, ropewalk.Grid(2, 2)])
    np.testing.assert_array_equal(both[:, :, :24], [rows, columns])
    np.testing.assert_array_equal(both[:, 0, 24:], [[0, 0, 1, 1], [0, 1, 0, 1]])


def test_real_positions_of_patches():
    grid = ropewalk.Grid(2, 4)
    rows, columns = np.indices((2, 4)).reshape(2, 1, 8)
    np.testing.assert_allclose(ropewalk.centred_positions(grid), [rows - 0.5, (2 * columns + 1) / 4 - 1])
    np.testing.assert_allclose(ropewalk.centred_positions(grid, "larger"), [(2 * rows + 1) / 4 - 1,
                                                                            (2 * columns + 1) / 4 - 1])
    np.testing.assert_allclose(ropewalk.spanned_positions(grid), [2 * rows - 1, 2 * columns / 3 - 1])
    np.testing.assert_allclose(ropewalk.stepped_image_positions(grid, row=0.5, column=2, column_offset=1),
                               [rows * 0.5, (columns + 1) * 2])
    np.testing.assert_allclose(ropewalk.stepped_video_positions(ropewalk.Grid(1, 1, frames=3), frame=0.8)[0, 0],
                               [0, 0.8, 1.6])


def test_generators_put_the_text_beside_the_image():
    np.testing.assert_array_equal(ropewalk.flux_positions(2, 1, 2)[:, 0], [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(ropewalk.flux2_positions(2, 1, 2)[:, 0],
                                  [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]])
    made = ropewalk.qwen_image_positions(2, 1, 3, 2)[:, 0]
    image = [(0, r, c) for r in (-2, -1, 0) for c in (-1, 0)]
    assert sorted(zip(*made.tolist())) == sorted([(1, 1, 1), (2, 2, 2), *image])


@pytest.mark.parametrize("form, order", [("qwen_vision", [0] * 20 + [1] * 20), ("step_vision", [1] * 20 + [0] * 20),
                                         ("moonvit", [1, 0] * 20)])
def test_a_grid_turns_a_vision_tower(form, order, random):
    spec = ropewalk.vision_spec(form, head_dim=80)
    frequencies = 10000.0 ** -(np.arange(20) / 20)
    each = np.tile(frequencies, 2) if form != "moonvit" else np.repeat(frequencies, 2)
    rope = ropewalk.Rope(spec)
    assert rope.axes == 2 and form in ropewalk.vision_forms()
    np.testing.assert_allclose(rope.frequencies, each, rtol=1e-15)
    positions = ropewalk.image_positions(ropewalk.Grid(3, 4))
    x = random.standard_normal((1, 12, 2, 80))
    turns = positions[order, 0].T * each  # [tokens, pairs]
    cos, sin = np.cos(turns)[:, None], np.sin(turns)[:, None]
    a, b = (x[..., :40], x[..., 40:]) if spec.pairing == "halves" else (x[..., 0::2], x[..., 1::2])
    wanted = [a * cos - b * sin, b * cos + a * sin]
    wanted = np.concatenate(wanted, -1) if spec.pairing == "halves" else np.stack(wanted, -1).reshape(x.shape)
    np.testing.assert_allclose(ropewalk.rotate(rope, x, positions), wanted, atol=1e-13)


def test_forms_with_fields_of_their_own():
    spec = ropewalk.axial_spec(head_dim=16, widths=[4, 8], bases=[100.0])
    np.testing.assert_allclose(spec.frequencies, [1, 100**-0.5, 1, 100**-0.25, 100**-0.5, 100**-0.75], rtol=1e-15)
    assert spec.axis_of_pair == [0, 0, 1, 1, 1, 1] and spec.pairing == "adjacent"
    periods = 100.0 ** (np.arange(4) / 4)
    np.testing.assert_allclose(ropewalk.dinov3_spec(head_dim=16).frequencies, np.tile(2 * np.pi / periods, 2),
                               rtol=1e-15)
    np.testing.assert_allclose(ropewalk.pixel_spec(head_dim=16, max_frequency=10, linear=True).frequencies,
                               np.tile(np.pi * np.linspace(1, 5, 4), 2), rtol=1e-15)
    scaled = 10000.0 * 2 ** (16 / (16 - 2))
    cosmos = ropewalk.cosmos_spec(head_dim=40)
    np.testing.assert_allclose(cosmos.frequencies[:8], scaled ** -(np.arange(8) / 8), rtol=1e-14)
    np.testing.assert_allclose(cosmos.frequencies[8:14], 10000.0 ** -(np.arange(6) / 6), rtol=1e-14)
    assert len(cosmos.frequencies) == 8 + 6 + 6
    with pytest.raises(NotImplementedError, match="mochi"):
        ropewalk.vision_spec("mochi", head_dim=8)
    with pytest.raises(ValueError, match="pairing is 'x', want one of 'halves', 'adjacent'"):
        ropewalk.vision_spec("flux", head_dim=128, pairing="x")
    with pytest.raises(ValueError, match="by is 'y'"):
        ropewalk.centred_positions(ropewalk.Grid(2, 2), "y")
    with pytest.raises(ValueError, match="merge"):
        ropewalk.image_positions(ropewalk.Grid(3, 4, merge=2))


def test_prompts_are_numbered_as_transformers_does():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.Qwen2VLConfig(
        text_config={"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                     "num_key_value_heads": 1, "vocab_size": 64},
        vision_config={"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2}, image_token_id=60,
        video_token_id=61, vision_start_token_id=62, vision_end_token_id=63)
    model = transformers.Qwen2VLModel(config)
    # Text, an image of 4 x 6 patches between its marks, text; and a shorter prompt, filled up on the left.
    first = [1, 2, 62] + [60] * 6 + [63, 3, 4]
    second = [5, 6, 7]
    ids = torch.tensor([first, [0] * (len(first) - 3) + second])
    mask = torch.tensor([[1] * len(first), [0] * (len(first) - 3) + [1] * 3])
    wanted, deltas = model.get_rope_index(ids, mm_token_type_ids=(ids == 60).int(),
                                          image_grid_thw=torch.tensor([[1, 4, 6]]), attention_mask=mask)
    run = ropewalk.Run
    made = ropewalk.token_positions([[run.text(3), run.image(4, 6), run.text(3)], [run.text(3)]],
                                    ropewalk.sequence_rules("qwen2_vl"), padding="left")
    kept = mask.bool().numpy()
    np.testing.assert_array_equal(made.ids[:, kept], wanted.numpy()[:, kept])
    assert not made.ids[:, ~kept].any()
    np.testing.assert_array_equal(made.lengths, [12, 3])
    np.testing.assert_array_equal(made.next, [9, 3])
    np.testing.assert_array_equal(made.deltas, [-3, 0])
    np.testing.assert_array_equal(made.deltas, deltas[:, 0].numpy())


def test_rules_of_sequences():
    run, rules = ropewalk.Run, ropewalk.SequenceRules(tokens_per_second=2.0)
    video = ropewalk.token_positions([[run.text(1), run.video(3, 2, 2, 0.5), run.text(1)]], rules)
    np.testing.assert_array_equal(video.ids[:, 0], [[0, 1, 2, 3, 4], [0, 1, 1, 1, 4], [0, 1, 1, 1, 4]])
    later = ropewalk.token_positions([[run.text(2)]], rules, starts=[10])
    np.testing.assert_array_equal(later.ids[0, 0], [10, 11])
    assert ropewalk.sequence_rules("qwen2_5_vl").tokens_per_second == 2 and rules.next == "largest"
    assert ropewalk.SequenceRules(next="longer_side").next == "longer_side"
    hunyuan = ropewalk.hunyuan_token_positions([[run.text(2), run.image(4, 4), run.text(1)]])
    np.testing.assert_array_equal(hunyuan.ids[:, 0], [list(range(9)), [0, 1, 0, 1, 2, 0, 1, 2, 8],
                                                      [0, 1, 0, 0, 0, 1, 1, 1, 8], [0, 1, 0, 0, 0, 0, 0, 0, 8]])
    with pytest.raises(ValueError, match="qwen2_vl"):
        ropewalk.sequence_rules("llama")
    with pytest.raises(ValueError, match="rows"):
        ropewalk.token_positions([[run.image(3, 4)]], rules)
    with pytest.raises(ValueError, match="padding is 'up'"):
        ropewalk.token_positions([[run.text(1)]], rules, padding="up")
    with pytest.raises(ValueError, match="next is 'x'"):
        ropewalk.SequenceRules(next="x")


def test_angles_of_queries_scaled_by_position_and_xpos():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=8))
    turns = np.arange(3)[:, None] * rope.frequencies
    angles = ropewalk.Angles(rope, [0, 1, 2], dtype="f64", factor=2.0, token_factors=[1.0, 1.5, 3.0])
    np.testing.assert_allclose(angles.cos[0], np.cos(turns) * [[2], [3], [6]], rtol=1e-13, atol=1e-14)
    cos, sin = angles.read_duplicated()
    np.testing.assert_array_equal(cos, np.concatenate([angles.cos] * 2, -1))
    np.testing.assert_array_equal(angles.read_complex(), angles.cos + 1j * angles.sin)
    np.testing.assert_array_equal(sin[..., :4], angles.read_compact()[1])
    zeta = (2 * np.arange(4) + 0.4 * 8) / (1.4 * 8)
    for role, sign in (("query", 1), ("key", -1)):
        angles = ropewalk.Angles(rope, [0, 1, 2], dtype="f64", xpos=ropewalk.XPos(role, scale_base=16.0, origin=1))
        wanted = np.cos(turns) * zeta ** (sign * (np.arange(3)[:, None] - 1) / 16)
        np.testing.assert_allclose(angles.cos[0], wanted, rtol=1e-12)
    seen = ropewalk.Angles(rope, [100000], as_seen_in="f32")
    old = (np.float32(100000) * rope.frequencies.astype(np.float32)).astype(np.float64)
    np.testing.assert_allclose(seen.cos[0, 0], np.cos(old), atol=1e-7)
    for wrong, message in ((dict(as_seen_in="f64"), "as_seen_in"), (dict(dtype="f16"), "dtype"),
                           (dict(factor=0.0), "factor"), (dict(token_factors=[1.0]), "token_factors"),
                           (dict(token_factors=[[1.0], [1.0], [1.0]]), "token_factors are of 1 tokens, positions of 3"),
                           (dict(token_factors=[[[1.0]]]), "token_factors has 3 dimensions")):
        with pytest.raises(ValueError, match=message):
            ropewalk.Angles(rope, [0, 1, 2], **wrong)
    with pytest.raises(ValueError, match="role is 'value'"):
        ropewalk.XPos("value")
