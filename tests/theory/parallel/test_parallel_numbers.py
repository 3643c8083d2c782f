"""Numbers of the chapter's worlds to the digit, found in double precision and, where a digit was in doubt,
with 40 digits; closed forms; and what the misprints of the source would mean."""

import itertools
import math
from math import comb, inf

import jax
import numpy as np
import pytest

from minicosm.studies.parallel.claims import digits
from minicosm.theory.parallel import bounds, exact_stutter, hitting, kernels, lumped, mixing
from minicosm.theory.parallel import information as info
from minicosm.training import pseudolikelihood as mpl
from minicosm.worlds import CliqueIsing, Fertility, Ising, MaskLaw
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.counterexamples import two_islands

FOUR_SPINS = {
    0.05: {
        "trace": (28.261, 15.335, 11.446, 10.112),
        "fields": (16.133, 8.053, 5.368, 4.033),
        "couplings": (12.128, 7.283, 6.078, 6.078),
        "constant": (4.7009, 2.2336, 1.4112, 1),
        "inefficiency": (4.7009, 2.2336, 1.4112, 1),
        "averaged": (10.112, 10.112, 10.112, 10.112),
        "spread": (13.4, 7.1, 5.2, 4.5),
        "aligned": (0.167,) * 4,
    },
    0.3: {
        "trace": (43.732, 23.462, 17.821, 16.327),
        "fields": (24.352, 11.639, 7.572, 6.079),
        "couplings": (19.381, 11.823, 10.249, 10.249),
        "constant": (14.6987, 5.5516, 2.5172, 1),
        "inefficiency": (14.6777, 5.5516, 2.5172, 1),
        "averaged": (16.337, 16.327, 16.327, 16.327),
        "spread": (20.7, 11.0, 8.5, 8.0),
        "aligned": (0.517,) * 4,
    },
}
DIGITS = {"constant": 4, "inefficiency": 4, "spread": 1}  # after the point; of the others 3


@pytest.mark.parametrize("J", FOUR_SPINS)
def test_what_each_k_costs_in_four_spins(J):
    """The worlds of Figures 4.1 and 4.2; where two positions or fewer are visible, Theorem 4.1.2 is sharp."""
    world = CliqueIsing(4, 4, J, 0.0).ising()
    joint, T = world.joint(), world.statistics()
    for k in range(1, 5):
        masks = MaskLaw.uniform(4, k)
        gamma = info.asymptotic_covariance(joint, T, masks).matrix
        found = {
            "trace": np.trace(gamma),
            "fields": np.trace(gamma[:4, :4]),
            "couplings": np.trace(gamma[4:, 4:]),
            "constant": mixing.poincare(kernels.k_gibbs(joint, k), joint.probabilities),
            "inefficiency": info.relative_inefficiency(info.fisher(joint, T), gamma),
            "averaged": info.asymptotic_covariance(joint, T, masks, inf).trace,
            "spread": np.sqrt(2 * np.trace(gamma @ gamma)),
            "aligned": joint.probabilities[[0, -1]].sum(),
        }
        for name, value in found.items():
            within = 0.51 * 10.0 ** -DIGITS.get(name, 3)
            assert value == pytest.approx(FOUR_SPINS[J][name][k - 1], abs=within), (name, k)
        if k >= 2:
            assert found["inefficiency"] == pytest.approx(found["constant"], rel=1e-9)


def test_averaged_masks_lose_the_order_and_several_masks_are_in_between():
    world = CliqueIsing(5, 5, 0.9, 1.7).ising()
    joint, T = world.joint(), world.statistics()
    one, two = (
        info.asymptotic_covariance(joint, T, MaskLaw.uniform(5, k), inf).matrix for k in (1, 2)
    )
    assert info.whitened_gap(one, two) == pytest.approx(-0.0037, abs=5e-5)
    world = CliqueIsing(4, 4, 0.3, 0.0).ising()
    joint, T, masks = world.joint(), world.statistics(), MaskLaw.uniform(4, 1)
    traces = [info.asymptotic_covariance(joint, T, masks, m).trace for m in (1, 2, 4)]
    np.testing.assert_allclose(traces, [43.7, 30.0, 23.2], atol=0.051)


def test_averaged_masks_are_maximum_likelihood():
    """All fields and couplings and N - k <= 2: the same estimate on every sample."""
    world = CliqueIsing(4, 4, 0.3, 0.0).ising()
    joint, T = world.joint(), world.statistics()
    rng = np.random.default_rng(0)
    counts = rng.multinomial(1000, joint.probabilities, size=3).astype(np.float64)
    fits = []
    for k in (2, 3, 4):
        masks = MaskLaw.uniform(4, k)
        fits.append(mpl.fit(mpl.averaged_counts(counts, masks), T, masks, 2).theta)
    np.testing.assert_allclose(fits[0], fits[2], atol=1e-6)
    np.testing.assert_allclose(fits[1], fits[2], atol=1e-6)


@pytest.mark.long
def test_several_masks_per_example_by_simulation():
    """`n |error|^2` with m masks per example, n = 2000, within four standard errors of the formula."""
    world = CliqueIsing(4, 4, 0.3, 0.0).ising()
    joint, T, masks = world.joint(), world.statistics(), MaskLaw.uniform(4, 1)
    rng = np.random.default_rng(1)
    for m in (1, 2, 4):
        counts = mpl.draw_counts(rng, joint, masks, 2000, masks_per_example=m, repeats=1000)
        errors = 2000 * ((mpl.fit(counts, T, masks, 2).theta - world.parameters()) ** 2).sum(axis=1)
        wanted = info.asymptotic_covariance(joint, T, masks, m).trace
        assert abs(errors.mean() - wanted) < 4 * errors.std(ddof=1) / 1000**0.5


def test_closed_forms():
    """Independent spins: the information of a field is k / N, that of a coupling
    1 - binom(N-2, k) / binom(N, k), and both constants of the sampler are N / k."""
    for N in (3, 4):
        world = Ising(np.zeros(N), np.zeros((N, N)))
        joint, T = world.joint(), world.statistics()
        for k in range(1, N + 1):
            pair = 1 - comb(N - 2, k) / comb(N, k)
            wanted = np.diag([k / N] * N + [pair] * comb(N, 2))
            masks = MaskLaw.uniform(N, k)
            np.testing.assert_allclose(info.information(joint, T, masks), wanted, atol=1e-12)
    joint = Ising([0.3, -0.5, 1.0], np.zeros((3, 3))).joint()
    for k in (1, 2, 3):
        found = mixing.entropy_constant(joint, MaskLaw.uniform(3, k), starts=3, steps=20)
        assert found.lower == pytest.approx(3 / k, rel=1e-6)
        C = mixing.poincare(kernels.k_gibbs(joint, k), joint.probabilities)
        assert pytest.approx(3 / k, rel=1e-9) == C


def test_masks_that_hide_more_teach_more_and_the_last_position_little():
    world = random_ising(jax.random.key(4), 4)
    joint, T = world.joint(), world.statistics()
    bernoulli = [info.information(joint, T, MaskLaw.bernoulli(4, r)) for r in (0.1, 0.4, 0.7, 1.0)]
    small = MaskLaw.uniform(4, 1)
    grown = small.masks | np.eye(4, dtype=bool)[[1, 3, 3, 0]]
    nested = [info.information(joint, T, m) for m in (small, MaskLaw(grown, small.weights))]
    for series in (bernoulli, nested):
        for less, more in itertools.pairwise(series):
            assert info.least_eigenvalue(more - less) > -info.PSD
    all_but_one, whole = (info.information(joint, T, MaskLaw.uniform(4, k)) for k in (3, 4))
    assert np.linalg.matrix_rank(whole - all_but_one, tol=1e-9) <= 4 < T.shape[1]


def test_one_bit_that_gives_the_other_away():
    for t in (0.3, 0.99):
        joint = two_islands(t)
        score = np.array([[-1 / (1 - t)], [0], [0], [1 / t]])
        one, two = (info.information(joint, score, MaskLaw.uniform(2, k))[0, 0] for k in (1, 2))
        assert one == 0 and two == pytest.approx(1 / (t * (1 - t)))
        both = mixing.entropy_constant(joint, MaskLaw.uniform(2, 2), starts=2, steps=5)
        assert both.lower == pytest.approx(1)


@pytest.mark.parametrize(("J", "h", "chain"), digits.ONE_PASS)
def test_passes_from_noise(J, h, chain):
    joint = CliqueIsing(6, 6, J, h).ising().joint()
    kind, *keep = chain.split()
    alone = kind == "independent"
    P = kernels.independent_parallel(joint) if alone else kernels.denoiser(joint, float(*keep))
    laws = kernels.evolve(P, np.full(64, 1 / 64), 10)
    for t, stated in zip((1, 2, 10), digits.ONE_PASS[J, h, chain], strict=True):
        away = float(mixing.total_variation(laws[t], joint.probabilities))
        found = (laws[t][[0, -1]].sum(), laws[t][-1], away)
        np.testing.assert_allclose(found, stated, atol=0.001)


@pytest.mark.parametrize("J", (*digits.STEPS, 10.0))
def test_steps_of_figure_4_3(J):
    state = CliqueIsing(10, 4, float(J), 5.0).lumped()
    target, start = np.arange(5) == 4, lumped.at(state, 0)
    for k, stated in enumerate(digits.STEPS[min(J, digits.FROZEN)], start=1):
        found = hitting.capped_steps(lumped.k_gibbs(state, k), target, start, 1000)
        assert found == pytest.approx(stated, abs=0.55 * digits.unit(stated))
    alone = lumped.independent_parallel(state)
    chance = hitting.hit_probability(alone, target, start, 1000)
    known = digits.ARRIVES
    assert chance == pytest.approx(known[J], rel=0.2) if J in known else chance < 1e-10
    mean = digits.ALONE.get(J)
    if mean:
        assert hitting.expected_steps(alone, target)[0] == pytest.approx(mean, abs=0.051)


@pytest.mark.parametrize(
    ("q", "stated"),
    [
        ((0.9, 0.1), (0.10, 0.48, 0.82)),
        ((0.5, 0.5), (0.19, 0.44, 0.52)),
        ((0.4, 0.3, 0.3), (0.29, 0.32, 0.34)),
    ],
)
def test_stutter_of_exact_decoding(q, stated):
    """Against 400 sampled sources, whose sampling error is .02."""
    np.testing.assert_allclose(exact_stutter(Fertility(q))[:3], stated, atol=0.02)


# -- what the misprints would mean -------------------------------------------------------------------


def test_the_fisher_information_has_a_logarithm():
    world = random_ising(jax.random.key(2), 3)
    joint, T = world.joint(), world.statistics()
    p = joint.probabilities
    gradient = p[:, None] * (T - p @ T)
    printed = np.cov(gradient.T, aweights=p, ddof=0)
    assert np.abs(printed - info.fisher(joint, T)).max() > 0.1


def test_constants_of_proposition_4_1_4():
    """Eight spins that hardly feel each other are all + with probability about 1/256: 2^c - 2 other states,
    not 2c - 2."""
    world = CliqueIsing(8, 8, 0.01 + 8 * 0.001, 0.001)
    joint = world.ising().joint()
    exact = hitting.reach_in_one(joint, MaskLaw.uniform(8, 8), world.mode(1)).min()
    weights = {}
    for x in itertools.product((-1, 1), repeat=8):
        pairs = sum(a * b for a, b in itertools.combinations(x, 2))
        weights[x] = math.exp(0.018 * pairs + 0.001 * sum(x))
    assert exact == pytest.approx(weights[(1,) * 8] / sum(weights.values()))
    top = math.exp(2 * (world.slack + world.clique_field))
    printed = top / (top + math.exp(2 * world.slack) + 2 * 8 - 2)
    assert bounds.reach_probability(world, 8) <= exact < printed - 1e-6


def test_the_corollary_by_hand():
    """N = 2, |Omega| = 2, m = 50, n = 200, delta = 0.1, beta = 1/e."""
    gap = math.sqrt(2**5 * 4 / 5) + math.sqrt(math.log(40) / 400)
    assert bounds.corollary_gap(2, 2, 1.0, 50, 200, 0.1) == pytest.approx(gap)
    e, t = bounds.corollary_choice(2, 2, 1.0, 50, 200, 0.1)
    assert 2 * math.exp(-2 * t**2 / 200) == pytest.approx(0.05)
    assert 4 / (e**2 * 50) == pytest.approx(0.05)  # 2^(N-2) |Omega|^N / (e^2 m)
    printed = math.sqrt(2**5 * 4 / 5)  # in place of e
    assert bounds.pointwise_gap(2, 2, 1.0, 50, 200, printed, t)[0] > 3 * gap


def test_two_coupled_spins_change_places():
    joint = Ising(np.zeros(2), 3 * (1 - np.eye(2))).joint()
    assert kernels.independent_parallel(joint)[2, 1] == pytest.approx(0.995, abs=5e-4)
