"""Masked pseudolikelihood against a general optimiser and differences of the loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from minicosm.theory.parallel import information as info
from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import CliqueIsing, Ising, MaskLaw

RNG = np.random.default_rng(0)


def ising(rng: np.random.Generator, scale: float = 0.5) -> Ising:
    """Three spins with random fields and couplings."""
    J = np.triu(scale * rng.normal(size=(3, 3)), 1)
    return Ising(scale * rng.normal(size=3), J + J.T)


def loss_by_hand(theta, counts, T, masks: MaskLaw, states, evidence=True):
    total = 0.0
    table = masks.table(len(states))
    for m, mask in enumerate(masks.masks):
        weight = np.exp(T @ theta) * (table[:, m] if evidence else 1)
        for x in np.flatnonzero(counts[m]):
            same = (states[:, ~mask] == states[x, ~mask]).all(axis=1)
            total -= counts[m, x] * np.log(weight[x] / weight[same].sum())
    return total / counts.sum()


@settings(max_examples=5)
@given(st.integers(0, 50), st.sampled_from(["uniform", "adaptive", "ignored"]))
def test_the_fit_is_the_minimum(seed, kind):
    rng = np.random.default_rng(seed)
    world = ising(rng, 0.3)
    joint, T = world.joint(), world.statistics()
    masks = MaskLaw.uniform(3, int(rng.integers(1, 4)))
    if kind != "uniform":
        weights = rng.dirichlet(np.full(len(masks.masks), 2.0), size=8)
        masks = MaskLaw(masks.masks, weights)
    given_ = {"mask_is_evidence": kind != "ignored"}
    counts = mpl.draw_counts(rng, joint, masks, 400)[0]
    assert counts.sum() == 400

    def value(theta):
        return loss_by_hand(theta, counts, T, masks, joint.states, kind != "ignored")

    theta = rng.normal(size=6) * 0.3
    assert mpl.loss(theta, counts, T, masks, 2, **given_) == pytest.approx(value(theta))
    gradient, hessian = mpl.derivatives(theta, counts, T, masks, 2, **given_)
    e = 1e-5
    slopes = [(value(theta + e * u) - value(theta - e * u)) / (2 * e) for u in np.eye(6)]
    np.testing.assert_allclose(gradient, slopes, atol=1e-8)
    up, down = (
        mpl.derivatives(theta + s * e * np.eye(6)[0], counts, T, masks, 2, **given_)[0]
        for s in (1, -1)
    )
    np.testing.assert_allclose(hessian[0], (up - down) / (2 * e), atol=1e-7)
    found = mpl.fit(counts, T, masks, 2, **given_)
    if found.converged:
        wanted = minimize(value, np.zeros(6), method="BFGS", options={"gtol": 1e-7})
        np.testing.assert_allclose(found.theta, wanted.x, atol=1e-4)


def test_a_batch_is_its_members_and_averaged_masks_are_maximum_likelihood():
    world = CliqueIsing(4, 4, 0.3, 0.0).ising()
    joint, T = world.joint(), world.statistics()
    rng = np.random.default_rng(0)
    masks = MaskLaw.uniform(4, 2)
    counts = mpl.draw_counts(rng, joint, masks, 500, repeats=3)
    whole = mpl.fit(counts, T, masks, 2)
    for i in range(3):
        one = mpl.fit(counts[i], T, masks, 2)
        np.testing.assert_allclose(whole.theta[i], one.theta, atol=1e-7)
    assert whole.converged.all()
    sequences = counts.sum(axis=1)
    averaged = mpl.fit(mpl.averaged_counts(sequences, masks), T, masks, 2)
    likelihood = MaskLaw.uniform(4, 4)
    best = mpl.fit(mpl.averaged_counts(sequences, likelihood), T, likelihood, 2)
    np.testing.assert_allclose(averaged.theta, best.theta, atol=1e-7)
    # moments of the maximum likelihood estimate are those of the sample
    weights = np.exp(best.theta @ T.T)
    np.testing.assert_allclose(
        weights / weights.sum(axis=1, keepdims=True) @ T, sequences / 500 @ T, atol=1e-7
    )


def test_several_masks_of_one_example_share_its_sequence():
    world = ising(np.random.default_rng(0))
    joint = world.joint()
    masks = MaskLaw.uniform(3, 1)
    counts = mpl.draw_counts(np.random.default_rng(1), joint, masks, 50, masks_per_example=7)
    per_sequence = counts[0].sum(axis=0)
    np.testing.assert_allclose(per_sequence, np.round(per_sequence), atol=1e-9)
    assert per_sequence.sum() == pytest.approx(50)


def test_theory_meets_simulation():
    world = CliqueIsing(3, 3, 0.2, 0.1).ising()
    joint, T, theta = world.joint(), world.statistics(), world.parameters()
    masks = MaskLaw.uniform(3, 1)
    counts = mpl.draw_counts(np.random.default_rng(5), joint, masks, 4000, repeats=200)
    errors = 4000 * ((mpl.fit(counts, T, masks, 2).theta - theta) ** 2).sum(axis=1)
    trace = info.asymptotic_covariance(joint, T, masks).trace
    assert abs(errors.mean() - trace) < 4 * errors.std() / len(errors) ** 0.5


def test_a_minimum_at_infinity_does_not_converge():
    masks = MaskLaw.uniform(2, 2)
    T = CliqueIsing(2, 2, 1.0, 0.0).ising().statistics()
    counts = np.zeros((1, 4))
    counts[0, 3] = 10  # only (+, +) was ever seen
    assert not mpl.fit(counts, T, masks, 2).converged
    with pytest.raises(ValueError, match=r"must end in \(1, 4\)"):
        mpl.fit(np.zeros((2, 4)), T, masks, 2)


def test_contexts_far_below_the_most_likely_one_do_not_underflow():
    """Alternating spins of a strong clique: with one spin hidden, a context of energy -200 chooses between
    -200 and -100."""
    world = CliqueIsing(8, 8, 50.0, 0.0).ising()
    masks, counts = MaskLaw.uniform(8, 1), np.zeros((8, 256))
    counts[:, 0b01010101] = 1
    T, theta = world.statistics(), world.parameters()
    by_hand = []
    for i in range(8):
        here, flipped = (T[x] @ theta for x in (0b01010101, 0b01010101 ^ (128 >> i)))
        by_hand.append(np.logaddexp(here, flipped) - here)
    assert mpl.loss(theta, counts, T, masks, 2) == pytest.approx(np.mean(by_hand))
    gradient, hessian = mpl.derivatives(theta, counts, T, masks, 2)
    flips = np.array([T[0b01010101 ^ (128 >> i)] for i in range(8)])
    np.testing.assert_allclose(gradient, (flips - T[0b01010101]).mean(axis=0), atol=1e-12)
    assert np.isfinite(hessian).all()


masks, T = MaskLaw.uniform(2, 1), CliqueIsing(2, 2, 1.0, 0.0).ising().statistics()
bits = CliqueIsing(2, 2, 1.0, 0.0).ising().joint()
ones = np.ones((2, 4))


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        *(
            (
                lambda given=given: mpl.draw_counts(RNG, bits, masks, **{"examples": 9} | given),
                name,
            )
            for given, name in (
                ({"masks_per_example": 0}, "masks_per_example is 0; it must be a whole number"),
                ({"masks_per_example": 1.5}, "masks_per_example is 1.5; it must be a whole number"),
                ({"examples": 0}, "examples is 0"),
                ({"repeats": -1}, "repeats is -1"),
            )
        ),
        (lambda: mpl.fit(0 * ones, T, masks, 2), "all zero; it must have at least one example"),
        (lambda: mpl.fit(np.stack([ones, 0 * ones]), T, masks, 2), "all zero"),
        (lambda: mpl.fit(-ones, T, masks, 2), r"counts\[0, 0\] is -1; no entry may be negative"),
        (lambda: mpl.fit(np.nan * ones, T, masks, 2), r"counts\[0, 0\] is nan"),
        (lambda: mpl.loss(np.zeros(3), 0 * ones, T, masks, 2), "all zero"),
        (lambda: mpl.derivatives(np.zeros(3), -ones, T, masks, 2), "negative"),
        (lambda: mpl.fit(ones, T[:, :0], masks, 2), r"shape \(4, 0\); .* at least one column"),
        (lambda: mpl.fit(ones, T, masks, 3), "each of 9 sequences"),
    ],
)
def test_bad_input_is_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
