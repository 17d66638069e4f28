"""ropewalk.torch: the operator under autograd, torch.compile and torch.export."""

import copy
import functools

import numpy as np
import pytest

import ropewalk

torch = pytest.importorskip("torch")

import ropewalk.torch  # noqa: E402

ROPES = {
    "plain": ropewalk.Rope(ropewalk.Spec(head_dim=16)),
    "adjacent, a factor": ropewalk.Rope(ropewalk.Spec(head_dim=16, pairing="adjacent", attention_factor=1.25)),
    "partial": ropewalk.Rope(ropewalk.Spec(head_dim=16, rotary_dim=8, base=100.0)),
    "of a length": ropewalk.Rope(ropewalk.Spec(head_dim=16, scaling={
        "type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 8}), 32),
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
        # As an operator, which is another way there.
        watched = [x.clone().requires_grad_() for x in (q, k)]
        rotated_q, rotated_k = ropewalk.torch.rotate(*watched, positions, rope)
        assert rotated_q.grad_fn is not None
        assert torch.equal(rotated_q, wanted_q) and torch.equal(rotated_k, wanted_k)
        assert torch.equal(ropewalk.torch.rotate(watched[0], None, positions, rope), wanted_q)


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


def test_vmap_is_a_loop():
    rope = ROPES["plain"]
    q, _ = tensors(torch.float32)
    qs, positions = torch.stack([q, 2 * q, -q]), torch.tensor([[0, 1, 2, 3, 4], [7, 7, 7, 7, 7], [9, 8, 7, 6, 5]])
    results = torch.vmap(lambda x, ids: ropewalk.torch.rotate(x, None, ids, rope))(qs, positions)
    for x, ids, result in zip(qs, positions, results):
        assert torch.equal(result, ropewalk.rotate(rope, x, ids))


# The rotation as a matrix, from the formula.
def matrix(rope, position):
    turn, spec = torch.eye(16, dtype=torch.float64), rope.spec
    for i, frequency in enumerate(rope.frequencies):
        a, b = (2 * i, 2 * i + 1) if spec.pairing == "adjacent" else (i, i + spec.rotary_dim // 2)
        cos, sin = np.cos(position * frequency), np.sin(position * frequency)
        turn[[a, a, b, b], [a, b, a, b]] = torch.tensor([cos, -sin, sin, cos]) * rope.attention_factor
    return turn


@pytest.mark.parametrize("rope", [ROPES["plain"], ROPES["adjacent, a factor"]])
def test_torch_func_and_forward_mode_see_the_rotation(rope):
    wanted = matrix(rope, 7)

    def turned(x):  # [16]
        return ropewalk.torch.rotate(x[None, None, None], None, 7, rope)[0, 0, 0]

    x, tangent = torch.randn(2, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    close = functools.partial(torch.testing.assert_close, rtol=1e-12, atol=1e-12)
    func = torch.func
    value, moved = func.jvp(turned, (x,), (tangent,))
    close(value, wanted @ x)
    close(moved, wanted @ tangent)
    close(func.jacfwd(turned)(x), wanted)
    close(func.jacrev(turned)(x), wanted)
    close(func.grad(lambda x: turned(x) @ tangent)(x), wanted.T @ tangent)
    close(func.hessian(lambda x: turned(x) @ turned(x))(x), 2 * wanted.T @ wanted)
    both = func.vmap(func.grad(lambda x: turned(x) @ tangent))(torch.stack([x, 2 * x]))
    close(both, (wanted.T @ tangent).expand(2, 16))
    with torch.autograd.forward_ad.dual_level():
        dual = turned(torch.autograd.forward_ad.make_dual(x, tangent))
        close(torch.autograd.forward_ad.unpack_dual(dual).tangent, wanted @ tangent)
    # q and k in one call, only one of which has a tangent.
    q, k = x[None, None, None], tangent[None, None, None]
    _, (moved_q, moved_k) = func.jvp(lambda q: ropewalk.torch.rotate(q, k, 7, rope), (q,), (k,))
    close(moved_q[0, 0, 0], wanted @ tangent)
    assert not moved_k.any()


def test_whoever_records_calls_sees_an_operator():
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils._python_dispatch import TorchDispatchMode
    rope = ROPES["plain"]
    q, _ = tensors(torch.float32)
    wanted = ropewalk.rotate(rope, 2 * q, 3)

    def turned(x):
        return ropewalk.torch.rotate(x, None, 3, rope)
    for recorded in (torch.jit.trace(turned, (q,)), make_fx(turned)(q)):
        assert torch.equal(recorded(2 * q), wanted)
    seen = []

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))
    with Watching():
        turned(q)
    assert "ropewalk.turn.default" in seen
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert turned(mode.from_tensor(q)).shape == q.shape and turned(q).shape == q.shape


def test_shapes_are_checked_without_values():
    q, k = (x.to("meta") for x in tensors(torch.float32))
    rope = ROPES["partial"]
    positions = torch.arange(5, device="meta")
    rotated_q, rotated_k = ropewalk.torch.rotate(q, k, positions, rope)
    assert rotated_q.shape == q.shape and rotated_k.device.type == "meta"
    for call, message in (
            (lambda: ropewalk.torch.rotate(q, torch.ones(2, 5, 2, 16), 3, rope), "devices: q on meta, k on cpu"),
            (lambda: ropewalk.torch.rotate(torch.ones(2, 5, 2, 16), None, positions, rope),
             "devices: x on cpu, positions on meta"),
            (lambda: ropewalk.torch.rotate(q[..., :6], None, 3, rope), "heads of 6 .* head_dim 16 or rotary_dim 8"),
            (lambda: ropewalk.torch.rotate(q, k[:, :3], 3, rope), "k has tokens 3, q has 5"),
            (lambda: ropewalk.torch.rotate(q[0], None, 3, rope), "x has 3 dimensions"),
            (lambda: ropewalk.torch.rotate(q, None, positions[:4], rope), "positions are of 4 tokens"),
            (lambda: ropewalk.torch.rotate(q, None, positions.expand(3, 5), rope), "positions are of 3 sequences"),
            (lambda: ropewalk.torch.rotate(q, None, 3, rope, layout="x"), "layout is 'x'")):
        with pytest.raises(ValueError, match=message):
            call()


def test_tensors_of_other_devices_are_refused():
    with torch._subclasses.FakeTensorMode():
        there = torch.empty(2, 5, 4, 16, device="cuda")
    for tensors_given, name in (((there, None), "x"), ((tensors()[0], there), "k")):
        with pytest.raises(NotImplementedError, match=f"{name} is on the device cuda:0: ropewalk rotates"):
            ropewalk.torch.rotate(*tensors_given, 3, ROPES["plain"])
    with pytest.raises(BufferError, match="x is on the device cuda:0"):
        ropewalk.rotate(ROPES["plain"], there, 3)


@pytest.mark.parametrize("watched", [False, True])
def test_positions_are_a_tensor_or_an_integer(watched):
    rope = ROPES["plain"]
    q = tensors(torch.float32)[0].requires_grad_(watched)
    wanted = ropewalk.rotate(rope, q.detach(), 3)
    for position in (3, np.int64(3), torch.tensor(3), torch.arange(3, 8)):
        assert torch.equal(ropewalk.torch.rotate(q, None, position, rope), wanted)
    for position in (True, 1.5, [3, 4, 5, 6, 7], None, ropewalk.Positions.start(3), np.arange(5)):
        with pytest.raises(TypeError, match="positions is .*, want a tensor or an integer"):
            ropewalk.torch.rotate(q, None, position, rope)
    with pytest.raises(ValueError, match="positions is 9223372036854775808, want an integer of 64 bits"):
        ropewalk.torch.rotate(q, None, 2**63, rope)
    with pytest.raises(NotImplementedError, match="positions requires grad"):
        ropewalk.torch.rotate(q, None, torch.ones(5, requires_grad=True), rope)
    with pytest.raises(TypeError, match="rope is a Spec"):
        ropewalk.torch.rotate(q, None, 3, rope.spec)


def test_a_module_is_copied_and_saved(tmp_path):
    module = ropewalk.torch.RotaryEmbedding(ROPES["of a length"], layout="bhtd")
    torch.save(module, tmp_path / "module.pt")
    q, _ = tensors(torch.float32)
    for other in (copy.deepcopy(module), torch.load(tmp_path / "module.pt", weights_only=False)):
        assert torch.equal(other(q, None, 3), module(q, None, 3)) and repr(other) == repr(module)


def test_numpy_positions_and_mistakes():
    rope = ROPES["plain"]
    q, k = tensors(torch.float32)
    with pytest.raises(ValueError, match="head_dim"):
        ropewalk.torch.rotate(q[..., :6], None, 3, rope)
    with pytest.raises(ValueError, match="batch and tokens must be equal"):
        ropewalk.torch.rotate(q, k[:, :3], 3, rope)
    np.testing.assert_array_equal(ropewalk.torch.rotate(q, None, 3, rope).numpy(), ropewalk.rotate(rope, q.numpy(), 3))
