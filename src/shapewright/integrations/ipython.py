"""Errors of cells, explained: ``%load_ext shapewright``."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

NAME = "showtraceback"
OURS = "_shapewright"


def load(shell: Any) -> None:
    """From now on the shell explains an error before it shows it."""
    original = getattr(shell, NAME)
    if hasattr(original, OURS):
        return

    @wraps(original)
    def showtraceback(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> Any:
        from shapewright.commands.explain import add_note

        error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if error is not None:
            add_note(error)
        return original(exc_tuple, *args, **kwargs)

    setattr(showtraceback, OURS, original)
    setattr(shell, NAME, showtraceback)


def unload(shell: Any) -> None:
    """As before `load`."""
    original = getattr(getattr(shell, NAME), OURS, None)
    if original is None:
        return
    delattr(shell, NAME)
    if getattr(shell, NAME) != original:  # it was another extension's
        setattr(shell, NAME, original)
