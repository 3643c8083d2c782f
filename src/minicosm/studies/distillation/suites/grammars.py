"""Lengths of the sentences of the five grammars, by convolution."""

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.worlds import LayeredPCFG
from minicosm.worlds.pcfg.grammar import quantiles

from ..trials import Lengths

SHARES = (0.25, 0.5, 0.75, 0.95)
PRINTED = {
    "cfg3b": (251, 278, 308, 342),
    "cfg3i": (276, 307, 340, 386),
    "cfg3h": (202, 238, 270, 300),
    "cfg3g": (212, 258, 294, 341),
    "cfg3f": (191, 247, 302, 364),
}
"""Quantiles of lengths of Section 4.2.8.3."""


def run(config: Lengths, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for done, name in enumerate(config.grammars):
        progress(done, len(config.grammars), name)
        world = LayeredPCFG.named(name)
        found = quantiles(world.length_law, SHARES)
        for share, exact, printed in zip(SHARES, found, PRINTED[name], strict=True):
            ledger.measure("Lengths", grammar=name, share=share, exact=int(exact), printed=printed)
        ledger.measure(
            "Grammars", grammar=name, mean=world.grammar.mean_length,
            entropy=world.entropy / world.grammar.mean_length,
        )  # fmt: skip
    return ledger.result()
