"""Columns of results that a program takes out as NumPy arrays: which arrays they meet.

A column, (n, 1), that meets n labels, (n,), pairs each with all others. NumPy says
nothing of it, and no torch call is left to see it: so the column is an array of a class
of its own, which is a plain array to everything but arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState

JOINING = operators_with("concatenates", "joins_tensors") | {"append"}

notes: list[Callable[[str], None]] = []
"""What the innermost rehearsal does with a pair of arrays."""


@contextmanager
def watch_arrays(stage: RehearsalState) -> Iterator[None]:
    """Note in the facts where a column of results meets an array of n numbers."""

    def note(sides: str) -> None:
        stage.facts.meet("arrays", stage.here(), None, sides)

    stage.engine.watch_arrays(_watch_column)
    notes.append(note)
    try:
        yield
    finally:
        notes.pop()
        stage.engine.watch_arrays(None)


def _watch_column(array: Any) -> Any:
    """Return a column of numbers as a watched array, any other array as it is."""
    is_column = array.ndim == 2 and array.shape[1] == 1 < array.shape[0]
    return array.view(_get_column_class()) if is_column else array


@cache
def _get_column_class() -> type[Any]:
    """Return the class of watched arrays; NumPy is imported by then."""
    import numpy

    class Column(numpy.ndarray):
        """An array that notes which arrays it meets."""

        def __array_ufunc__(
            self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
        ) -> Any:
            if method == "__call__" and len(inputs) == 2 and notes:
                _note_pair(inputs, Column)
            plain = [_get_plain(value, Column) for value in inputs]
            if "out" in kwargs:
                kwargs["out"] = tuple(_get_plain(v, Column) for v in kwargs["out"])
            result = getattr(ufunc, method)(*plain, **kwargs)
            return _watch_column(result) if type(result) is numpy.ndarray else result

        def __array_function__(
            self, func: Any, types: Any, args: Any, kwargs: Any
        ) -> Any:
            result = super().__array_function__(func, types, args, kwargs)
            if getattr(func, "__name__", "") in JOINING:
                return _watch_column(result)
            return result

        def __repr__(self) -> str:
            return repr(self.view(numpy.ndarray))

        def __reduce__(self) -> Any:
            return self.view(numpy.ndarray).__reduce__()

    Column.__name__ = Column.__qualname__ = "ndarray"
    Column.__module__ = "numpy"
    return Column


def _get_plain(value: Any, column: type[Any]) -> Any:
    """Return a watched array as a plain one, anything else as it is."""
    import numpy

    return value.view(numpy.ndarray) if isinstance(value, column) else value


def _note_pair(values: tuple[Any, ...], column: type[Any]) -> None:
    """Note a column that meets as many numbers, unless these are the column's own."""
    import numpy

    for at, (watched, other) in enumerate((values, values[::-1])):
        if not isinstance(watched, column) or not isinstance(other, numpy.ndarray):
            continue
        size = watched.shape[0] if watched.ndim == 2 and watched.shape[1] == 1 else 0
        is_own = numpy.may_share_memory(watched, other)
        if size > 1 and other.shape == (size,) and not is_own:
            notes[-1](f"{'right' if at else 'left'} {size}")
