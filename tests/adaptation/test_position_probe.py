"""A probe whose attention knows positions only: its formula, and what it can and cannot find."""

import jax
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from minicosm.adaptation.position_probe import PositionProbe, fit_position_probe


def test_the_probe_is_its_formula():
    rng = np.random.default_rng(0)
    P, A, b, e = (rng.normal(size=s) for s in ((2, 4, 3), (2, 5, 3), (2, 3), (4, 5)))
    visible = np.array([True, True, True, False])
    wanted = np.zeros((4, 3))
    for i in range(4):
        for r in range(2):
            w = np.array([np.exp(P[r, i] @ P[r, k]) * visible[k] for k in range(4)])
            for k in range(4):
                wanted[i] += w[k] / w.sum() * (e[k] @ A[r] + b[r])
    np.testing.assert_allclose(PositionProbe(P, A, b)(e, visible), wanted, atol=1e-5)


def test_a_probe_finds_what_stands_at_the_first_position():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (256, 4))
    rows = np.eye(2)[bits].astype(np.float32)
    labels = np.repeat(bits[:, :1], 4, axis=1)
    seen = np.ones(bits.shape, bool)
    probe = fit_position_probe(
        rows[:192], labels[:192], seen[:192], seen[:192], jax.random.key(0), classes=2, heads=2, size=8,
        steps=250, rate=0.05,
    )  # fmt: skip
    said = np.argmax(jax.vmap(probe)(rows[192:], seen[192:]), axis=-1)
    assert (said == labels[192:]).mean() > 0.95


def test_bad_input_meets_a_sentence():
    rows, labels, seen = np.ones((3, 4, 2)), np.zeros((3, 4), int), np.ones((3, 4), bool)
    with pytest.raises(ValueError, match="labels"):
        fit_position_probe(rows, labels + 5, seen, seen, jax.random.key(0), classes=2)
    with pytest.raises((ValueError, TypeCheckError), match="scored"):  # the tests' checker is first
        fit_position_probe(rows, labels, seen[:2], seen, jax.random.key(0), classes=2)


@pytest.mark.parametrize("name", ["classes", "heads", "size", "steps"])
def test_a_probe_too_large_for_the_memory_is_refused_before_it_is_made(name):
    rows, labels, seen = np.ones((3, 4, 2)), np.zeros((3, 4), int), np.ones((3, 4), bool)
    given = {"classes": 2} | {name: 10**9}
    with pytest.raises(ValueError, match="numbers; at most"):
        fit_position_probe(rows, labels, seen, seen, jax.random.key(0), **given)
