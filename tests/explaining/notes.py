"""A failing call, once bare and once inside `sw.explaining()`."""

from __future__ import annotations

from collections.abc import Callable

import shapewright as sw


def raised(function: Callable[[], object]) -> BaseException:
    """What a function raises."""
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("it ran")


def explained(function: Callable[[], object]) -> BaseException:
    """The same inside the block."""

    def inside() -> None:
        with sw.explaining():
            function()

    return raised(inside)


def note_of(function: Callable[[], object]) -> str:
    """The note of what a function raises; the exception is otherwise as it was."""
    bare, told = raised(function), explained(function)
    assert type(told) is type(bare)
    assert str(told) == str(bare)
    notes: list[str] = getattr(told, "__notes__", [])
    assert len(notes) <= 1
    return notes[0] if notes else ""
