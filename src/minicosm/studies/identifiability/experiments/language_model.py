"""A causal language model contains the HMM: its answers to contexts of one and two tokens are a predictor of
two."""

import contextlib
from typing import Any

import equinox as eqx
import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.models import Transformer, TransformerConfig
from minicosm.theory.identifiability import clear_states, distance, recover
from minicosm.training import CausalObjective, fit_ensemble, muon
from minicosm.worlds import HMM, doubly_stochastic_world

from ..suites.worlds import START, key_of
from ..trials import Reading
from .samples import law_of_triples

WARMUP, PEAK, REST = 60, 0.02, 0.005
MARKS = 10  # times that the models are read while they train


def run(config: Reading, progress: Progress) -> TrialResult:
    """Of every world: the excess loss over the last chunk of training, the distance of the recovered
    parameters from the true ones, now and then and at the end, the matrices themselves, and what counting
    gives."""
    worlds = _worlds(config)
    members = len(worlds)
    shape = TransformerConfig(
        vocab=config.vocab,
        layers=config.layers,
        width=config.width,
        heads=4,
        causal=True,
        positions="learned",
        max_length=config.length,
    )
    loss: Any = CausalObjective(
        HMM.stack(worlds), length=config.length, batch=config.batch, exact=config.exact
    )
    init, train = jax.random.split(key_of(config, 60))
    models = eqx.filter_vmap(lambda key: Transformer(shape, key=key))(
        jax.random.split(init, members)
    )

    def watch(params: Any, done: int) -> dict[str, np.ndarray]:
        return {"distance": np.array([d for d, _, _ in _read(config, worlds, params)])}

    trained, history = fit_ensemble(
        loss,
        models,
        muon(PEAK, config.steps, WARMUP, rest=REST),
        config.steps,
        jax.random.split(train, members),
        chunk=max(1, config.steps // MARKS),
        progress=progress,
        watch=watch,
    )
    found = _read(config, worlds, trained)
    sequences = history["step"] * config.batch
    return TrialResult(
        {
            "excess": history["excess"][-1].tolist(),
            "distance": [d for d, _, _ in found],
            "tokens": (sequences * config.length).tolist(),
        },
        {
            "distances": history["distance"],
            "counted": _counted(config, worlds, sequences),
            "O": np.stack([np.stack([w.W, O]) for w, (_, O, _) in zip(worlds, found, strict=True)]),
            "T": np.stack([np.stack([w.A, T]) for w, (_, _, T) in zip(worlds, found, strict=True)]),
        },
    )


def _worlds(config: Reading) -> list[HMM]:
    """The named world, if it has the sizes, and random ones."""
    named = [clear_states()] if (config.vocab, config.hidden) == (4, 3) else []
    return named + [
        doubly_stochastic_world(
            key_of(config, 61, i), hidden=config.hidden, vocab=config.vocab, least=config.least
        )
        for i in range(config.others + 1 - len(named))
    ]


def _read(config: Reading, worlds: list[HMM], models: Any) -> list[tuple[float, Any, Any]]:
    """Distance and recovered matrices of every member, their states in the order of the world's; NaN where
    the model's answers have no k terms."""
    V, k = config.vocab, config.hidden
    contexts = np.array([[a, b] for a in range(V) for b in range(V)])
    logits = np.asarray(
        _answers(models, contexts), np.float64
    )  # [member, context, position, token]
    laws = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    laws = laws.reshape(len(worlds), V, V, 2, V)
    tables = laws[:, :, 0, 0, :, None] * laws[:, :, :, 1]  # P(b | a) P(c | a, b)
    found = []
    for world, table in zip(worlds, tables, strict=True):
        try:
            read = recover(table, "x2,x3|x1", hidden=k, within=np.inf)
        except ValueError:
            found.append((np.nan, np.full((V, k), np.nan), np.full((k, k), np.nan)))
            continue
        order = _order(np.asarray(world.W), np.asarray(read.world.W))
        O, T = np.asarray(read.world.W)[:, order], np.asarray(read.world.A)[np.ix_(order, order)]
        found.append((distance(world, read.world), O, T))
    return found


@eqx.filter_jit
def _answers(models: Any, contexts: np.ndarray) -> Any:
    def one(model: Any) -> Any:
        return jax.vmap(model.next_logits)(contexts)

    return eqx.filter_vmap(one)(models)


def _counted(config: Reading, worlds: list[HMM], sequences: np.ndarray) -> np.ndarray:
    """[mark, world]: the distance of what is recovered by counting the first three tokens of as many
    sequences."""
    rng = np.random.default_rng([START + config.seed, 62])
    found = np.full((len(sequences), len(worlds)), np.nan)
    for w, world in enumerate(worlds):
        law = law_of_triples(world)
        for i, n in enumerate(sequences):
            counts = rng.multinomial(int(n), law.ravel()).reshape(law.shape).astype(float)
            table = counts / np.maximum(counts.sum(axis=(1, 2), keepdims=True), 1)
            with contextlib.suppress(ValueError):
                read = recover(table, "x2,x3|x1", hidden=config.hidden, within=np.inf, seed=i)
                found[i, w] = distance(world, read.world)
    return found


def _order(O: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which column of the second matrix belongs to each of the first."""
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(np.abs(O[:, :, None] - other[:, None]).sum(axis=0))[1]
