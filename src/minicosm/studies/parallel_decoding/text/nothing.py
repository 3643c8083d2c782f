"""What a claim about real text has without files."""

from dataclasses import dataclass

from minicosm.lab import Progress, TrialResult


@dataclass(frozen=True)
class NoText:
    """Nothing to set."""


def run(config: NoText, progress: Progress) -> TrialResult:
    return TrialResult({"given": False})
