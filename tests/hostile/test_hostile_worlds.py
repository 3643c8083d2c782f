"""Every public callable of `minicosm.worlds` meets hostile arguments with one sentence."""

import inspect

import numpy as np
import pytest
from hostile_tables import table

import minicosm.worlds as worlds
from hostile import (
    Call,
    array,
    count,
    faults,
    flag,
    key,
    number,
    positive,
    probability,
    report,
    thing,
    tokens,
    whole,
)
from minicosm.worlds import (
    HMM,
    CliqueIsing,
    CompleteDyck,
    DiagonalGaussian,
    Dyck,
    Fertility,
    FiniteFamily,
    GaussianMean,
    GuidedWorld,
    Ising,
    Joint,
    Knapsack,
    LumpedClique,
    MaskLaw,
    MemoryHMM,
    PosteriorTask,
    TableVerifier,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

A = np.array([[0.9, 0.3], [0.1, 0.7]])
W = np.array([[0.7, 0.1], [0.3, 0.4], [0.0, 0.5]])
HIDDEN = HMM(A, W, [0.6, 0.4])
CELLS = np.array([[[0.9, 0.2], [0.1, 0.2]], [[0.1, 0.8], [0.9, 0.8]]])
REMEMBERING = MemoryHMM(A, CELLS, [0.3, 0.7], [0.5, 0.5])
BRACKETS = Dyck(2, 3, 0.6)
COMPLETE = CompleteDyck(BRACKETS, [2, 4])
SPINS = Ising([0.3, -0.2], [[0, 0.5], [0.5, 0]])
TABLE = Joint([0.1, 0.2, 0.3, 0.4], 2, 2)
MASKS = MaskLaw.uniform(2, 1)
COIN = worlds.biased_coin(3)
PHRASES = Fertility([0.5, 0.5], source_vocab=3, shortest=2, longest=2)
EMBEDDED = np.asarray(HIDDEN.embed(np.array([0, 1, 1])))
TASK = PosteriorTask([1.0, -1.0])
STATES = count(2, names="tokens at")
PAIR = ("tokens far outside", "tokens below zero")  # two numbers, where these are right
FREE = ("entry -1", "entry 10**6", "plus .5")  # numbers of any size and sign
ROWS = ("entry 10**6", "plus .5", "one entry less")
OBSERVED = array([True, False, True], allows="None")
AT = array([0, 2], allows=("None", "0", "one axis more", "one entry less", "[]", "[[]]"))
SCORES = array(
    [0.3, 0.1, -0.2],
    allows=("-1", "0", "2.5", "2**40", "True", "one entry less", *FREE, *PAIR),
)
STRING = np.array([0, 2, 3, 1])

CALLS = [
    Call(HMM, A=array(A), W=array(W, allows="one entry less"), p0=array([0.6, 0.4])),
    Call(
        HMM.random,
        key=key(),
        hidden=count(2),
        vocab=count(3),
        emission_temperature=positive(0.1),
        permutations=count(2, allows="None"),
    ),
    Call(HMM.stack, worlds=thing([HIDDEN, HIDDEN])),
    Call(HIDDEN.sample, key=key(), length=count(3)),
    Call(HIDDEN.embed, tokens=tokens([0, 1, 1], names="observed"), observed=OBSERVED),
    Call(HIDDEN.predict, embeddings=array(EMBEDDED, allows=ROWS, names="at["), at=AT),
    Call(HIDDEN.conditionals, tokens=tokens([0, 1, 1], names="observed"), observed=OBSERVED),
    Call(HIDDEN.posterior, tokens=tokens([0, 1, 1], names="observed"), observed=OBSERVED),
    Call(HIDDEN.log_prob, tokens=tokens([0, 1, 1], names="observed"), observed=OBSERVED),
    Call(HIDDEN.next_token, prefix=tokens([0, 1, 1], allows="[]")),
    Call(HIDDEN.next_logits, tokens=tokens([0, 1, 1])),
    Call(HIDDEN.supports, embeddings=array(EMBEDDED, allows=ROWS)),
    Call(HIDDEN.begin, room=whole(3, names="memory")),
    Call(HIDDEN.text, tokens=tokens([0, 1, 1], allows=("[]", "entry -1", "tokens below zero"))),
    Call(
        MemoryHMM,
        A=array(A),
        W=array(CELLS[:, :, None]),
        pM=array([0.3, 0.7]),
        p0=array([0.5, 0.5]),
    ),
    Call(
        MemoryHMM.random,
        key=key(),
        hidden=count(2),
        memory=count(2, names="values"),
        vocab=count(3),
        cells=count(1),
    ),
    Call(REMEMBERING.sample, key=key(), length=count(3)),
    Call(REMEMBERING.log_prob, tokens=tokens([0, 1, 1], names="observed"), observed=OBSERVED),
    Call(REMEMBERING.posterior, tokens=tokens([0, 1, 1], names="observed"), observed=OBSERVED),
    Call(REMEMBERING.next_token, prefix=tokens([0, 1, 1], allows="[]")),
    Call(
        Dyck,
        types=count(2),
        depth=count(3),
        open_probability=probability(0.6, allows=()),
        type_probabilities=array([0.4, 0.6], allows="None"),
    ),
    Call(BRACKETS.sample, key=key(), length=count(4)),
    Call(BRACKETS.sample_closing, key=key(), length=count(4), shortest=count(2, allows="None")),
    Call(BRACKETS.next_logits, tokens=tokens(STRING), start=flag(False)),
    Call(BRACKETS.log_prob, tokens=tokens(STRING)),
    Call(BRACKETS.matching, tokens=tokens(STRING)),
    Call(BRACKETS.count, length=count(4), complete=flag(False)),
    Call(BRACKETS.optimal_loss, length=count(4), kind=thing("squared")),
    Call(BRACKETS.closing_floor, length=count(4, allows="None")),
    Call(BRACKETS.begin, room=whole(3, names="memory")),
    Call(
        BRACKETS.text,
        tokens=tokens([0, 2, 3], allows=("[]", "entry -1", "tokens below zero")),
    ),
    Call(
        CompleteDyck,
        world=thing(BRACKETS),
        lengths=thing([2, 4]),
        length_probabilities=array([0.5, 0.5], allows="None"),
        closing=thing("forced"),
    ),
    Call(COMPLETE.sample, key=key(), length=count(4, allows="None")),
    Call(COMPLETE.log_prob, tokens=tokens(STRING)),
    Call(
        PosteriorTask,
        mu=array([1.0, -1.0], allows=("one entry less", *FREE, *PAIR)),
        latent=thing("first"),
        mask_first=flag(True, allows="None"),
    ),
    Call(
        PosteriorTask.random,
        key=key(),
        size=count(2),
        nonzeros=count(3),
        rows=count(2),
    ),
    Call(worlds.decide, scores=SCORES, tolerance=number(0.1)),
    Call(worlds.margin, scores=SCORES),
    Call(
        worlds.full_rank_world,
        key=key(),
        hidden=count(2),
        vocab=count(3),
        sparse=flag(True),
        max_cond=positive(1e4, names="cond at most"),
    ),
    Call(worlds.covered_world, key=key(), hidden=count(4), vocab=count(3), star=count(2)),
    Call(
        worlds.recoverable_memory_world,
        key=key(),
        values=count(2),
        cells=count(1),
        syntax=count(2),
        vocab=count(4, allows="None"),
        exclusive=flag(False),
    ),
    Call(
        worlds.prompt_memory_world,
        key=key(),
        values=count(3),
        cells=count(1),
        relevant=count(2),
    ),
    Call(
        worlds.harder_memory_world,
        key=key(),
        values=count(2),
        hidden=count(3),
        vocab=count(3),
        uninformative=whole(1),
    ),
    Call(worlds.degrade_rank, world=thing(HIDDEN), rank=count(1), key=key()),
    Call(worlds.rank_deficient_world, key=key(), rank=count(1), hidden=count(2), vocab=count(2)),
    Call(worlds.duplicate_columns_world, key=key(), hidden=count(2), vocab=count(3)),
    Call(worlds.transient_world, key=key(), hidden=count(4), vocab=count(5)),
    Call(worlds.uncovered_world, key=key(), hidden=count(4), vocab=count(2)),
    Call(worlds.separable_world, separable=flag(True)),
    Call(worlds.overlapping_spans_world, key=key(), values=count(2), syntax=count(3)),
    Call(
        worlds.balance_dense,
        mu=array([1.0, -1.0], allows=(*FREE, *PAIR)),
        posteriors=array(
            [[0.2, 0.8], [0.5, 0.5]], allows=("entry 10**6", "plus .5", "one entry less")
        ),
    ),
    Call(
        worlds.balance_contrast,
        plus=whole(0),
        minus=whole(1),
        posteriors=array(
            [[0.2, 0.8], [0.5, 0.5]], allows=("entry 10**6", "plus .5", "one entry less")
        ),
    ),
    Call(worlds.entropy_rate, world=thing(HIDDEN), key=key(), length=count(3), count=count(4)),
    Call(
        worlds.masked_loss,
        world=thing(HIDDEN),
        key=key(),
        rate=probability(0.5),
        length=count(3),
        count=count(4),
    ),
    Call(
        Ising,
        h=array([0.3, -0.2], allows=(*FREE, *PAIR)),
        J=array([[0, 0.5], [0.5, 0]]),
    ),
    Call(SPINS.sample, key=key(), length=count(2, allows="None")),
    Call(SPINS.energy, spins=array([1, -1], allows=("one axis more", "entry -1"))),
    Call(
        CliqueIsing,
        length=count(3),
        clique=count(2),
        coupling=positive(0.5),
        h=number(0.1),
    ),
    Call(
        LumpedClique,
        length=count(3),
        clique=count(2),
        coupling=positive(0.5),
        field=number(0.1),
    ),
    Call(GaussianMean, R=number(2.0)),
    Call(
        DiagonalGaussian,
        data_mean=array([0.3, -0.2], allows=(*FREE, *PAIR)),
        data_variance=array([1.0, 2.0], allows=("entry 10**6", "plus .5")),
        noise_mean=array([0.0, 0.0], allows=(*FREE, *PAIR)),
        noise_variance=array([1.0, 1.0], allows=("entry 10**6", "plus .5")),
    ),
    Call(DiagonalGaussian.random, key=key(), d=count(2, names="variances")),
    Call(
        FiniteFamily,
        statistics=array([[-1.0], [0.0], [1.0]], allows=FREE),
        base=array([0.2, 1.0, 0.5], allows=("entry 10**6", "plus .5")),
        data=array([0.4], allows=FREE),
        noise=array([0.0], allows=FREE),
    ),
    Call(
        FiniteFamily.random,
        key=key(),
        points=count(3, names="statistics"),
        parameters=count(1, names="statistics"),
        scale=positive(1.0, names="statistics"),
        padded=whole(1, names="padding"),
    ),
    Call(FiniteFamily.of_ising, data=thing(SPINS), noise=thing(SPINS)),
    Call(FiniteFamily.between, data=thing(TABLE), noise=thing(TABLE)),
    Call(Joint, probabilities=array([0.1, 0.2, 0.3, 0.4]), vocab=STATES, length=STATES),
    Call(
        Joint.from_weights,
        log_weights=array([0.0, 1.0, -1.0, 2.0], allows=FREE),
        vocab=STATES,
        length=STATES,
    ),
    Call(Joint.of_world, world=thing(HIDDEN), length=STATES, normalise=flag(False)),
    Call(TABLE.log_prob, tokens=tokens([0, 1])),
    Call(TABLE.sample, key=key(), length=count(2, allows="None")),
    Call(
        TABLE.conditionals,
        tokens=tokens([0, 1], allows="tokens far outside", names="observed"),
        observed=array([True, False], allows="None"),
    ),
    Call(MaskLaw.uniform, length=count(3), k=count(1)),
    Call(MaskLaw.bernoulli, length=count(3), rate=probability(0.5)),
    Call(MaskLaw.blocks, length=count(2), cover=thing([[0], [1]])),
    Call(
        MASKS.sample,
        key=key(),
        states=array([0, 1], allows=("entry 10**6", "tokens far outside", "one entry less", "[]")),
    ),
    Call(
        GuidedWorld,
        step=array(COIN.step),
        base=array(COIN.base, allows="one entry less"),
        log_tilt=array([0.0, 0.0], allows=(*FREE, *PAIR), names="state"),
    ),
    Call(COIN.log_prob, tokens=tokens([0, 1])),
    Call(COIN.sample, key=key(), length=count(3, allows="None")),
    Call(COIN.state_paths, strings=array([[0, 1], [1, 1]], allows=("one entry less", "[[]]"))),
    Call(
        TableVerifier,
        step=array(COIN.step, names="log_table"),
        log_table=array(COIN.log_values(), allows=("entry -1", "entry 10**6", "plus .5")),
    ),
    Call(worlds.secret_parity, secret=array([1, 0, 1], allows=("one entry less", "[]"))),
    Call(worlds.needle, horizon=count(3)),
    Call(worlds.biased_coin_table, world=thing(COIN), bias=probability(0.2)),
    Call(worlds.delayed_value, horizon=count(3), weight=positive(2.0)),
    Call(worlds.delayed_table, world=thing(worlds.delayed_value(3, 2.0)), weight=positive(2.0)),
    Call(
        worlds.lagged_error,
        horizon=count(3),
        position=count(1),
        lag=whole(1),
        chance=probability(0.2),
        other=probability(0.5),
    ),
    Call(
        worlds.random_tree,
        key=key(),
        vocab=count(2),
        horizon=count(3),
        zero_laws=probability(0.1),
        zero_tilts=probability(0.1),
    ),
    Call(worlds.coin_flip_tree, key=key(), horizon=count(3), vocab=count(2)),
    Call(worlds.noisy_table, world=thing(COIN), key=key(), kappa=positive(2.0)),
    Call(worlds.monte_carlo_table, world=thing(COIN), key=key(), rollouts=count(10)),
    Call(
        worlds.noisy_dyck,
        length=count(4),
        square=probability(0.2),
        opening=probability(0.5),
        errors=array([0.3, 0.1], allows="plus .5"),
    ),
    Call(
        worlds.noisy_dyck_log_values,
        length=count(4),
        square=probability(0.2),
        opening=probability(0.5),
        errors=array([0.3, 0.1], allows="plus .5"),
    ),
    Call(Knapsack.random, key=key(), size=count(3), largest=count(10, allows="2**40")),
    Call(Knapsack.superincreasing, key=key(), size=count(3), step=count(3, allows="2**40")),
    Call(Fertility, q=array([0.5, 0.5]), swap=probability(0.1), source_vocab=count(12)),
    Call(PHRASES.sample, key=key(), length=count(4, allows="None")),
    Call(PHRASES.posterior, source_length=count(2), target_length=count(3, names="target of")),
    Call(
        PHRASES.log_prob,
        source=tokens([0, 1], names="source"),
        target=tokens([0, 2, 3], allows="[]", names="target"),
    ),
]

COVERED = {
    "tree_world",
    "some_zero",
    "biased_coin",
    "nonstationary",
    "position_one_world",
}
"""Public names that have no call of their own above: they go through the checks of one that does."""


def test_no_public_callable_is_missing():
    vectors = table("test_hostile_vector_worlds") + table("test_hostile_topic_worlds")
    vectors += table("test_hostile_flip_flop")
    called = {call.name.split(".")[0] for call in CALLS + vectors} | COVERED
    for name in worlds.__all__:
        value = getattr(worlds, name)
        record = inspect.isclass(value) and (
            issubclass(value, tuple) or getattr(value, "_is_protocol", False)
        )
        if callable(value) and not record and inspect.isroutine(value):
            assert name in called, name
        if inspect.isclass(value) and not record and name not in ("Latent", "ExponentialFamily"):
            assert name in called | {"ClosingQuery", "EndingDyck", "Semiautomaton"}, name


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_hostile_arguments_are_refused_in_one_sentence(call):
    found = faults(call)
    assert not found, report(found)
