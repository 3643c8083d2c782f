"""A short hidden Markov model, short bracket strings and translation: the same questions elsewhere."""

from math import inf

import jax
import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.models import stutter as dependence
from minicosm.theory.parallel import information as info
from minicosm.theory.parallel import kernels, mixing, transformers
from minicosm.worlds import HMM, CompleteDyck, Dyck, Fertility, Joint, MaskLaw

from ...common.ledger import Ledger
from .worlds import Worlds

LAWS = ((0.9, 0.1), (0.5, 0.5), (0.4, 0.3, 0.3))


def run(config: Worlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    progress(0, 3, "a hidden Markov model")
    hmm = HMM.random(
        jax.random.key(config.seed), hidden=3, vocab=3, emission_temperature=0.2,
        transition_temperature=0.2,
    )  # fmt: skip
    _sequences(ledger, "hmm", Joint.of_world(hmm, 4))
    progress(1, 3, "bracket strings")
    _sequences(ledger, "dyck", Joint.of_world(CompleteDyck(Dyck(1, 3), (8,)), 8))
    progress(2, 3, "translation")
    _translation(ledger)
    return ledger.result()


def _sequences(ledger: Ledger, name: str, joint: Joint) -> None:
    """Everything exact, for the law and its exponential tilt by counts of the first token and of equal
    neighbours."""
    x = joint.states
    T = np.stack([(x == 0).sum(axis=1), (x[:, 1:] == x[:, :-1]).sum(axis=1)], axis=1).astype(float)
    T = T[:, T[joint.probabilities > 0].std(axis=0) > 0]  # complete strings have as many of each
    p = joint.probabilities
    I = info.fisher(joint, T)  # noqa: E741
    for k in range(1, joint.length + 1):
        masks = MaskLaw.uniform(joint.length, k)
        P = kernels.block_dynamics(joint, masks)
        C = mixing.poincare(P, p)
        gamma = info.asymptotic_covariance(joint, T, masks)
        worst = info.relative_inefficiency(I, gamma.matrix) if gamma.identifiable else inf
        ledger.add(
            name,
            k=k,
            parts=mixing.parts(P, p),
            constant=C,
            trace=gamma.trace,
            worst=worst,
            bounded=bool(worst <= C * (1 + 1e-9)),
            error=max(kernels.stochastic_error(P), kernels.reversibility_error(P, p)),
            dependence=float(
                transformers.row_dependence(P, joint.vocab, joint.length)[p > 0].max()
            ),
        )
    ledger.add(f"{name}-law", correlation=joint.total_correlation(), entropy=joint.entropy())


def _translation(ledger: Ledger) -> None:
    """One pass of the exact product decoder, most likely tokens, the length drawn from the truth."""
    for q in LAWS:
        world = Fertility(q)
        sums = np.zeros(2)  # pairs, stuttering pairs
        apart = np.zeros(2)
        lost = valid = kept = 0.0
        for L in range(world.shortest, world.longest + 1):
            for N, p in enumerate(world.length_law(L)):
                if p <= 0:
                    continue
                p = p / (world.longest - world.shortest + 1)
                found = world.posterior(L, N)
                laws = found.tokens.reshape(N, -1)
                best = laws.argmax(axis=1)
                same = dependence.stutter_pairs(best[None], np.array([N]))[0]
                away = dependence.neighbour_tv(found.alignment)
                sums += p * np.array([(~same).sum(), same.sum()])
                apart += p * np.array([away[~same].sum(), away[same].sum()])
                lost += p * world.total_correlation(L, N)
                kept += p * found.entropy
                valid += p * np.isfinite(world.log_prob(np.arange(L), best))
        ledger.add(
            "stutter",
            q=", ".join(f"{v:g}" for v in q),
            rate=float(sums[1] / sums.sum()),
            apart_same=float(apart[1] / sums[1]),
            apart_other=float(apart[0] / sums[0]),
            correlation=float(lost),
            entropy=float(kept),
            valid=float(valid),
        )
    _example(ledger)


def _example(ledger: Ledger) -> None:
    """One source of eight words and eleven tokens: what the decoder says beside a true translation."""
    world = Fertility((0.5, 0.5))
    L, N = 8, 11
    found = world.posterior(L, N)
    laws = found.tokens.reshape(N, -1)
    lengths = world.best_lengths(L, N)
    truth = [s * 2 + o for s, n in enumerate(lengths) for o in range(n)]
    ledger.picture(
        laws=laws, decoded=laws.argmax(axis=1), truth=np.array(truth), align=found.alignment
    )
