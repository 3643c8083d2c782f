"""Of the sweeps of hostile arguments every fifteenth is in the short suite, all are in the long one."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tables = {item for item in items if item.path.match("hostile/test_hostile_*.py")}
    swept = [item for item in tables if "[" in item.name]
    for place, item in enumerate(sorted(swept, key=lambda item: item.nodeid)):
        if place % 15:
            item.add_marker(pytest.mark.long)
