"""The law of the Dyck sandbox, and how different ideal completions are."""

from minicosm.lab import Ledger, Progress, TrialResult
from minicosm.theory import guided

from ..trials import SandboxLaw


def run(config: SandboxLaw, progress: Progress) -> TrialResult:
    ledger = Ledger()
    for D in range(2, config.longest + 1, 2):
        progress(D, config.longest, "strings")
        ledger.add(guided.equation_3_4(D))
    for prefix in range(18, 32):
        ledger.add(guided.flipped_diversity(prefix))
    return ledger.result()
