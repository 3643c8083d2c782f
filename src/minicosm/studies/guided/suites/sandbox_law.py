"""The law of the Dyck sandbox: as printed, as described, and as this package draws it."""

from dataclasses import dataclass

import numpy as np

from minicosm.lab import Progress, TrialResult
from minicosm.theory.guided import dyck_sandbox as sandbox
from minicosm.theory.guided.prefix_tree import PrefixTree
from minicosm.worlds import CompleteDyck, Dyck, noisy_dyck, noisy_dyck_log_values

from ...common.ledger import Ledger

SQUARE, OPENING = 0.2, 0.5


@dataclass(frozen=True)
class SandboxLaw:
    """Strings up to this length are enumerated."""

    longest: int


def run(config: SandboxLaw, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for D in range(2, config.longest + 1, 2):
        every = list(sandbox.skeletons(D))
        printed, strict = (
            np.array([sandbox.printed_weight(s, OPENING, strict=flag) for s in every])
            for flag in (False, True)
        )
        process = np.array([sandbox.process_probability(s, OPENING) for s in every])
        ledger.add(
            "equation-3.4",
            D=D,
            printed_mass=float(printed.sum()),
            printed_tv=float(np.abs(printed / printed.sum() - process).sum() / 2),
            error=float(np.abs(strict - process).max() + abs(strict.sum() - 1)),
        )
    _package(ledger, min(config.longest, 6))
    whole = sandbox.entropy()
    ledger.add(
        "entropy", nats=whole, per_token=whole / 33, capped=sandbox.entropy(deepest=12) - whole
    )
    for n in range(18, 32):
        ledger.add(
            "diversity",
            prefix=n,
            distinct=sandbox.ideal_diversity(n),
            flipped=sandbox.ideal_diversity(n, square=0.8),
        )
    _noisy(ledger, config.longest)
    return ledger.result()


def _package(ledger: Ledger, D: int) -> None:
    """`CompleteDyck` with forced closing against the step-by-step process, over all strings; its entropy."""
    import jax

    from minicosm.theory.guided.laws import strings

    world = noisy_dyck(D, SQUARE, OPENING, (0.0, 0.0))
    tree = PrefixTree(world)
    law = tree.mass[tree.leaves]
    with jax.enable_x64(True):
        mine = CompleteDyck(Dyck(2, D // 2, OPENING, [SQUARE, 1 - SQUARE]), D, closing="forced")
        drawn = np.exp(np.asarray(jax.jit(jax.vmap(mine.log_prob))(strings(world))))
    positive = law > 0
    total = -float(np.sum(law[positive] * np.log(law[positive])))
    ledger.add(
        "package-law",
        D=D,
        error=float(np.abs(drawn - law).max()),
        entropy_error=abs(total - sandbox.entropy(D, SQUARE, OPENING)),
        strings=int(positive.sum()),
        counted=sandbox.completions(0, D),
    )


def _noisy(ledger: Ledger, longest: int) -> None:
    for D in range(2, longest + 1, 2):
        for errors in ((0.3, 0.1), (0.0, 0.5), (1.0, 0.2)):
            settings = (SQUARE, OPENING, errors)
            world = noisy_dyck(D, *settings)
            on = world.reach() > 0
            closed = np.exp(noisy_dyck_log_values(D, *settings))
            mean = SQUARE * (1 - errors[0]) + (1 - SQUARE) * (1 - errors[1])
            tilted = noisy_dyck(D, SQUARE * (1 - errors[0]) / mean, OPENING, (0.0, 0.0))
            target = world.tilted()
            reached = target.reach()[:-1, :, None] > 0
            gap = np.abs(
                np.where(reached[:, : target.base.shape[1]], target.base - tilted.base, 0)
            ).max()
            ledger.add(
                "noisy-dyck",
                D=D,
                error=float(max(np.abs(closed - np.exp(world.log_values()))[on].max(), gap)),
                partition=abs(np.exp(world.log_partition()) - mean ** (D / 2)),
            )
