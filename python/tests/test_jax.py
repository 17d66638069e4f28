"""ropewalk.jax: under jit, grad and vmap."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ropewalk

jax = pytest.importorskip("jax")

import ropewalk.jax  # noqa: E402

ROPE = ropewalk.Rope(ropewalk.Spec(head_dim=16, attention_factor=1.25))


def tensors(dtype="float32"):
    random = np.random.default_rng(1)
    q, k = random.standard_normal((2, 5, 4, 16)), random.standard_normal((2, 5, 2, 16))
    return jax.numpy.asarray(q, dtype), jax.numpy.asarray(k, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_it_is_the_rotation_also_under_jit(dtype):
    q, k = tensors(dtype)
    ids = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    for positions in (7, ids[0], ids, ids + 0.25):
        wanted = ropewalk.rotate(ROPE, np.asarray(q), positions, k=np.asarray(k))
        for function in (ropewalk.jax.rotate, jax.jit(ropewalk.jax.rotate, static_argnums=3)):
            result = function(q, k, positions, ROPE)
            for one, other in zip(result, wanted):
                assert isinstance(one, jax.Array) and one.dtype == q.dtype
                np.testing.assert_array_equal(np.asarray(one), other)
        alone = jax.jit(lambda q, p: ropewalk.jax.rotate(q, None, p, ROPE))(q, positions)
        np.testing.assert_array_equal(np.asarray(alone), wanted[0])


def test_the_gradient_is_the_transposed_rotation():
    q, k = tensors()
    weights = jax.numpy.asarray(np.random.default_rng(2).standard_normal(q.shape), "float32")

    def loss(q, k, positions):
        rotated_q, rotated_k = ropewalk.jax.rotate(q, k, positions, ROPE)
        return (rotated_q * weights).sum() + (rotated_k ** 2).sum()

    for positions in (jax.numpy.arange(5), jax.numpy.arange(5) + 0.5):
        grad_q, grad_k = jax.jit(jax.grad(loss, argnums=(0, 1)))(q, k, positions)
        wanted = ropewalk.backward(ROPE, np.asarray(weights), np.asarray(positions))
        np.testing.assert_allclose(np.asarray(grad_q), wanted, rtol=1e-6)
        # The length of a rotated key is its own times the factor.
        np.testing.assert_allclose(np.asarray(grad_k), 2 * 1.25**2 * np.asarray(k), rtol=1e-5, atol=1e-6)


def test_vmap_is_a_loop():
    q, _ = tensors()
    starts = jax.numpy.array([0, 100])
    result = jax.vmap(lambda x, p: ropewalk.jax.rotate(x[None], None, p, ROPE)[0])(q, starts)
    for one, x, start in zip(result, q, (0, 100)):
        np.testing.assert_array_equal(np.asarray(one), ropewalk.rotate(ROPE, np.asarray(x)[None], start)[0])


def test_derivatives_of_a_rematerialised_and_a_repeated_rotation():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=8))
    q = jax.numpy.ones((1, 2, 1, 8))
    wanted = jax.grad(lambda q: ropewalk.jax.rotate(q, None, 3, rope).sum())(q)
    again = jax.checkpoint(lambda q: ropewalk.jax.rotate(q, None, 3, rope))
    np.testing.assert_array_equal(jax.grad(lambda q: again(q).sum())(q), wanted)

    def steps(q):
        return jax.lax.scan(lambda x, _: (ropewalk.jax.rotate(x, None, 3, rope), None), q, length=2)[0]
    twice = jax.grad(lambda q: steps(q).sum())(q)
    np.testing.assert_allclose(twice, ropewalk.backward(rope, wanted, 3), atol=1e-6)


@pytest.mark.parametrize("positions, error, message", [
    (1.5, TypeError, "positions is a real number: want an integer"),
    (True, TypeError, "positions are of bool"),
    (np.arange(2) + 2**40, ValueError, "positions do not fit into int32.*jax_enable_x64"),
    (np.int64(2**40), ValueError, "positions do not fit into int32"),
    (np.arange(2) + 2.0**30 + 0.25, ValueError, "positions do not fit into float32"),
    (np.ones(2, bool), TypeError, "positions are of bool"),
    (np.arange(3), ValueError, "positions are of 3 tokens, x has 2"),
])
def test_positions_are_never_other_ones(positions, error, message):
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=8))
    with pytest.raises(error, match=message):
        ropewalk.jax.rotate(jax.numpy.ones((1, 2, 1, 8)), None, positions, rope)


def test_what_is_wrong_is_said_when_it_is_traced():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=8))
    q = jax.numpy.ones((1, 2, 1, 8))
    for call, error, message in (
            (lambda q: ropewalk.jax.rotate(q[..., :6], None, 3, rope), ValueError, "heads of 6 elements"),
            (lambda q: ropewalk.jax.rotate(q, q[:, :1], 3, rope), ValueError, "k has tokens 1, q has 2"),
            (lambda q: ropewalk.jax.rotate(q.astype(int), None, 3, rope), TypeError, "x has elements of int32"),
            (lambda q: ropewalk.jax.rotate(q, None, 3, rope, layout="x"), ValueError, "layout is 'x'"),
            (lambda q: ropewalk.jax.rotate(q, None, q[0, 0, 0, 0], rope), TypeError, "want an integer"),
            (lambda q: ropewalk.jax.rotate(q, None, 3, rope.spec), TypeError, "rope is a Spec")):
        with pytest.raises(error, match=message):
            jax.jit(call)(q)


def test_on_one_cpu_it_runs_or_says_what_to_do():
    program = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, numpy as np, ropewalk, ropewalk.jax
if sys.argv[1] == "off":
    jax.config.update("jax_cpu_enable_async_dispatch", False)
rope = ropewalk.Rope(ropewalk.Spec(head_dim=128))
q = jax.numpy.ones((1, 1024, 16, 128))
try:
    print(jax.jit(lambda q: ropewalk.jax.rotate(q, None, 3, rope))(q).shape)
except RuntimeError as error:
    print(error)
"""
    for dispatch, wanted in (("off", "(1, 1024, 16, 128)"), ("on", "jax_cpu_enable_async_dispatch")):
        done = subprocess.run([sys.executable, "-c", program, dispatch], capture_output=True, text=True, timeout=120)
        assert wanted in done.stdout, done.stderr


def test_a_result_is_where_its_argument_is():
    program = """
import jax, ropewalk
x = jax.device_put(jax.numpy.ones((1, 2, 1, 8)), jax.devices()[1])
print(ropewalk.rotate(ropewalk.Rope(ropewalk.Spec(head_dim=8)), x, 3).devices() == x.devices())
"""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout == "True\n", done.stderr


def test_fewer_axes_than_the_rope_has():
    rope = ropewalk.Rope(ropewalk.Spec(head_dim=8, axes={"sections": [1, 1, 2], "order": "blocks"}))
    with pytest.raises(ValueError, match="positions have 2 axes, the rope wants 3"):
        ropewalk.jax.rotate(jax.numpy.ones((1, 2, 1, 8)), None, np.zeros((2, 1, 2), np.int32), rope)
