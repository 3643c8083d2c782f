"""Every world keeps the contract of `minicosm.worlds.world`, with sums over all sequences as referee."""

import inspect
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import minicosm.worlds as worlds
from minicosm.worlds import (
    HMM,
    LDA,
    CausalWorld,
    CompleteDyck,
    Drawn,
    Dyck,
    Fertility,
    FlipFlop,
    GuidedWorld,
    HierarchicalParity,
    Ising,
    Joint,
    LatentWorld,
    LayeredPCFG,
    MaskedWorld,
    MemoryHMM,
    Mixture,
    OverlappingTopics,
    Semiautomaton,
    SparseParity,
    TopicWorld,
    World,
    secret_parity,
)


class Case(NamedTuple):
    """A small world, the length of its sequences, and the protocols it satisfies besides sampling."""

    make: Callable[[], Any]
    length: int
    answers: tuple[type, ...]
    own_length: bool = False
    """Whether `sample(key)` takes the length from the world."""


def laws(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).dirichlet(np.ones(shape[0]), shape[1:]).T


CASES = {
    HMM: Case(
        lambda: HMM(laws(2, 2), laws(3, 2), laws(2)), 3, (MaskedWorld, CausalWorld, LatentWorld)
    ),
    MemoryHMM: Case(
        lambda: MemoryHMM(laws(2, 2), laws(3, 2, 2), laws(2), laws(2)),
        3,
        (MaskedWorld, CausalWorld, LatentWorld),
    ),
    Dyck: Case(lambda: Dyck(2, 2, 0.4), 3, (CausalWorld,)),
    Semiautomaton: Case(
        lambda: Semiautomaton([[1, 0], [0, 0]], 0, [laws(2, 2), [[1, 0], [0, 1]]], laws(2)),
        3,
        (CausalWorld,),
    ),
    FlipFlop: Case(lambda: FlipFlop(4, [0.2, 0.3, 0.5]), 4, (CausalWorld,), True),
    Mixture: Case(
        lambda: Mixture([FlipFlop(4, p_ignore=0.2), FlipFlop(4, p_ignore=1)], [0.3, 0.7]),
        4,
        (World,),
    ),
    CompleteDyck: Case(lambda: CompleteDyck(Dyck(2, 2), [4]), 4, (World,), True),
    GuidedWorld: Case(lambda: secret_parity([1, 0, 1]), 4, (), True),
    Joint: Case(lambda: Joint(laws(8), 2, 3), 3, (MaskedWorld,), True),
    Ising: Case(lambda: Ising([0.3, -0.2, 0.1], np.zeros((3, 3))), 3, (), True),
    Fertility: Case(
        lambda: Fertility([0.5, 0.5], source_vocab=3, shortest=2, longest=2), 4, (), True
    ),
    TopicWorld: Case(
        lambda: TopicWorld(2, 2, dirichlet=0.4, lengths=(3, 3)),
        3,
        (MaskedWorld, CausalWorld, LatentWorld),
        True,
    ),
    LDA: Case(lambda: LDA(laws(3, 2), [0.4, 1.0]), 3, (MaskedWorld, LatentWorld)),
    LayeredPCFG: Case(
        lambda: LayeredPCFG({3: [[0, 1], [2, 2], [1, 0]]}, 3, {3: [0.5, 0.3, 0.2]}),
        2,
        (MaskedWorld, CausalWorld),
        True,
    ),
    SparseParity: Case(lambda: SparseParity(3, 2), 3, (World,), True),
    HierarchicalParity: Case(lambda: HierarchicalParity(3, 1, 2), 3, (World,), True),
    OverlappingTopics: Case(lambda: OverlappingTopics(laws(4, 2), [0, 0, 0, 1.0], most=2), 3, ()),
}
NO_WORLDS = (
    worlds.MaskLaw,
    worlds.GaussianHMM,
    worlds.ExponentialFamily,
    worlds.FiniteFamily,
    worlds.GaussianMean,
    worlds.DiagonalGaussian,
)
"""Have a method `sample`, which draws something else than tokens."""


@cache
def made(kind: type) -> Any:
    return CASES[kind].make()


@cache
def table(kind: type) -> tuple[np.ndarray, np.ndarray]:
    """All sequences, and the log-probability that the world gives each."""
    world, length = made(kind), CASES[kind].length
    sequences = np.array(list(itertools.product(range(world.vocab), repeat=length)))
    if isinstance(world, Joint):  # a table in NumPy
        return sequences, np.array([world.log_prob(tokens) for tokens in sequences])
    return sequences, np.asarray(jax.jit(jax.vmap(world.log_prob))(sequences), float)


def that_satisfy(protocol: type) -> list[type]:
    return [k for k, case in CASES.items() if any(protocol in p.__mro__ for p in case.answers)]


def test_no_world_is_missing_here():
    classes = [value for value in vars(worlds).values() if inspect.isclass(value)]
    sampling = {
        kind for kind in classes if hasattr(kind, "sample") and not getattr(kind, "_is_protocol", 0)
    }
    assert sampling - set(NO_WORLDS) <= set(CASES)


@pytest.mark.parametrize("kind", CASES)
def test_samples_are_tokens_of_the_vocabulary(kind):
    world, (_, length, answers, own_length) = made(kind), CASES[kind]
    assert all(isinstance(world, protocol) for protocol in answers)
    for options in ({"length": length}, {})[: 1 + own_length]:
        drawn = world.sample(jax.random.key(1), **options)
        assert isinstance(drawn, Drawn)
        tokens = np.asarray(drawn.tokens)
        assert tokens.shape == (length,) and tokens.dtype.kind == "i"
        assert ((tokens >= 0) & (tokens <= world.vocab)).all()  # `vocab` is the padding
        again = world.sample(jax.random.key(1), **options)
        np.testing.assert_array_equal(tokens, again.tokens)


@pytest.mark.parametrize("kind", that_satisfy(World))
def test_probabilities_of_all_sequences_sum_to_one(kind):
    sequences, logs = table(kind)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-5)
    tokens = np.asarray(made(kind).sample(jax.random.key(2), CASES[kind].length).tokens)
    assert np.isfinite(logs[(sequences == tokens).all(axis=1)]).all()


@pytest.mark.parametrize("kind", that_satisfy(MaskedWorld))
def test_conditionals_are_quotients_of_sums_of_probabilities(kind):
    world, (sequences, logs) = made(kind), table(kind)
    tokens, observed = sequences[len(sequences) // 2], np.arange(CASES[kind].length) != 1
    found = np.asarray(world.conditionals(tokens, observed))
    for i in range(len(tokens)):
        context = observed & (np.arange(len(tokens)) != i)
        weights = np.exp(logs) * (sequences == tokens)[:, context].all(axis=1)
        law = np.bincount(sequences[:, i], weights, world.vocab)
        np.testing.assert_allclose(found[i], law / law.sum(), atol=1e-5)


@pytest.mark.parametrize("kind", that_satisfy(CausalWorld))
def test_next_logits_are_quotients_of_sums_of_probabilities(kind):
    world, (sequences, logs) = made(kind), table(kind)
    tokens = sequences[np.argmax(logs)]
    found = np.exp(np.asarray(world.next_logits(tokens)))
    for i in range(1, len(tokens)):
        weights = np.exp(logs) * (sequences[:, :i] == tokens[:i]).all(axis=1)
        law = np.bincount(sequences[:, i], weights, world.vocab)
        np.testing.assert_allclose(found[i - 1], law / law.sum(), atol=1e-5)


@pytest.mark.parametrize("kind", that_satisfy(LatentWorld))
def test_posteriors_are_laws(kind):
    tokens = made(kind).sample(jax.random.key(3), 3).tokens
    for law in made(kind).posterior(tokens):
        np.testing.assert_allclose(np.asarray(law).sum(axis=-1), 1, atol=1e-5)
