"""rotate and its kin, on arrays of NumPy, PyTorch and JAX."""

import ml_dtypes
import numpy as np
import pytest
from conftest import exact, rope_of
from hypothesis import given, settings
from hypothesis import strategies as st

import ropewalk

# Half an ulp of a result of at most 2 times the largest element, and the promise of the library.
UNITS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-48}
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float64": np.float64}


def tolerance(name, x, position):
    """position: the largest; at it the formula's own product, in float64, is off by as much as ours."""
    largest = float(np.max(np.abs(np.asarray(x, np.float64)), initial=0))
    return (UNITS[name] + (0 if name == "float64" else 2.0**-20) + abs(position) * 2.0**-52) * 2 * largest


LAYOUTS = {"bthd": (0, 1, 2, 3), "bhtd": (0, 2, 1, 3), "thd": (0, 1, 2), "htd": (1, 0, 2)}  # each its own inverse


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_shape_strides_dtype_and_layout_agree_with_the_formula(data):
    batch, tokens, heads = (data.draw(st.integers(0, 4)) for _ in range(3))
    dim = 2 * data.draw(st.integers(1, 40))
    name = data.draw(st.sampled_from(list(DTYPES)))
    pairing = data.draw(st.sampled_from(["halves", "adjacent"]))
    layout = data.draw(st.sampled_from(list(LAYOUTS)))
    batch = batch if len(layout) == 4 else 1
    start = data.draw(st.integers(-10**6, 10**6))
    # In memory the dimensions lie in any order, some doubled, some backwards.
    order = data.draw(st.permutations(range(4)))
    double = [data.draw(st.booleans()) for _ in range(4)]
    backwards = [data.draw(st.booleans()) for _ in range(4)]
    shape = (batch, tokens, heads, dim)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    memory = random.standard_normal([shape[d] * (2 if double[d] else 1) for d in order]).astype(DTYPES[name])
    x = memory.transpose(np.argsort(order))
    x = x[tuple(np.s_[::2] if d else np.s_[:] for d in double)]
    x = x[tuple(np.s_[::-1] if d else np.s_[:] for d in backwards)]
    assert x.shape == shape

    rope = rope_of(dim, pairing)
    wanted = exact(x, start + np.arange(tokens), rope.frequencies, adjacent=pairing == "adjacent")
    before, rest = x.copy(), memory.copy()
    seen = x if len(layout) == 4 else x[0]
    given_x = seen.transpose(LAYOUTS[layout])
    result = ropewalk.rotate(rope, given_x, start, layout=layout)
    assert result.dtype == x.dtype and result.shape == given_x.shape
    np.testing.assert_array_equal(memory, rest)
    y = np.asarray(result.transpose(LAYOUTS[layout]), np.float64).reshape(shape)
    assert np.max(np.abs(y - wanted), initial=0) <= tolerance(name, x, abs(start) + tokens)

    # In place: the same bits, and nothing else of the memory is touched.
    assert ropewalk.rotate_(rope, given_x, start, layout=layout) is given_x
    np.testing.assert_array_equal(given_x, result)
    x[...] = before
    np.testing.assert_array_equal(memory, rest)


@pytest.mark.parametrize("name", DTYPES)
def test_q_and_k_in_one_call_are_as_one_by_one(name, random):
    rope = rope_of(64)
    q = random.standard_normal((2, 5, 8, 64)).astype(DTYPES[name])
    k = random.standard_normal((2, 5, 2, 64)).astype(DTYPES[name])
    rotated_q, rotated_k = ropewalk.rotate(rope, q, 3, k=k)
    np.testing.assert_array_equal(rotated_q, ropewalk.rotate(rope, q, 3))
    np.testing.assert_array_equal(rotated_k, ropewalk.rotate(rope, k, 3))
    outs = np.empty_like(q), np.empty_like(k)
    result = ropewalk.rotate(rope, q, 3, k=k, out=outs)
    assert result[0] is outs[0] and result[1] is outs[1]
    np.testing.assert_array_equal(outs[1], rotated_k)
    in_place = ropewalk.rotate_(rope, q, 3, k=k)
    assert in_place[0] is q and in_place[1] is k
    np.testing.assert_array_equal(q, rotated_q)


def test_positions_may_be_given_in_many_ways(random):
    rope = rope_of(16)
    x = random.standard_normal((2, 4, 3, 16)).astype(np.float32)
    wanted = ropewalk.rotate(rope, x, 7)
    for positions in (np.int32(7), [7, 8, 9, 10], range(7, 11), np.arange(7, 11), np.arange(7, 11, dtype=np.int32),
                      np.arange(7.0, 11.0), np.arange(7, 11, dtype=np.float32), [[7, 8, 9, 10]] * 2,
                      np.arange(10, 6, -1)[::-1], np.repeat(np.arange(7, 11), 2)[::2],
                      ropewalk.Positions.start(7), ropewalk.Positions.starts([7, 7]),
                      ropewalk.Positions.packed([0, 4], [7]), ropewalk.Positions.contiguous(4, 1, 0, 7)):
        np.testing.assert_array_equal(ropewalk.rotate(rope, x, positions), wanted, err_msg=repr(positions))
    own = [[0, 1, 2, 3], [100, 101, 102, 103]]
    expected = exact(x, own, rope.frequencies)
    np.testing.assert_allclose(ropewalk.rotate(rope, x, own), expected, atol=2e-6)
    np.testing.assert_allclose(ropewalk.rotate(rope, x, ropewalk.Positions.starts([0, 100])), expected, atol=2e-6)
    halves = ropewalk.rotate(rope, x, [0.5, 1.5, 2.25, 1e6])
    np.testing.assert_allclose(halves, exact(x, [0.5, 1.5, 2.25, 1e6], rope.frequencies), atol=2e-6)


def test_zigzag_slices_are_those_of_the_whole(random):
    rope = rope_of(8)
    x = random.standard_normal((1, 16, 1, 8)).astype(np.float32)
    whole = ropewalk.rotate(rope, x, 5)
    part = ropewalk.rotate(rope, x[:, [2, 3, 12, 13]], ropewalk.Positions.zigzag(16, 4, 1, 5))
    np.testing.assert_array_equal(part, whole[:, [2, 3, 12, 13]])


def test_unrotate_undoes_and_backward_is_the_adjoint(random):
    rope = rope_of(32, attention_factor=1.5)
    x, y = (random.standard_normal((1, 6, 2, 32)) for _ in range(2))
    there = ropewalk.rotate(rope, x, 11)
    np.testing.assert_allclose(there, exact(x, 11 + np.arange(6), rope.frequencies, factor=1.5), atol=1e-13)
    np.testing.assert_allclose(ropewalk.unrotate(rope, there, 11), x, atol=1e-13)
    np.testing.assert_allclose(np.vdot(there, y), np.vdot(x, ropewalk.backward(rope, y, 11)), rtol=1e-13)
    for function, in_place in ((ropewalk.unrotate, ropewalk.unrotate_), (ropewalk.backward, ropewalk.backward_)):
        z = y.copy()
        assert in_place(rope, z, 11) is z
        np.testing.assert_array_equal(z, function(rope, y, 11))


def test_rerotating_is_rotating_afresh(random):
    old, new = rope_of(32), rope_of(32, base=500000.0)
    x = random.standard_normal((1, 6, 2, 32))
    keys = ropewalk.rotate(old, x, 100)
    moved = ropewalk.rerotate(old, new, keys, 100, 20)
    np.testing.assert_allclose(moved, exact(x, 20 + np.arange(6), new.frequencies), atol=1e-13)
    assert ropewalk.rerotate_(old, new, keys, 100, 20) is keys
    np.testing.assert_array_equal(keys, moved)


def test_angles_made_once_give_the_same_bits(random):
    rope = rope_of(64)
    x = random.standard_normal((2, 5, 3, 64)).astype(np.float32)
    angles = ropewalk.Angles(rope, ropewalk.Positions.start(9, 5))
    np.testing.assert_array_equal(ropewalk.rotate(angles, x), ropewalk.rotate(rope, x, 9))
    turns = (9 + np.arange(5))[:, None] * rope.frequencies
    np.testing.assert_allclose(angles.cos[0], np.cos(turns), atol=2e-7)
    np.testing.assert_allclose(angles.sin[0], np.sin(turns), atol=2e-7)
    angles.assign(rope, [4, 4, 4, 4, 4], dtype="f64", factor=2.0)
    assert (angles.dtype, angles.batch, angles.tokens, angles.pairs) == ("f64", 1, 5, 32)
    np.testing.assert_allclose(angles.cos[0, 0], 2 * np.cos(4 * rope.frequencies), atol=1e-14)
    with pytest.raises(ValueError, match="angles have rows of f64"):
        ropewalk.rotate(angles, x)
    with pytest.raises(TypeError, match="beside Angles"):
        ropewalk.rotate(angles, x, 3)


def test_torch_in_torch_out(random):
    torch = pytest.importorskip("torch")
    rope = rope_of(64)
    x = random.standard_normal((2, 5, 3, 64)).astype(np.float32)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        given_x = torch.from_numpy(x).to(dtype)
        result = ropewalk.rotate(rope, given_x, 7)
        assert type(result) is torch.Tensor and result.dtype == dtype
        # The same bits as of NumPy's arrays.
        name = str(dtype).removeprefix("torch.")
        of_numpy = given_x.double().numpy().astype(DTYPES[name])
        np.testing.assert_array_equal(result.double().numpy(), ropewalk.rotate(rope, of_numpy, 7).astype(np.float64))
        assert ropewalk.rotate_(rope, given_x, torch.arange(7, 12)) is given_x
        assert torch.equal(given_x, result)
    # bhtd as attention has it: the strides of the result are those of x.
    heads_first = torch.from_numpy(x).transpose(1, 2)
    result = ropewalk.rotate(rope, heads_first, 7, layout="bhtd")
    assert result.stride() == heads_first.stride()
    assert torch.equal(result.transpose(1, 2), ropewalk.rotate(rope, torch.from_numpy(x), 7))


def test_a_tensor_that_autograd_watches_is_refused():
    torch = pytest.importorskip("torch")
    rope = rope_of(8)
    x = torch.ones(1, 1, 1, 8, requires_grad=True)
    with pytest.raises(BufferError, match="x requires grad.*ropewalk.torch"):
        ropewalk.rotate(rope, x, 1)
    with pytest.raises(BufferError, match="k requires grad"):
        ropewalk.rotate_(rope, x.detach(), 1, k=x)
    with torch.no_grad():
        ropewalk.rotate(rope, x, 1)


def test_a_large_result_asks_for_large_pages_and_is_the_same(random):
    torch = pytest.importorskip("torch")
    rope = rope_of(64)
    x = torch.from_numpy(random.standard_normal((1, 2048, 8, 64)).astype(np.float32))
    flat = x.reshape(-1)[1:1 - 64].reshape(1, -1, 1, 32)  # begins within a page, and ends within one
    for given_x, one in ((x, rope), (flat, rope_of(32))):
        np.testing.assert_array_equal(ropewalk.rotate(one, given_x, 3), ropewalk.rotate(one, given_x.numpy().copy(), 3))


def test_jax_in_jax_out(random):
    jax = pytest.importorskip("jax")
    rope = rope_of(64)
    x = random.standard_normal((2, 5, 3, 64)).astype(np.float32)
    for dtype in (jax.numpy.float32, jax.numpy.bfloat16, jax.numpy.float16):
        given_x = jax.numpy.asarray(x, dtype)
        result = ropewalk.rotate(rope, given_x, jax.numpy.arange(7, 12))
        assert isinstance(result, jax.Array) and result.dtype == given_x.dtype
        np.testing.assert_array_equal(np.asarray(result), ropewalk.rotate(rope, np.asarray(given_x), 7))
        np.testing.assert_array_equal(np.asarray(given_x), np.asarray(jax.numpy.asarray(x, dtype)))
        with pytest.raises(BufferError, match="JAX"):
            ropewalk.rotate_(rope, given_x, 7)
        with pytest.raises(BufferError, match="JAX"):
            ropewalk.rotate(rope, given_x, 7, out=given_x)


def test_a_position_may_be_a_scalar_of_any_framework(random):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    rope = rope_of(8)
    x = random.standard_normal((1, 2, 1, 8)).astype(np.float32)
    wanted = ropewalk.rotate(rope, x, 7)
    for position in (np.array(7), np.int64(7), torch.tensor(7), jax.numpy.asarray(7)):
        np.testing.assert_array_equal(ropewalk.rotate(rope, x, position), wanted)
    for position in (7.0, np.float64(7), np.array(7.5), torch.tensor(7.0), True, None, "7"):
        with pytest.raises(TypeError, match="positions"):
            ropewalk.rotate(rope, x, position)


def test_memory_that_holds_other_values_than_its_tensor_is_not_read():
    torch = pytest.importorskip("torch")
    rope = rope_of(8)
    complex_ones = torch.ones(1, 2, 1, 8, dtype=torch.complex64)
    negative = torch.conj(complex_ones).imag
    assert negative.is_neg()
    with pytest.raises(BufferError, match="x has PyTorch's negative bit set.*resolve_neg"):
        ropewalk.rotate(rope, negative, 3)
    with pytest.raises(TypeError, match="x has elements of complex64"):
        ropewalk.rotate(rope, complex_ones, 3)
    # As an operator PyTorch resolves it.
    from ropewalk.torch import rotate
    with torch.no_grad():
        assert torch.equal(rotate(negative, None, 3, rope), ropewalk.rotate(rope, negative.resolve_neg(), 3))
    with pytest.raises(TypeError, match="x is a tensor of torch.sparse_coo"):
        ropewalk.rotate(rope, negative.resolve_neg().to_sparse(), 3)
    with pytest.raises(BufferError, match="x is on the device meta"):
        ropewalk.rotate(rope, torch.empty(1, 2, 1, 8, device="meta"), 3)


def test_outputs_that_cannot_be_written_are_refused_and_nothing_is(random):
    rope = rope_of(8)
    x = random.standard_normal((1, 4, 2, 8)).astype(np.float32)
    before = x.copy()
    read_only = x.copy()
    read_only.flags.writeable = False
    wide = np.zeros((1, 4, 2, 8), np.float64)
    line = np.zeros(16 + x.size, np.float32)
    overlapping = line[16:].reshape(x.shape), line[:x.size].reshape(x.shape)
    bf16 = x.astype(ml_dtypes.bfloat16)
    for error, message, call in (
            (BufferError, "x is read-only", lambda: ropewalk.rotate_(rope, read_only, 1)),
            (BufferError, "out is read-only", lambda: ropewalk.rotate(rope, x, 1, out=read_only)),
            (BufferError, "x is read-only",
             lambda: ropewalk.rotate_(rope, memoryview(x.tobytes()).cast("f", x.shape), 1)),
            (ValueError, "out.*f64.*f32|f32.*f64", lambda: ropewalk.rotate(rope, x, 1, out=wide)),
            (ValueError, "out", lambda: ropewalk.rotate(rope, x, 1, out=np.zeros((1, 4, 2, 10), np.float32))),
            (ValueError, "overlap", lambda: ropewalk.rotate(rope, overlapping[0], 1, out=overlapping[1])),
            (ValueError, "out", lambda: ropewalk.rotate(rope, x, 1, out=np.broadcast_to(line[:8], x.shape).view())),
            (TypeError, "out has elements of uint16", lambda: ropewalk.rotate(rope, bf16, 1, out=x.astype(np.uint16))),
            (TypeError, "x has elements of uint16", lambda: ropewalk.rotate(rope, x.astype(np.uint16), 1, out=bf16)),
            (TypeError, "x has elements of int32", lambda: ropewalk.rotate_(rope, x.astype(np.int32), 1)),
            (TypeError, "want an array", lambda: ropewalk.rotate_(rope, x.tolist(), 1)),
            (TypeError, "give out=", lambda: ropewalk.rotate(rope, memoryview(x), 1)),
            (TypeError, "out is not a pair", lambda: ropewalk.rotate(rope, x, 1, k=x, out=x)),
            (ValueError, "layout is 'btdh'", lambda: ropewalk.rotate(rope, x, 1, layout="btdh")),
            (ValueError, "x has 4 dimensions, layout 'thd' wants 3", lambda: ropewalk.rotate(rope, x, 1, layout="thd")),
            (TypeError, "positions are missing", lambda: ropewalk.rotate(rope, x)),
            (TypeError, "want ropewalk.Rope or ropewalk.Angles", lambda: ropewalk.rotate(rope.spec, x, 1)),
            (ValueError, "tokens", lambda: ropewalk.rotate_(rope, x, [1, 2, 3])),
            (ValueError, "k", lambda: ropewalk.rotate_(rope, x, 1, k=np.zeros((1, 3, 2, 8), np.float32)))):
        with pytest.raises((error, BufferError) if message == "out" else error, match=message):
            call()
    np.testing.assert_array_equal(x, before)
    assert not line.any() and not wide.any()


def test_what_has_the_buffer_protocol_is_an_array(random):
    rope = rope_of(8)
    x = random.standard_normal((1, 4, 2, 8)).astype(np.float32)
    wanted = ropewalk.rotate(rope, x, 1)
    memory = bytearray(x.tobytes())
    view = memoryview(memory).cast("f", x.shape)
    assert ropewalk.rotate_(rope, view, 1) is view
    np.testing.assert_array_equal(np.frombuffer(memory, np.float32).reshape(x.shape), wanted)
    out = np.empty_like(x)
    assert ropewalk.rotate(rope, memoryview(x.tobytes()).cast("f", x.shape), 1, out=out) is out
    np.testing.assert_array_equal(out, wanted)


def test_inputs_and_outputs_may_be_of_several_frameworks(random):
    torch = pytest.importorskip("torch")
    rope = rope_of(8)
    x = random.standard_normal((1, 4, 2, 8)).astype(ml_dtypes.bfloat16)
    wanted = ropewalk.rotate(rope, x, 1)
    given_x = torch.from_numpy(x.view(np.uint16)).view(torch.bfloat16)
    out = np.empty_like(x)
    assert ropewalk.rotate(rope, given_x, 1, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    tensor = torch.empty(1, 4, 2, 8, dtype=torch.bfloat16)
    ropewalk.rotate(rope, x, 1, out=tensor)
    np.testing.assert_array_equal(tensor.float().numpy(), wanted.astype(np.float32))


def test_autograd_hears_of_what_is_written():
    torch = pytest.importorskip("torch")
    rope = rope_of(8)
    weight = torch.ones(8, requires_grad=True)
    out = torch.ones(1, 2, 1, 8)
    for write in (lambda x: ropewalk.rotate_(rope, x, 3),
                  lambda x: ropewalk.rotate(rope, torch.ones(1, 2, 1, 8), 3, out=x),
                  lambda x: ropewalk.rotate_(rope, out, 3, k=x), lambda x: ropewalk.rerotate_(rope, rope, x, 3, 4)):
        x = torch.ones(1, 2, 1, 8)
        y = (weight * x).sum()  # keeps x
        write(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
    with torch.inference_mode():
        x = torch.ones(1, 2, 1, 8)
        ropewalk.rotate_(rope, x, 3)
        ropewalk.rotate(rope, x, 3)


def test_a_pair_of_outputs_may_be_given_in_part(random):
    rope = rope_of(8)
    q, k = (random.standard_normal((1, 2, 1, 8)) for _ in range(2))
    before = q.copy(), k.copy()
    out = np.zeros_like(k)
    new_q, same = ropewalk.rotate(rope, q, 3, k=k, out=(None, out))
    assert same is out
    np.testing.assert_array_equal(new_q, ropewalk.rotate(rope, q, 3))
    np.testing.assert_array_equal(out, ropewalk.rotate(rope, k, 3))
    np.testing.assert_array_equal([q, k], before)


def test_positions_keep_what_they_were_made_of():
    rope = rope_of(8)
    x = np.ones((2, 3, 1, 8))
    arrays = [np.array([[1, 2, 3], [7, 8, 9]]), np.array([1, 7])]
    made = [ropewalk.Positions.ids(arrays[0]), ropewalk.Positions.starts(arrays[1])]
    wanted = [ropewalk.rotate(rope, x, arrays[0])] * 2
    for array in arrays:
        array[...] = 0
    for positions, result in zip(made, wanted):
        np.testing.assert_array_equal(ropewalk.rotate(rope, x, positions), result)


@pytest.mark.parametrize("call, error, message", [
    (lambda: ropewalk.Positions.starts([1.0]), TypeError, "starts are of float64, want integers"),
    (lambda: ropewalk.Positions.starts([2**63]), ValueError, "starts have one beyond 64 bits"),
    (lambda: ropewalk.Positions.starts([2**70]), TypeError, "starts are of object"),
    (lambda: ropewalk.Positions.packed([]), ValueError, "lengths are empty"),
    (lambda: ropewalk.Positions.start(3, -1), ValueError, "tokens is -1"),
    (lambda: ropewalk.rotate(rope_of(8), np.ones((1, 1, 1, 8)), 2**63), ValueError, "positions is 9223372036854775808"),
    (lambda: ropewalk.rotate(rope_of(8), np.ones((1, 1, 1, 8), ">f4"), 1), TypeError, "x is a .*ndarray of >f4"),
    (lambda: ropewalk.rotate(rope_of(8), np.ma.ones((1, 1, 1, 8)), 1), TypeError, "x is a masked array"),
    (lambda: ropewalk.rotate(rope_of(8), np.ones((1, 1, 1, 8)), 1, layout=None), TypeError, "layout is None"),
    (lambda: ropewalk.rotate(rope_of(8), [[[[1.0] * 8]]], 1), TypeError, "x is a list, want an array"),
    (lambda: ropewalk.rotate(rope_of(8), None, 1), TypeError, "x is None, want an array"),
    (lambda: ropewalk.rotate_(rope_of(8), (np.ones((1, 1, 1, 8)),), 1), TypeError, "x is a tuple, want an array"),
    (lambda: ropewalk.rotate(rope_of(8), np.ones((1, 1, 1, 8)), np.ma.arange(1)), TypeError, "positions is a masked"),
    (lambda: ropewalk.rotate(rope_of(8), np.ones((1, 1, 1, 8)), np.arange(1, dtype=">i8")), TypeError,
     "positions is a .* of >i8, want int32, int64, float32 or float64"),
    (lambda: ropewalk.rerotate(rope_of(8), rope_of(8), np.ones((1, 1, 1, 8)), 1, 2, layout=None), TypeError,
     "layout is None"),
    (lambda: ropewalk.Angles.of_rows(rope_of(8).spec, np.ma.ones((1, 4)), np.ones((1, 4))), TypeError,
     "cos is a masked array"),
    (lambda: ropewalk.Angles.of_rows(3, np.ones((1, 4)), np.ones((1, 4))), TypeError, "spec is a int"),
    (lambda: ropewalk.check(3), TypeError, "rope is a int"),
    (lambda: ropewalk.Rope(8), TypeError, "spec is a int, want ropewalk.Spec"),
    (lambda: ropewalk.rerotate(3, rope_of(8), np.ones((1, 1, 1, 8)), 1, 2), TypeError, "old_rope is a int"),
])
def test_what_is_wrong_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()
