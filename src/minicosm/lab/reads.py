"""Which entries of its trials' results a check or a figure reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from minicosm.lab.claims import TrialResult

Path = tuple[str, ...]
"""Trial, then `numbers` or `arrays`, then keys down to a value that is no mapping."""


class _Watched(dict[str, Any]):
    """A mapping that notes which of its values are read."""

    def __init__(self, inner: Mapping[str, Any], path: Path, read: set[Path]) -> None:
        super().__init__(inner)
        self._path, self._read = path, read

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        path = (*self._path, key)
        if isinstance(value, Mapping):
            return _Watched(value, path, self._read)
        self._read.add(path)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def keys(self) -> Any:
        return list(self)

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def values(self) -> Any:
        return [self[key] for key in self]


def watched(results: Mapping[str, TrialResult], read: set[Path]) -> dict[str, TrialResult]:
    """The same results; whatever is read of them is added to `read`."""
    before = set(read)
    found = {
        name: TrialResult(
            _Watched(result.numbers, (name, "numbers"), read),
            _Watched(result.arrays, (name, "arrays"), read),
            result.config,
        )
        for name, result in results.items()
    }
    read.intersection_update(before)  # a result that is made looks at its arrays
    return found
