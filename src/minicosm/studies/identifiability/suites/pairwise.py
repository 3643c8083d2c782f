"""One token from another: Theorems 4 and 6, Claim 1, and what all pairwise tasks leave open."""

import jax
import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import identifiability as theory
from minicosm.worlds import HMM, predictor

from ..trials import Worlds
from .worlds import discrete_worlds, key_of

ONE_STEP = ((2, 2), (3, 2), (3, 3), (4, 3), (6, 4), (7, 5))
ROTATED = ((3, 3), (4, 3), (6, 4), (7, 5), (8, 6))
GAPS = (*range(2, 31), 1000)
LEAST = 1e-3  # distance that is asked of the twin of a random world
NAMED = 0.1  # and of a named pair


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    ledger.add(theory.theorem_4(*theory.one_step_pair(), NAMED), world="named")
    for gap in GAPS:
        ledger.add(theory.theorem_4_later(*theory.across_a_gap_pair(gap), gap, LEAST), gap=gap)
        ledger.add(theory.claim_1(gap))
    pair = theory.every_gap_pair()
    ledger.add(theory.theorem_6(*pair, NAMED), world="named")
    ledger.add(theory.one_visible_token(*pair))
    for numerator in (1, 3, 7):
        ledger.add(theory.theorem_6_in_fractions(numerator, 10))
    ledger.add(theory.printed_pair())
    for i, world in discrete_worlds(config, 1, ONE_STEP, 0.02):
        progress(i, config.worlds, "twins of one step")
        other = theory.gauge_twin(world, key_of(config, 2, i), tries=8)
        ledger.add(theory.theorem_4(world, other, LEAST), world=i)
        ledger.add(theory.marginals(world))
    for i, world in discrete_worlds(config, 3, ROTATED, 0.02):
        progress(i, config.worlds, "twins of all pairs")
        other = theory.gauge_twin(world, key_of(config, 4, i), orthogonal=True, tries=8)
        ledger.add(theory.theorem_6(world, other, LEAST), world=i)
    _twins(ledger, config, progress)
    _picture(ledger)
    return ledger.result()


def _twins(ledger: Ledger, config: Worlds, progress: Progress) -> None:
    """Every task of the atlas, in the named world: a twin or a certificate; and how twins are joined."""
    world = theory.four_tokens()
    for i, (name, entry) in enumerate(theory.ATLAS.items()):
        progress(i, len(theory.ATLAS), name)
        found = theory.twin(world, entry.tasks, key_of(config, 5, i), tries=8)
        if isinstance(found, theory.Twin) and isinstance(found.second, HMM):
            statement = theory.not_identified(name, world, found.second, entry.tasks, NAMED)
            ledger.add(statement, "Twins", task=name, twin=True)
            if name in ("x2|x1", "pairs on 3", "pairs on 8"):
                ledger.add(theory.gauge_joins(world, found.second, orthogonal=name != "x2|x1"))
        else:
            statement = theory.unseen_directions(name, world, entry.tasks, 0)
            ledger.add(statement, "Certificates", task=name, twin=False)


def _picture(ledger: Ledger) -> None:
    """Two worlds that no pairs tell apart, with their predictors."""
    first, second = theory.every_gap_pair()
    with jax.enable_x64(True):
        ledger.picture(
            emissions=np.stack([first.W, second.W]),
            chains=np.stack([first.A, second.A]),
            one=np.stack([predictor(w, "x2|x1") for w in (first, second)]),
            two=np.stack([predictor(w, "x1,x3|x2")[0] for w in (first, second)]),
        )
