"""The long coverage runs only when asked for: ``pytest tests/zoo -m zoo``."""

from __future__ import annotations

import pytest


def asked(config: pytest.Config) -> bool:
    """Did somebody select the mark `zoo`?"""
    words = config.option.markexpr.split()
    return "zoo" in words and "not" not in words


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark everything below this folder, and leave it out without `-m zoo`."""
    here = [item for item in items if "tests/zoo/" in item.path.as_posix()]
    for item in here:
        item.add_marker(pytest.mark.zoo)
    if not asked(config):
        config.hook.pytest_deselected(items=here)
        items[:] = [item for item in items if item not in here]
