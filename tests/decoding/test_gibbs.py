"""Samplers against the rows of exact kernels, which share no code with them."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from minicosm.decoding import cliques, gibbs
from minicosm.theory.parallel import hitting, kernels, lumped
from minicosm.worlds import CliqueIsing, Ising, Joint, MaskLaw
from minicosm.worlds.joint.counterexamples import independent_bits, two_bits

CHAINS = 4000


def ising(rng: np.random.Generator, scale: float = 0.5) -> Ising:
    """Three spins with random fields and couplings."""
    J = np.triu(scale * rng.normal(size=(3, 3)), 1)
    return Ising(scale * rng.normal(size=3), J + J.T)


def follows(states, law) -> None:
    """Chi-squared over the states of enough mass; impossible states never occur."""
    counts = np.bincount(np.asarray(states), minlength=len(law))
    assert counts[law == 0].sum() == 0
    enough = CHAINS * law >= 5
    observed = np.append(counts[enough], counts[~enough].sum())
    expected = np.append(CHAINS * law[enough], max(CHAINS * law[~enough].sum(), 1e-9))
    statistic = ((observed - expected)[expected > 1] ** 2 / expected[expected > 1]).sum()
    assert stats.chi2.sf(statistic, len(observed) - 1) > 1e-4


def test_block_dynamics_steps_as_its_kernel():
    rng = np.random.default_rng(0)
    joint = ising(rng).joint()
    adaptive = MaskLaw(MaskLaw.uniform(3, 2).masks, rng.dirichlet(np.ones(3), size=8))
    holes = joint.probabilities * (np.arange(8) != 6)  # 6 is impossible and must never be visited
    for law, masks, start in (
        (joint, MaskLaw.uniform(3, 2), 5),
        (joint, adaptive, 2),
        (Joint(holes / holes.sum(), 2, 3), adaptive, 2),
    ):
        starts = np.full(CHAINS, start, np.int32)
        chain = gibbs.BlockDynamics(law, masks)
        last = gibbs.run_chains(chain, jax.random.key(1), starts, 2)
        P = kernels.block_dynamics(law, masks)
        follows(last, (P @ P)[start])
    again = gibbs.run_chains(chain, jax.random.key(1), starts, 2)
    np.testing.assert_array_equal(last, again)
    path = gibbs.trajectory(chain, jax.random.key(0), np.int32(3), 5)
    assert path.shape == (5,) and int(path.min()) >= 0 and int(path.max()) < 8


def test_impossible_contexts_stay_as_in_the_kernel():
    """Also states without a mask law: `two_bits` has none in its impossible state."""
    joint = Joint(np.array([0.5, 0, 0, 0, 0, 0, 0, 0.5]), 2, 3)
    for law, masks, start in ((joint, MaskLaw.uniform(3, 1), 1), (*two_bits(), 3)):
        starts = np.full(CHAINS, start, np.int32)
        last = gibbs.run_chains(gibbs.BlockDynamics(law, masks), jax.random.key(5), starts, 2)
        P = kernels.block_dynamics(law, masks)
        row = (P @ P)[start]
        assert P[start, start] > 0.3
        follows(last, row)


def test_product_chains_step_as_their_kernels():
    joint = ising(np.random.default_rng(1)).joint()
    starts = np.full(CHAINS, 6, np.int32)
    chain = gibbs.ProductChain(kernels.parallel_laws(joint))
    follows(
        gibbs.run_chains(chain, jax.random.key(3), starts, 1),
        kernels.independent_parallel(joint)[6],
    )
    chain = gibbs.ProductChain(kernels.denoiser_laws(joint, 0.15))
    follows(gibbs.run_chains(chain, jax.random.key(4), starts, 1), kernels.denoiser(joint, 0.15)[6])


@pytest.mark.parametrize("k", [1, 3, 5])
def test_clique_gibbs_steps_as_its_kernel(k):
    world = CliqueIsing(5, 3, 0.4, [0.2, 0.2, 0.2, -0.5, 0.7])
    joint = world.ising().joint()
    starts = np.tile([[-1, -1, 1, 1, -1]], (CHAINS, 1)).astype(np.int32)
    spins = np.asarray(gibbs.run_chains(gibbs.CliqueGibbs(world, k), jax.random.key(k), starts, 2))
    P = kernels.k_gibbs(joint, k)
    follows(joint.number((spins + 1) // 2), (P @ P)[0b00110])


def test_clique_parallel_steps_as_its_kernel():
    world = CliqueIsing(5, 3, 0.4, [0.1, 0.2, 0.3, -0.5, 0.7])
    joint = world.ising().joint()
    starts = np.tile([[-1, -1, 1, 1, -1]], (CHAINS, 1)).astype(np.int32)
    spins = np.asarray(gibbs.run_chains(gibbs.CliqueParallel(world), jax.random.key(9), starts, 2))
    P = kernels.independent_parallel(joint)
    follows(joint.number((spins + 1) // 2), (P @ P)[0b00110])


def test_sweeps_are_a_product_of_single_updates():
    """Three spins: one sweep is the product of the three kernels, in order."""
    world = CliqueIsing(3, 3, 0.4, 0.2)
    joint = world.ising().joint()
    sweep = np.eye(8)
    for i in range(3):
        members = kernels.contexts(joint, np.arange(3) == i)
        one = np.zeros((8, 8))
        p = joint.probabilities[members]
        one[members[:, :, None], members[:, None, :]] = (p / p.sum(axis=1, keepdims=True))[:, None]
        sweep = sweep @ one
    starts = np.tile([[-1], [1], [-1]], (1, CHAINS))
    spins = np.asarray(cliques.clique_sweeps(jax.random.key(0), starts, 0.4, 0.2, 2))
    follows(joint.number((spins.T + 1) // 2), (sweep @ sweep)[0b010])


@pytest.mark.parametrize(("k", "few"), [(2, 32), (5, 32), (3, 0)])
def test_blocks_of_many_chains_step_as_the_kernel(k, few, monkeypatch):
    """Places drawn, and, for k = 3, spins gone through: another k is another program."""
    monkeypatch.setattr(cliques, "FEW", few)
    joint = CliqueIsing(5, 5, 0.3, 0.2).ising().joint()
    starts = np.tile([[-1], [-1], [1], [1], [-1]], (1, CHAINS))
    spins = np.asarray(cliques.clique_blocks(jax.random.key(k), starts, 0.3, 0.2, k, 2))
    P = kernels.k_gibbs(joint, k)
    follows(joint.number((spins.T + 1) // 2), (P @ P)[0b00110])


def test_places_are_uniform_in_every_order():
    """Three of four places: all 24 ordered choices alike, none with a place twice."""
    random = tuple(jax.random.bits(jax.random.key(2), (4, CHAINS)))
    places = np.asarray(jax.jit(lambda words: cliques.ordered_places(words, 4, 3)[0])(random))
    codes = places[0] * 16 + places[1] * 4 + places[2]
    law = np.zeros(64)
    for a, b, c in itertools.permutations(range(4), 3):
        law[a * 16 + b * 4 + c] = 1 / 24
    follows(codes, law)


def test_hitting_steps_have_the_exact_mean():
    world = CliqueIsing(10, 4, 2.5, 5.0)
    starts = -np.ones((2000, 10), np.int32)
    steps = np.asarray(
        gibbs.hitting_steps(
            gibbs.CliqueGibbs(world, 3), jax.random.key(0), starts, arrived, jnp.int32(50)
        )
    )
    P, target = lumped.k_gibbs(world.lumped(), 3), np.arange(5) == 4
    exact = hitting.capped_steps(P, target, lumped.at(world.lumped(), 0), 50)
    assert abs(steps.mean() - exact) < 4 * steps.std() / len(steps) ** 0.5
    assert steps.min() >= 1 and steps.max() <= 50
    here = gibbs.hitting_steps(
        gibbs.CliqueGibbs(world, 3), jax.random.key(0), -starts, arrived, jnp.int32(50)
    )
    assert int(here.max()) == 0


def arrived(spins):
    return jnp.all(spins[:4] == 1)


def test_the_smallest_are_chosen_uniformly():
    rng = np.random.default_rng(0)
    bits = jnp.asarray(rng.integers(2**32, size=(3000, 6), dtype=np.uint32))
    chosen = jax.jit(jax.vmap(lambda row: gibbs.smallest(gibbs.distinct(row), jnp.int32(2))))(bits)
    assert (np.asarray(chosen).sum(axis=1) == 2).all()
    np.testing.assert_allclose(np.asarray(chosen).mean(axis=0), 1 / 3, atol=0.04)
    many = rng.permutation(40).astype(np.uint32)  # found bit by bit
    for count in (0, 1, 17, 40):
        found = gibbs.smallest(jnp.asarray(many), jnp.int32(count))
        np.testing.assert_array_equal(np.asarray(found), many < count)


def test_random_words_are_those_of_the_reference():
    """The first outputs of the authors' C program for the state 1, 2, 3, 4."""
    state, found = tuple(jnp.array([word], jnp.uint32) for word in (1, 2, 3, 4)), []
    for _ in range(3):
        bits, state = cliques.xoshiro(state)
        found.append(int(bits[0]))
    assert found == [641, 1573767, 3222811527]


def two_bits_chain():
    return gibbs.BlockDynamics(*two_bits())


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gibbs.CliqueGibbs(CliqueIsing(5, 3, 0.4, 0.1), 6), r"k is 6; .* 1..5"),
        (lambda: gibbs.CliqueGibbs(CliqueIsing(3, 3, 0.4, [0, 0, 1]), 1), "must be equal"),
        (
            lambda: cliques.clique_blocks(jax.random.key(0), np.ones((3, 2), int), 1.0, 0.0, 4, 1),
            r"k is 4; .* 1..3",
        ),
        *(
            (lambda k=k: gibbs.CliqueGibbs(CliqueIsing(5, 3, 0.4, 0.1), k), r"whole number in 1..5")
            for k in (2.5, "2", None)
        ),
        *(
            (
                lambda k=k: cliques.clique_blocks(
                    jax.random.key(0), np.ones((3, 2), int), 1.0, 0.0, k, 1
                ),
                r"k is .*; it must be a whole number in 1..3",
            )
            for k in (2.5, "2", None)
        ),
        *(
            (lambda start=start: gibbs.run_chains(two_bits_chain(), None, start, 1), sentence)
            for start, sentence in (
                (np.array([0, 99]), r"a start has 99 .* number of a sequence, 0..3"),
                (np.array([-1]), "a start has -1"),
                (np.array([0.5]), "a start has 0.5 of dtype float64"),
                (np.array(0), r"starts have shape \(\); each must be the number"),
                (np.array([[0, 1]]), r"starts have shape \(1, 2\)"),
            )
        ),
        (lambda: gibbs.trajectory(two_bits_chain(), None, np.int32(4), 1), "a start has 4"),
        (lambda: gibbs.run_chains(two_bits_chain(), None, np.array([0]), -1), "steps is -1"),
        (
            lambda: gibbs.hitting_steps(
                gibbs.CliqueParallel(CliqueIsing(3, 2, 1.0, 0.0)),
                None,
                np.eye(3, dtype=int),
                None,
                1,
            ),
            r"a start has 0 .* 3 spins -1 and \+1",
        ),
        (
            lambda: gibbs.run_chains(
                gibbs.CliqueGibbs(CliqueIsing(3, 2, 1.0, 0.0), 1), None, np.ones((1, 4), int), 1
            ),
            r"starts have shape \(1, 4\); each must be 3 spins",
        ),
        (
            lambda: gibbs.BlockDynamics(independent_bits(14, 0.5), MaskLaw.bernoulli(14, 0.5)),
            "entries; at most .*CliqueGibbs",
        ),
    ],
)
def test_bad_input_is_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
