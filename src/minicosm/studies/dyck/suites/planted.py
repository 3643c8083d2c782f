"""Proposition 2.2.1: attention maps that were planted and change nothing."""

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.dyck.lipschitz import softmax
from minicosm.theory.dyck.matrices import random_target
from minicosm.theory.dyck.planted import (
    closed_pattern,
    closed_score,
    copy_model,
    plant,
    read,
    stack_pattern,
    top_score,
    zero_head,
)
from minicosm.worlds import Dyck

from ...common.ledger import Ledger

PROBE = np.repeat([0, 1, 2, 3], 4)  # [[[[]]]](((()))): every type at every depth


@dataclass(frozen=True)
class Planted:
    """How many random models get a layer planted, and how many strings the patterns are read on."""

    seed: int
    models: int
    strings: int
    worlds: tuple[tuple[int, int], ...] = ((2, 4), (3, 3))  # types, depth


def run(config: Planted, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for trial in range(config.models):
        progress(trial, config.models, "random models")
        _random(ledger, np.random.default_rng([config.seed, trial]), trial)
    for at, (types, depth) in enumerate(config.worlds):
        progress(at, len(config.worlds), "planted patterns")
        world = Dyck(types, depth)
        drawn = _draw(world, jax.random.split(jax.random.key(config.seed), config.strings))
        _patterns(ledger, world, np.asarray(drawn))
    ledger.picture(**_picture())
    return ledger.result()


@eqx.filter_jit
def _draw(world, keys):
    return jax.vmap(lambda key: world.sample(key, len(PROBE)).tokens)(keys)


@eqx.filter_jit
def _trace(model, inputs):
    return jax.vmap(model.trace)(inputs)


def _random(ledger: Ledger, rng: np.random.Generator, trial: int) -> None:
    """A random model of two layers: any logits in any place, and a zero head."""
    model = random_target(rng, width=6, attention=4, mlp_width=10, layers=2)
    logits = rng.normal(size=(6, 6)) * 10 ** rng.uniform(-1, 1)
    inputs = rng.normal(size=(8, 12, 6))
    planted, at = plant(model, logits, at=trial % 3), trial % 3
    with jax.enable_x64(True):
        before, after, zero = (
            jax.tree.map(np.asarray, _trace(one, inputs))
            for one in (model, planted, zero_head(planted))
        )
    largest = np.abs(before.logits).max()
    ledger.add("planted", error=float(np.abs(after.logits - before.logits).max() / largest))
    ledger.add("proposition-2.2.1", error=float(np.abs(zero.logits).max()))
    stream = before.hidden[:, at]
    wanted = np.einsum("nsa,ab,ntb->stn", stream, logits, stream)  # [key, query, sequence]
    future = np.tril(np.ones((12, 12), bool), -1)[:, :, None]
    wanted = softmax(np.where(future, -np.inf, wanted)).transpose(2, 1, 0)
    ledger.add("planted-map", error=float(np.abs(after.attention[:, at, 0] - wanted).max()))


def _patterns(ledger: Ledger, world: Dyck, strings: np.ndarray) -> None:
    """Copying through the residual stream, with a map planted that looks like a stack, or like
    counting closed brackets."""
    copy = copy_model(world)
    patterns = {"stack": stack_pattern(world), "closed": closed_pattern(world)}
    models = {name: plant(copy, logits) for name, logits in patterns.items()}
    for tokens in strings:
        plain = read(copy, world, tokens)
        right = float(np.mean(plain.output[1:].argmax(axis=1) == tokens))
        score = {
            "stack": lambda map, tokens=tokens: top_score(world, tokens, map),
            "closed": lambda map, tokens=tokens: closed_score(tokens, map),
        }
        for name, model in models.items():
            found = read(model, world, tokens)
            ledger.add(
                f"{name}-pattern",
                error=float(np.abs(found.output - plain.output).max()),
                accuracy=right,
                score=score[name](found.attention[0]),
                uniform=score[name](plain.attention[0]),
            )


def _picture() -> dict[str, np.ndarray]:
    """The maps and the outputs on one string in which every type occurs at every depth."""
    world = Dyck(2, 4)
    copy = copy_model(world)
    arrays = {"plain_output": read(copy, world, PROBE).output}
    for name, pattern in (("stack", stack_pattern(world)), ("closed", closed_pattern(world))):
        found = read(plant(copy, pattern), world, PROBE)
        arrays |= {f"{name}_map": found.attention[0], f"{name}_output": found.output}
    return arrays
