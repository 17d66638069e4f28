"""What the tests share: the formula in float64, which shares nothing with the package."""

import os

import hypothesis
import numpy as np
import pytest

import ropewalk

# The same examples each time, and no folder of them.
hypothesis.settings.register_profile("ropewalk", database=None, derandomize=True, deadline=None)
hypothesis.settings.load_profile("ropewalk")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Packages that are missing skip their tests; where all are there, as in `make test`, a skip is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if skipped and os.environ.get("ROPEWALK_REQUIRE_ALL_PACKAGES"):
        reporter.write_line(f"\n{len(skipped)} skipped, which ROPEWALK_REQUIRE_ALL_PACKAGES forbids", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def exact(x, positions, frequencies, *, adjacent=False, factor=1.0, inverse=False):
    """x [..., tokens, heads, width] rotated at positions [tokens] or [batch, tokens], in float64.

    Pairs are the halves of the last dimension, or neighbours.
    """
    x = np.asarray(x, np.float64)
    turns = np.asarray(positions, np.float64)[..., None, None] * np.asarray(frequencies)
    cos, sin = np.cos(turns) * factor, np.sin(turns) * factor * (-1 if inverse else 1)
    pairs = len(frequencies)
    y = np.empty_like(x)
    first, second = (np.s_[..., 0::2], np.s_[..., 1::2]) if adjacent else (np.s_[..., :pairs], np.s_[..., pairs:])
    y[first] = x[first] * cos - x[second] * sin
    y[second] = x[second] * cos + x[first] * sin
    return y


def rope_of(dim, pairing="halves", **fields):
    return ropewalk.Rope(ropewalk.Spec(head_dim=dim, pairing=pairing, **fields))


@pytest.fixture
def random():
    return np.random.default_rng(1)
