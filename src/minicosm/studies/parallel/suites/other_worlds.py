"""Short bracket strings and translation: the same questions in worlds that are not Ising models."""

from math import inf

import numpy as np

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory.parallel import exact_stutter, kernels, mixing, transformers
from minicosm.theory.parallel import information as info
from minicosm.worlds import CompleteDyck, Dyck, Fertility, Joint, MaskLaw

from ..trials import OtherWorlds

LAWS = ((0.9, 0.1), (0.5, 0.5), (0.4, 0.3, 0.3))


def run(config: OtherWorlds, progress: Progress) -> TrialResult:
    ledger = Ledger()
    progress(0, 2, "bracket strings")
    _brackets(ledger, Joint.of_world(CompleteDyck(Dyck(1, 3), (8,)), 8))
    progress(1, 2, "translation")
    for q in LAWS:
        shown = ", ".join(f"{v:g}" for v in q)
        ledger.measure("stutter", q=shown, **exact_stutter(Fertility(q))._asdict())
    _example(ledger)
    return ledger.result()


def _brackets(ledger: Ledger, joint: Joint) -> None:
    """Everything exact, for the exponential tilt of the law by the number of equal neighbours."""
    x, p = joint.states, joint.probabilities
    T = (x[:, 1:] == x[:, :-1]).sum(axis=1)[:, None].astype(float)
    for k in range(1, joint.length + 1):
        masks = MaskLaw.uniform(joint.length, k)
        P = kernels.block_dynamics(joint, masks)
        gamma = info.asymptotic_covariance(joint, T, masks)
        fisher = info.fisher(joint, T)
        ledger.measure(
            "brackets",
            k=k,
            parts=mixing.parts(P, p),
            strings=int((p > 0).sum()),
            constant=mixing.poincare(P, p),
            trace=gamma.trace,
            inefficiency=info.relative_inefficiency(fisher, gamma.matrix)
            if gamma.identifiable
            else inf,
            error=max(kernels.stochastic_error(P), kernels.reversibility_error(P, p)),
            dependence=float(
                transformers.row_dependence(P, joint.vocab, joint.length)[p > 0].max()
            ),
        )


def _example(ledger: Ledger) -> None:
    """One source of eight words and eleven tokens: what the decoder says, and a true translation."""
    world = Fertility((0.5, 0.5))
    L, N = 8, 11
    found = world.posterior(L, N)
    laws = found.tokens.reshape(N, -1)
    lengths = world.best_lengths(L, N)
    truth = [s * 2 + o for s, n in enumerate(lengths) for o in range(n)]
    ledger.picture(
        laws=laws, decoded=laws.argmax(axis=1), truth=np.array(truth), align=found.alignment
    )
