"""Errors of cells, explained: ``%load_ext shapewright``."""

from __future__ import annotations

import sys
from typing import Any

ORIGINAL = "_shapewright_showtraceback"


def load(shell: Any) -> None:
    """From now on the shell explains an error before it shows it."""
    if hasattr(shell, ORIGINAL):
        return
    original = shell.showtraceback

    def showtraceback(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> Any:
        from shapewright.checking.noting import note

        error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if error is not None:
            note(error)
        return original(exc_tuple, *args, **kwargs)

    setattr(shell, ORIGINAL, original)
    shell.showtraceback = showtraceback


def unload(shell: Any) -> None:
    """As before `load`."""
    original = getattr(shell, ORIGINAL, None)
    if original is not None:
        shell.showtraceback = original
        delattr(shell, ORIGINAL)
