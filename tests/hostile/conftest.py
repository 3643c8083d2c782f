"""Of the sweeps of hostile arguments every fifth callable is in the short suite, all are in the long one."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    swept = [
        item
        for item in items
        if HERE in item.path.parents and "hostile_" in item.path.name and "[" in item.name
    ]
    for place, item in enumerate(sorted(swept, key=lambda item: item.nodeid)):
        if place % 5:
            item.add_marker(pytest.mark.long)
