"""What the suites measure: for every statement, columns of numbers with one row per world."""

from collections import defaultdict
from typing import Any

import numpy as np

from minicosm.lab import TrialResult
from minicosm.theory import Certificate


class Ledger:
    """Collects numbers by statement."""

    def __init__(self) -> None:
        self._columns: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self._arrays: dict[str, np.ndarray] = {}

    def add(self, statement: str, **numbers: Any) -> None:
        """One row: what this statement came to on one world."""
        for name, value in numbers.items():
            self._columns[statement][name].append(value)

    def certificate(self, statement: str, certificate: Certificate, **numbers: Any) -> None:
        """One row from a certificate, with its details."""
        details = {name.replace(" ", "_"): value for name, value in certificate.details.items()}
        self.add(
            statement,
            error=certificate.largest_error,
            disagreements=certificate.disagreements,
            compared=certificate.compared,
            sequences=certificate.sequences - certificate.skipped,
            skipped=certificate.skipped,
            margin=certificate.smallest_margin,
            **details,
            **numbers,
        )

    def picture(self, **arrays: np.ndarray) -> None:
        """Arrays for figures."""
        self._arrays |= arrays

    def result(self) -> TrialResult:
        numbers = {name: dict(columns) for name, columns in self._columns.items()}
        return TrialResult(numbers, self._arrays)
