"""Errors of failing tests, explained: ``pytest --shapewright``."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


class Explains:
    """Registered by `shapewright_pytest` where the option is given."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, Any, Any]:
        """The error gains its explanation before its text is made."""
        if call.excinfo is not None:
            from shapewright.commands.explain import add_note

            add_note(call.excinfo.value)
        return (yield)
