"""The option of pytest that explains what torch refuses in a test: ``--shapewright``.

It stands outside the package: each run of pytest imports it, and pays for no more.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The switch, off by default."""
    parser.getgroup("shapewright").addoption(
        "--shapewright",
        action="store_true",
        help="explain the torch calls that fail tests: shapes, causes, what would fit",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Nothing of shapewright is imported unless it is asked for."""
    if config.getoption("--shapewright"):
        from shapewright.integrations.pytest_plugin import Explains

        config.pluginmanager.register(Explains(), "shapewright-explains")
