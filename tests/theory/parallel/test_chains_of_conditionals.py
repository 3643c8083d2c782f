"""Kernels, their constants and their hitting times against loops, linear algebra and closed forms."""

import itertools
import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicosm.theory.parallel import bounds, hitting, kernels, lumped, mixing, transformers
from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw
from minicosm.worlds.joint import random_ising
from minicosm.worlds.joint.counterexamples import independent_bits, two_bits, two_islands


def drawn(seed: int, N: int = 3):
    rng = np.random.default_rng(seed)
    return rng, random_ising(jax.random.key(seed), N).joint()


def step_by_hand(joint: Joint, masks: MaskLaw) -> np.ndarray:
    """P[x, y] by a loop over x, y and K."""
    states, p = joint.states, joint.probabilities
    table = masks.table(len(p))
    P = np.zeros((len(p), len(p)))
    for x, y, m in itertools.product(range(len(p)), range(len(p)), range(len(masks.masks))):
        seen = ~masks.masks[m]
        if (states[x][seen] == states[y][seen]).all():
            same = [z for z in range(len(p)) if (states[z][seen] == states[x][seen]).all()]
            P[x, y] += table[x, m] * p[y] * table[y, m] / sum(p[z] * table[z, m] for z in same)
    return P


@settings(max_examples=6)
@given(st.integers(0, 30), st.booleans())
def test_block_dynamics_by_hand(seed, adaptive):
    rng, joint = drawn(seed)
    masks = MaskLaw.uniform(3, int(rng.integers(1, 4)))
    if adaptive:
        weights = rng.dirichlet(np.ones(len(masks.masks)), size=8)
        masks = MaskLaw(masks.masks, weights)
    P = kernels.block_dynamics(joint, masks)
    np.testing.assert_allclose(P, step_by_hand(joint, masks), atol=1e-13)
    assert kernels.stochastic_error(P) < 1e-12
    assert kernels.reversibility_error(P, joint.probabilities) < 1e-12
    np.testing.assert_allclose(kernels.stationary(P), joint.probabilities, atol=1e-10)
    f, g = rng.normal(size=(2, 8))
    form = mixing.dirichlet(P, joint.probabilities, f, g)
    assert form == pytest.approx(mixing.conditional_covariance(joint, masks, f, g))
    mu = joint.probabilities
    pairs = sum(
        mu[x] * P[x, y] * (f[x] - f[y]) * (g[x] - g[y]) / 2 for x in range(8) for y in range(8)
    )
    assert form == pytest.approx(pairs)


@settings(max_examples=5)
@given(st.integers(0, 30))
def test_parallel_kernels_by_hand(seed):
    rng, joint = drawn(seed)
    P, states, p = kernels.independent_parallel(joint), joint.states, joint.probabilities
    keep = float(rng.uniform(0, 0.9))
    Q = kernels.denoiser(joint, keep)
    for x, y in itertools.product(range(8), repeat=2):
        alone = denoised = 1.0
        for i in range(3):
            flipped = x ^ (4 >> i)
            other = p[flipped] if states[x][i] != states[y][i] else p[x]
            alone *= other / (p[x] + p[flipped])
            likely = [
                p[z]
                * math.prod(
                    keep * (a == b) + (1 - keep) / 2
                    for a, b in zip(states[z], states[x], strict=True)
                )
                for z in range(8)
            ]
            denoised *= sum(w for z, w in enumerate(likely) if states[z][i] == states[y][i]) / sum(
                likely
            )
        assert P[x, y] == pytest.approx(alone) and Q[x, y] == pytest.approx(denoised)


def test_the_law_of_the_independent_sampler():
    world = random_ising(jax.random.key(3), 4)
    P = kernels.independent_parallel(world.joint())
    pi = kernels.parallel_stationary(world.h, world.J)
    np.testing.assert_allclose(np.linalg.matrix_power(P, 4000)[0], pi, atol=1e-9)
    pair = kernels.independent_parallel(Ising(np.zeros(2), 3 * (1 - np.eye(2))).joint())
    assert pair[2, 1] == pytest.approx((1 / (1 + math.exp(-6))) ** 2)


@given(st.integers(0, 20))
def test_no_function_beats_the_poincare_constant_and_one_attains_it(seed):
    rng, joint = drawn(seed)
    P, mu = kernels.k_gibbs(joint, int(rng.integers(1, 4))), joint.probabilities
    C = mixing.poincare(P, mu)
    values, vectors = np.linalg.eig(P)
    second = np.real(vectors[:, np.argsort(-np.real(values))[1]])
    for f, equal in [(rng.normal(size=8), False), (second, True)]:
        variance = mu @ f**2 - (mu @ f) ** 2
        ratio = variance / mixing.dirichlet(P, mu, f, f)
        assert ratio <= C * (1 + 1e-9)
        assert not equal or ratio == pytest.approx(C)


@settings(max_examples=4)
@given(st.integers(0, 10))
def test_the_entropy_bracket_holds_every_law(seed):
    rng, joint = drawn(seed, 2)
    masks = MaskLaw.uniform(2, 1)
    found = mixing.entropy_constant(joint, masks, starts=3, steps=20)
    assert found.lower <= found.upper
    q = joint.probabilities
    for _ in range(20):
        r = rng.dirichlet(np.full(4, 0.5))
        inside = 0.0  # E KL of the conditionals, by hand
        for i in range(2):
            R, Q = (np.moveaxis(a.reshape(2, 2), i, 1) for a in (r, q))
            for a, b in zip(R, Q, strict=True):
                inside += 0.5 * (a * np.log((a / a.sum()) / (b / b.sum()))).sum()
        assert mixing.conditional_kl(r, q, masks, 2) == pytest.approx(inside, abs=1e-12)
        assert (r * np.log(r / q)).sum() <= found.upper * inside
    ratio = mixing.kl(found.witness, q) / max(
        mixing.conditional_kl(found.witness, q, masks, 2), 1e-9
    )
    assert found.lower == pytest.approx(
        max(float(ratio), mixing.poincare(kernels.k_gibbs(joint, 1), q))
    )


def test_independent_bits_have_constants_n_over_k_and_refute_the_printed_rate():
    joint = independent_bits(4, 1e-4)
    for k in (1, 2):
        assert mixing.poincare(kernels.k_gibbs(joint, k), joint.probabilities) == pytest.approx(
            4 / k
        )
    start = np.eye(16)[-1]
    kl = mixing.kl(kernels.evolve(kernels.k_gibbs(joint, 1), start, 4), joint.probabilities)
    assert kl[4] / kl[0] == pytest.approx(0.252, abs=5e-4)
    assert bounds.printed_kl_rate(4.0) ** 4 < kl[4] / kl[0] < bounds.kl_rate(4.0) ** 4


def test_islands_and_pairs_fall_apart():
    joint = two_islands(0.3)
    assert mixing.poincare(kernels.k_gibbs(joint, 1), joint.probabilities) == math.inf
    assert mixing.entropy_constant(joint, MaskLaw.uniform(2, 1)).lower == math.inf
    assert mixing.poincare(kernels.k_gibbs(joint, 2), joint.probabilities) == pytest.approx(1)
    with pytest.raises(ValueError, match="closed classes; its stationary law is not unique"):
        kernels.stationary(kernels.k_gibbs(joint, 1))
    world, masks = two_bits()
    P, law = kernels.pair_chain(world, masks)
    assert kernels.reversibility_error(P, law) < 1e-12 and mixing.poincare(P, law) == math.inf
    assert mixing.chi_squared(np.array([0, 1.0, 0, 0]), joint.probabilities) == math.inf


# -- hitting times ------------------------------------------------------------------------------


@given(st.integers(0, 30), st.integers(2, 8))
def test_hitting_times_solve_the_linear_system(seed, n):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n), size=n)
    target = np.arange(n) == 0
    Q = P[1:, 1:]
    wanted = np.linalg.solve(np.eye(n - 1) - Q, np.ones(n - 1))
    np.testing.assert_allclose(hitting.expected_steps(P, target)[1:], wanted, rtol=1e-9)
    start = np.eye(n)[n - 1]
    left = hitting.survival(P, target, start, 30)
    np.testing.assert_allclose(left[7], np.linalg.matrix_power(Q, 7)[-1].sum(), rtol=1e-9)
    assert hitting.survival_at(P, target, start, 7) == pytest.approx(left[7])
    assert hitting.capped_steps(P, target, start, 30) == pytest.approx(left[:30].sum())
    assert hitting.hit_probability(P, target, start, 30) == pytest.approx(1 - left[30])


def test_times_of_1e28_steps_and_of_for_ever():
    p = 1e-28
    P = np.array([[1 - p, p], [0.0, 1.0]])
    target = np.array([False, True])
    assert hitting.expected_steps(P, target)[0] == pytest.approx(1e28)
    assert hitting.hit_probability(P, target, np.array([1.0, 0]), 10) == pytest.approx(1e-27)
    stuck = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0, 0, 1.0]])
    found = hitting.expected_steps(stuck, np.array([False, False, True]))
    assert found[0] == found[1] == math.inf and found[2] == 0


@given(st.integers(2, 4), st.integers(0, 2), st.floats(0.1, 1.5), st.floats(0, 1), st.data())
def test_lumped_chains_are_the_enumerated_ones(c, free, J, h, data):
    world = CliqueIsing(c + free, c, J, h)
    joint, state = world.ising().joint(), world.lumped()
    sums = np.eye(c + 1)[joint.states[:, :c].sum(axis=1)]
    k = data.draw(st.integers(1, c + free))
    full = kernels.k_gibbs(joint, k)
    np.testing.assert_allclose(full @ sums, sums @ lumped.k_gibbs(state, k), atol=1e-12)
    alone = kernels.independent_parallel(joint)
    np.testing.assert_allclose(alone @ sums, sums @ lumped.independent_parallel(state), atol=1e-12)
    masks = MaskLaw.uniform(c + free, k)
    one = hitting.reach_in_one(joint, masks, world.mode(1))
    np.testing.assert_allclose(one, full[:, world.mode(1)].sum(axis=1), atol=1e-12)


@given(st.integers(0, 20))
def test_impossible_contexts_stay_also_without_a_kernel(seed):
    """`reach_in_one` is a row sum of the kernel from impossible states too."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(8)) * (rng.random(8) < 0.4) + 0.1 * np.eye(8)[0]
    joint, masks = Joint(p / p.sum(), 2, 3), MaskLaw.uniform(3, int(rng.integers(1, 3)))
    if seed % 2:
        table = rng.dirichlet(np.ones(3), size=8)
        table[(p == 0) & (rng.random(8) < 0.5)] = 0
        masks = MaskLaw(masks.masks, table)
    target = rng.random(8) < 0.5
    target[seed % 8] = True
    P = kernels.block_dynamics(joint, masks)
    found = hitting.reach_in_one(joint, masks, target)
    np.testing.assert_allclose(found, P[:, target].sum(axis=1), atol=1e-12)


def test_lumped_chains_of_hundreds_of_spins_keep_their_law():
    state = CliqueIsing(160, 130, 0.01, 0.002).lumped()
    law = np.exp(state.log_law)
    for k in (1, 17):
        P = lumped.k_gibbs(state, k)
        assert kernels.stochastic_error(P) < 1e-10
        np.testing.assert_allclose(law @ P, law, atol=1e-12)


# -- bounds -------------------------------------------------------------------------------------


def test_the_bound_on_the_joint_law():
    margin, cover = bounds.margin_and_cover(2, 3, 0.5, 0.05)
    found = [
        bounds.joint_bound(bounds.Sizes(2, 2, n, m, 0.1, 0.05, cover, margin), 2.5, 0.0)
        for m, n in ((10**3, 10**4), (10**9, 10**6), (10**14, 10**8))
    ]
    np.testing.assert_allclose(found, [181, 5.7, 0.41], rtol=0.01)
    # once more from the printed formula, term by term
    C_eps, beta = math.ceil(8 * 0.5 * 3 / 0.05) ** 3, 2**-2 * math.exp(-3)
    B = math.sqrt(2**6 * 4 * C_eps / (1e9 * 0.1)) + math.sqrt(math.log(8 * C_eps / 0.1) / 2e6)
    whole = math.sqrt(2.5 / 2 * (B * math.log(1 / beta) + 0.05)) + math.sqrt(64 / (8 * 0.1 * 1e6))
    assert found[1] == pytest.approx(whole)


def test_bounds_beyond_a_double():
    """Gaps of 400 tokens are infinite, steps to a mode of 1000 spins in 2000 are 1e601; and where all
    fits into a double, the numbers are those of the formulas."""
    sizes = bounds.Sizes(400, 4, 1000, 10, 0.1, 0.05, 20.0, 300.0)
    assert bounds.empirical_gap(400, 4, 1000, 0.1) == math.inf
    assert bounds.joint_bound(sizes, 2.5, 0.0) == math.inf
    assert bounds.pointwise_gap(1100, 4, 300.0, 10, 1000, 0.1, 1.0)[1] == math.inf
    assert bounds.corollary_choice(1100, 4, 300.0, 10, 1000, 0.1)[0] == math.inf
    assert bounds.corollary_gap(1100, 4, 300.0, 10, 1000, 0.1) == math.inf
    wide = CliqueIsing(2000, 1000, 3000.0, 1.0)
    steps = Fraction(bounds.reach_steps(wide, 1000, 0.1), math.comb(2000, 1000))
    assert float(steps) == pytest.approx(math.log(10), rel=1e-11)
    assert bounds.reach_steps(wide, 2000, 0.1) == 1
    weak = CliqueIsing(1100, 1100, 1.2, 0.001)  # 2^c - 2 beyond a double
    assert bounds.reach_probability(weak, 1100) == 0
    steps = Fraction(bounds.reach_steps(weak, 1100, 0.1), 2**1100)
    assert float(steps) == pytest.approx(math.log(10) * math.exp(-2.4), rel=1e-11)
    small = CliqueIsing(6, 4, 9.0, 0.1)
    field, slack = small.clique_field, small.slack
    reach = 2 / 6 * math.exp(2 * (slack + field))
    reach /= math.exp(2 * (slack + field)) + math.exp(2 * slack) + 2**4 - 2
    assert bounds.reach_probability(small, 5) == pytest.approx(reach)
    assert (1 - reach) ** bounds.reach_steps(small, 5, 0.01) <= 0.01
    assert bounds.empirical_gap(2, 3, 50, 0.1) == pytest.approx(math.sqrt(3**6 / (16 * 0.1 * 50)))
    e, t = bounds.corollary_choice(3, 2, 4.0, 10, 50, 0.1)
    assert e == pytest.approx(math.sqrt(2**2 * 2**3 / (10 * 0.1)))
    gap, fails = bounds.pointwise_gap(3, 2, 4.0, 10, 50, e, t)
    assert gap == pytest.approx(bounds.corollary_gap(3, 2, 4.0, 10, 50, 0.1))
    assert fails == pytest.approx(0.1)


def test_modes_stuck_and_separation():
    weak = CliqueIsing(2, 2, 0.001 + 2e-6, 1e-6)
    assert bounds.strongly_ferromagnetic(weak).holds
    found = bounds.stuck(weak, 0.74)
    assert found.steps == 1 and not found.applies
    assert kernels.independent_parallel(weak.ising().joint())[0, 0] < 1 - 0.74
    ten = bounds.strongly_ferromagnetic(CliqueIsing(10, 4, 60.0, 5.0))
    assert not ten.holds and "not more than the fields outside" in ten.reason
    assert not bounds.strongly_ferromagnetic(CliqueIsing(4, 4, 20.0, 5.0)).holds
    assert bounds.strongly_ferromagnetic(CliqueIsing(4, 4, 20.1, 5.0)).holds
    sizes = bounds.separation(1000, 0.1)
    assert sizes.clique == 93 and sizes.slack == pytest.approx(32.2, abs=0.05)
    world = CliqueIsing(93, 93, sizes.slack + sizes.clique_field, sizes.clique_field / 93)
    assert lumped.k_gibbs(world.lumped(), 93)[:, 93].min() == pytest.approx(0.98734, abs=5e-6)
    assert bounds.least_k(2184, 56, 0.1) == 2183 and bounds.least_k(2183, 56, 0.1) == 2183
    for c in (2, 5, 8):
        sums = [sum(x) for x in itertools.product((-1, 1), repeat=c)]
        assert bounds.stuck_at_start(c) == pytest.approx(sum(s <= -2 for s in sums) / 2**c)


# -- Transformers -------------------------------------------------------------------------------


def test_a_transformer_of_one_layer_is_any_table():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(3), size=(9, 2))
    model = transformers.product(laws)
    assert model.config.layers == 1
    np.testing.assert_allclose(transformers.laws_of(model, 2), laws, atol=1e-14)
    image = rng.integers(3, size=(9, 2))
    P = transformers.kernel_of(transformers.deterministic(image, 3), 2, argmax=True)
    np.testing.assert_array_equal(P.argmax(axis=1), image @ [3, 1])
    assert P.max(axis=1).min() == 1
    assert transformers.row_dependence(transformers.kernel_of(model, 2), 3, 2).max() < 1e-12


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: kernels.k_gibbs(independent_bits(12, 0.5), 1), "at most 2048 states. .*lumped"),
        (lambda: kernels.denoiser(independent_bits(2, 0.5), 1.5), r"keep is 1.5; .* at most 1"),
        (lambda: lumped.k_gibbs(CliqueIsing(6, 4, 1.0, 0.1).lumped(), 7), r"k is 7; .* 1..6"),
        *(
            (lambda k=k: lumped.k_gibbs(CliqueIsing(6, 4, 1.0, 0.1).lumped(), k), r"whole .* 1..6")
            for k in (2.5, "2", None)
        ),
        *(
            (lambda k=k: bounds.reach_probability(CliqueIsing(6, 4, 9.0, 0.1), k), r"whole .* 1..6")
            for k in (4.5, "4", None)
        ),
        (lambda: lumped.at(CliqueIsing(6, 4, 1.0, 0.1).lumped(), 5), r"s is 5; .* states 0..4"),
        (lambda: lumped.at(CliqueIsing(6, 4, 1.0, 0.1).lumped(), -1), "s is -1"),
        (
            lambda: bounds.reach_steps(CliqueIsing(6, 4, 9.0, 0.1), 5, 0.0),
            "delta is 0; .* more than 0",
        ),
        (lambda: bounds.separation(0, 0.1), "budget is 0"),
        *(
            (lambda f=f, start=start: f(np.eye(2), np.array([False, True]), start, 3), sentence)
            for f in (
                hitting.survival,
                hitting.survival_at,
                hitting.hit_probability,
                hitting.capped_steps,
            )
            for start, sentence in (
                (np.ones(3) / 3, r"start has shape \(3,\); it must have shape \(2,\)"),
                (np.array([0.5, 0.6]), "start sums to 1.1"),
                (np.array([1.5, -0.5]), r"start\[1\] is -0.5"),
                (np.array([np.nan, 1]), r"start\[0\] is nan"),
            )
        ),
        (
            lambda: hitting.survival(np.eye(2), np.array([False, True]), np.ones(2) / 2, -1),
            "budget is -1",
        ),
        (lambda: hitting.expected_steps(np.eye(2), np.array([0, 1])), "dtype int64"),
        (lambda: hitting.expected_steps(np.ones((2, 3)), np.ones(2, bool)), "P has shape"),
        (
            lambda: hitting.expected_steps(np.full((2, 2), np.nan), np.array([False, True])),
            r"P\[0, 0\] is nan",
        ),
        (lambda: transformers.product(np.full((4, 2, 2), np.nan)), r"laws\[0, 0, 0\] is nan"),
        (
            lambda: transformers.lookup(np.full((4, 2, 2), np.nan)),
            r"logits\[0, 0, 0\] is nan; .* finite",
        ),
        (lambda: transformers.lookup(np.zeros((4, 2))), r"logits has shape \(4, 2\)"),
        (lambda: transformers.deterministic(np.full((4, 2), 0.5), 2), "dtype float64"),
        (lambda: mixing.poincare(np.eye(2)[::-1], np.array([0.9, 0.1])), "reversible for mu"),
        (lambda: hitting.expected_steps(np.eye(2), np.zeros(2, bool)), "true for at least one"),
        (lambda: bounds.reach_probability(CliqueIsing(6, 4, 9.0, 0.1), 3), r"needs k in 4..6"),
        (lambda: transformers.lookup(np.zeros((7, 3, 2))), "logits has 7 rows"),
        (lambda: transformers.lookup(np.zeros((2**12, 12, 2))), "hidden units"),
        (lambda: transformers.product(np.ones((4, 2, 2))), "sum to 1"),
        (lambda: transformers.deterministic(np.full((4, 2), 2), 2), r"outside the vocabulary 0..1"),
    ],
)
def test_bad_input_is_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
