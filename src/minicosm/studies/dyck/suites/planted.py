"""Proposition 2.2.1: attention maps that were planted and change nothing."""

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import Theorem
from minicosm.theory.dyck import draw, planted, random_target
from minicosm.worlds import Dyck

from ..trials import Planted

PROBE = np.repeat([0, 1, 2, 3], 4)  # (((())))[[[[]]]]: every type at every depth
SHOWN = 0.99  # attention on what a planted map is to show


def run(config: Planted, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for trial in range(config.models):
        progress(trial, config.models, "random models")
        rng, at = np.random.default_rng([config.seed, trial]), trial % 3
        model = random_target(rng, width=6, attention=4, mlp_width=10, layers=2)
        logits = rng.normal(size=(6, 6)) * 10 ** rng.uniform(-1, 1)
        inputs = rng.normal(size=(8, 12, 6))
        ledger.add(planted.planted_layer(model, logits, inputs, at=at))
        ledger.add(planted.proposition_2_2_1(planted.plant(model, logits, at=at), inputs))
    for types in config.types:
        progress(config.models, config.models + 1, "planted patterns")
        world = Dyck(types, 6 - types)
        drawn = draw(world, jax.random.key(config.seed), config.strings, len(PROBE))
        _patterns(ledger, world, np.asarray(drawn))
    ledger.picture(**_picture())
    return ledger.result()


def _patterns(ledger: Ledger, world: Dyck, strings: np.ndarray) -> None:
    """Copying through the residual stream, with a map planted that looks like a stack, or like
    counting closed brackets. A bracket that is not copied, or a map that does not show what it is
    to show, is a whole error."""
    copy = planted.copy_model(world)
    patterns = {"stack": planted.stack_pattern(world), "closed": planted.closed_pattern(world)}
    models = {name: planted.plant(copy, logits) for name, logits in patterns.items()}
    for tokens in strings:
        plain = planted.read(copy, world, tokens)
        copied = float(np.mean(plain.output[1:].argmax(axis=1) == tokens))
        for name, model in models.items():
            reading = planted.read(model, world, tokens)
            score, uniform = (
                planted.top_score(world, tokens, maps[0])
                if name == "stack"
                else planted.closed_score(tokens, maps[0])
                for maps in (reading.attention, plain.attention)
            )
            change = float(np.abs(reading.output - plain.output).max())
            ledger.add(
                Theorem.identity(
                    f"{name} pattern",
                    change + (copied < 1) + (not score >= SHOWN),
                    within=planted.UNCHANGED,
                    details={"score": score, "uniform": uniform, "copied": copied},
                )
            )


def _picture() -> dict[str, np.ndarray]:
    """The maps and the outputs on one string in which every type occurs at every depth."""
    world = Dyck(2, 4)
    copy = planted.copy_model(world)
    arrays = {"plain_output": planted.read(copy, world, PROBE).output}
    for name, pattern in (
        ("stack", planted.stack_pattern(world)),
        ("closed", planted.closed_pattern(world)),
    ):
        reading = planted.read(planted.plant(copy, pattern), world, PROBE)
        arrays |= {f"{name}_map": reading.attention[0], f"{name}_output": reading.output}
    return arrays
