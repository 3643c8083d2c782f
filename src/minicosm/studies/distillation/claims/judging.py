"""What claims about students of parities share: they wait until enough teachers have learned."""

from collections.abc import Mapping
from typing import Any

from minicosm.lab import Outcome, Results, Table, all_of, only_if

from .. import readings

PAIRED = (
    " Seeds are paired; only those count whose teacher has 97% at the end, and with fewer than four the "
    "claim is undecided."
)
FEW = "Fewer than four teachers have learned."


def judged(
    results: Results,
    *outcomes: Outcome,
    trial: str = "parity",
    numbers: Mapping[str, Any] | None = None,
    tables: tuple[Table, ...] = (),
) -> Outcome:
    """All of these outcomes, if enough teachers of the trial have learned."""
    outcome = all_of(*outcomes, numbers=numbers, tables=tables)
    return only_if(readings.enough(results, trial), FEW, outcome)
