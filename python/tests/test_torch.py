"""ropewalk.torch: the operator under autograd, torch.compile and torch.export."""

import numpy as np
import pytest

import ropewalk

torch = pytest.importorskip("torch")

import ropewalk.torch  # noqa: E402

ROPES = {
    "plain": ropewalk.Rope(ropewalk.Spec(head_dim=16)),
    "adjacent, a factor": ropewalk.Rope(ropewalk.Spec(head_dim=16, pairing="adjacent", attention_factor=1.25)),
    "partial": ropewalk.Rope(ropewalk.Spec(head_dim=16, rotary_dim=8, base=100.0)),
    "of a length": ropewalk.Rope(ropewalk.Spec(head_dim=16, scaling={"type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 8}), 32),
}


def tensors(dtype=torch.float64, tokens=5):
    generator = torch.Generator().manual_seed(1)
    q = torch.randn(2, tokens, 4, 16, generator=generator, dtype=torch.float64).to(dtype)
    return q, torch.randn(2, tokens, 2, 16, generator=generator, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("rope", ROPES.values(), ids=ROPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_it_is_the_rotation(rope, dtype):
    q, k = tensors(dtype)
    ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    for positions in (7, ids, ids[0], ids.double() + 0.25):
        wanted_q, wanted_k = ropewalk.rotate(rope, q, positions, k=k)
        rotated_q, rotated_k = ropewalk.torch.rotate(q, k, positions, rope)
        assert torch.equal(rotated_q, wanted_q) and torch.equal(rotated_k, wanted_k)
        assert torch.equal(ropewalk.torch.rotate(q, None, positions, rope), wanted_q)


@pytest.mark.parametrize("rope", ROPES.values(), ids=ROPES)
def test_the_gradient_is_the_derivative(rope):
    q, k = (x.requires_grad_() for x in tensors(tokens=3))
    positions = torch.tensor([0, 5, 1000])
    assert torch.autograd.gradcheck(lambda q, k: ropewalk.torch.rotate(q, k, positions, rope), (q, k))
    assert torch.autograd.gradcheck(lambda q: ropewalk.torch.rotate(q, None, 9, rope), (q,))
    assert torch.autograd.gradgradcheck(lambda q: ropewalk.torch.rotate(q, None, 9, rope), (q,))


def test_the_operators_keep_the_rules_of_torch():
    q, k = tensors(torch.float32)
    plan = ROPES["plain"]._plan
    positions = torch.arange(5)
    for ids in (positions, None):
        torch.library.opcheck(torch.ops.ropewalk.turn.default, (q.clone().requires_grad_(), ids, 3, plan, "bthd", 0))
        torch.library.opcheck(torch.ops.ropewalk.turn_qk.default,
                              (q.clone().requires_grad_(), k.clone().requires_grad_(), ids, 3, plan, "bthd", 0))


def test_it_compiles_without_a_graph_break():
    q, k = tensors(torch.float32)
    rope = ROPES["adjacent, a factor"]

    def scores(q, k, positions):
        q, k = ropewalk.torch.rotate(q * 2, k, positions, rope)
        return torch.einsum("bthd,bshd->bhts", q[:, :, :2], k)

    compiled = torch.compile(scores, fullgraph=True, backend="aot_eager")
    for tokens in (5, 6, 7):  # the second size makes sizes dynamic
        q, k = tensors(torch.float32, tokens)
        positions = torch.arange(tokens)
        torch.testing.assert_close(compiled(q, k, positions), scores(q, k, positions))
    q.requires_grad_()
    compiled(q, k, positions).sum().backward()
    gradient, q.grad = q.grad, None
    scores(q, k, positions).sum().backward()
    torch.testing.assert_close(gradient, q.grad)


def test_a_module_is_exported_with_all_that_it_is(tmp_path):
    q, k = tensors(torch.float32)
    module = ropewalk.torch.RotaryEmbedding(ROPES["of a length"])
    assert not module.state_dict() and not list(module.parameters())
    positions = torch.arange(5)
    wanted = module(q, k, positions)
    program = torch.export.export(module, (q, k, positions))
    torch.export.save(program, tmp_path / "rope.pt2")
    loaded = torch.export.load(tmp_path / "rope.pt2").module()
    for one, other in zip(loaded(q, k, positions), wanted):
        assert torch.equal(one, other)


def test_meta_tensors_have_shapes_only():
    q, _ = tensors(torch.float32)
    result = ropewalk.torch.rotate(q.to("meta"), None, 3, ROPES["plain"])
    assert result.device.type == "meta" and result.shape == q.shape


@pytest.mark.filterwarnings("ignore")  # that a loop is slow
def test_vmap_is_a_loop():
    rope = ROPES["plain"]
    q, _ = tensors(torch.float32)
    qs, positions = torch.stack([q, 2 * q, -q]), torch.tensor([[0, 1, 2, 3, 4], [7, 7, 7, 7, 7], [9, 8, 7, 6, 5]])
    results = torch.vmap(lambda x, ids: ropewalk.torch.rotate(x, None, ids, rope))(qs, positions)
    for x, ids, result in zip(qs, positions, results):
        assert torch.equal(result, ropewalk.rotate(rope, x, ids))


def test_numpy_positions_and_mistakes():
    rope = ROPES["plain"]
    q, k = tensors(torch.float32)
    with pytest.raises(ValueError, match="head_dim"):
        ropewalk.torch.rotate(q[..., :6], None, 3, rope)
    with pytest.raises(ValueError, match="batch and tokens must be equal"):
        ropewalk.torch.rotate(q, k[:, :3], 3, rope)
    np.testing.assert_array_equal(ropewalk.torch.rotate(q, None, 3, rope).numpy(), ropewalk.rotate(rope, q.numpy(), 3))
