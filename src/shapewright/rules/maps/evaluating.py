"""The value of an output element, by its index map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod, trunc
from typing import Any

from shapewright.rules.maps.index_map import IndexMap, Read

Tensors = Mapping[str, Callable[[tuple[int, ...]], Any]]
"""A tensor by its name in the call: what gives its element at an index."""

Functions = Callable[[str, list[Any], int | None], Any]
"""Names the torch function, its operands in order, and the index of its result."""


def element(
    drawn: IndexMap, index: Sequence[int], tensors: Tensors, functions: Functions
) -> Any:
    """The output's element at `index`, as the map says."""
    letters = around(drawn, index, tensors)
    start = drawn.start
    if isinstance(start, Read):
        start = value_of(start, letters)
    found: list[Any] = []
    steps = []
    for step in drawn.steps(letters):
        value = term(drawn, step, functions)
        if value is not None:
            found.append(value)
            steps.append(step)
    if drawn.combine == "last" or (not found and start is not None):
        return found[-1] if found else start
    made: Any
    if drawn.combine == "sum":
        made = sum(found, start=0 if start is None else start)
        if drawn.scale is not None:
            made = made / drawn.scale
    else:
        at = None if drawn.at is None else drawn.at.value(letters)
        made = functions(drawn.combine, found, at)
    if drawn.gives is not None:
        return drawn.gives.value(steps[made])
    return trunc(made) if drawn.truncated else made


def around(drawn: IndexMap, index: Sequence[int], tensors: Tensors) -> dict[str, Any]:
    """The output letters' values, and the tensors and tables by their names."""
    tables = {table.name: table.element for table in drawn.tables}
    return {**tensors, **tables, **drawn.named(index)}


def term(drawn: IndexMap, step: Mapping[str, Any], functions: Functions) -> Any:
    """What one step gives; None where no read applies."""
    if drawn.term == "copy":
        for read in drawn.reads:
            if read.applies(step):
                return value_of(read, step)
        return drawn.missing
    values = [value_of(read, step) for read in drawn.reads]
    if drawn.term == "product":
        return prod(values)
    return functions(drawn.term, values, None)


def value_of(read: Read, letters: Mapping[str, Any]) -> Any:
    """The element that a read names."""
    at = tuple(index.value(letters) for index in read.indices)
    assert min(at, default=0) >= 0, f"{read} at {at}"
    return letters[read.tensor](at)


def sources(drawn: IndexMap, index: Sequence[int], tensors: Tensors) -> list[Any]:
    """The elements that the output's element at `index` reads: (tensor, index).

    A table is not an input: its numbers are left out.
    """
    letters = around(drawn, index, tensors)
    tables = {table.name for table in drawn.tables}
    found: list[Any] = []
    for step in drawn.steps(letters):
        applying = [
            read
            for read in drawn.reads
            if read.tensor not in tables and read.applies(step)
        ]
        if drawn.term == "copy":
            applying = applying[:1]
        for read in applying:
            at = tuple(expression.value(letters | step) for expression in read.indices)
            found.append((read.tensor, at))
    if isinstance(drawn.start, Read) and (drawn.combine == "sum" or not found):
        at = tuple(expression.value(letters) for expression in drawn.start.indices)
        found.append((drawn.start.tensor, at))
    return found
