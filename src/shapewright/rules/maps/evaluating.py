"""The value of an output element, by its index map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Protocol

from shapewright.rules.maps.index_map import IndexMap, Number, Read

Tensors = Mapping[str, Callable[[tuple[int, ...]], Any]]
"""A tensor by its name in the call: what gives its element at an index."""


class Functions(Protocol):
    """Torch functions by name; `options` are their keyword arguments."""

    def of_elements(
        self, name: str, values: list[Any], options: dict[str, Any], /
    ) -> Any:
        """Of the elements of one step, in order."""

    def of_steps(
        self, name: str, values: list[Any], at: int | None, options: dict[str, Any], /
    ) -> Any:
        """Of what all steps gave, at an index of the result."""


PLAIN_TERMS = ("copy", "product")


def element(
    drawn: IndexMap, index: Sequence[int], tensors: Tensors, functions: Functions
) -> Any:
    """The output's element at `index`, as the map says."""
    letters = {**tensors, **drawn.named(index)}
    made = combined(drawn, letters, functions)
    for then in drawn.then:
        operands = [made, *(value_of(read, letters) for read in then.reads)]
        made = functions.of_elements(then.function, operands, dict(then.options))
    return made


def combined(drawn: IndexMap, letters: Mapping[str, Any], functions: Functions) -> Any:
    """What the steps give together."""
    start = drawn.start
    if isinstance(start, Read):
        start = value_of(start, letters)
    found = []
    for step in drawn.steps(letters):
        value = term(drawn, step, functions)
        if value is not None:
            found.append(value)
    if drawn.combine == "last":
        return found[-1] if found else start
    if drawn.combine == "sum":
        made = sum(found, start=0 if start is None else start)
        return made / drawn.scale if drawn.scale is not None else made
    at = None if drawn.at is None else drawn.at.value(letters)
    options = dict(drawn.options) if drawn.term in PLAIN_TERMS else {}
    return functions.of_steps(drawn.combine, found, at, options)


def term(drawn: IndexMap, step: Mapping[str, Any], functions: Functions) -> Any:
    """What one step gives; None where no read applies."""
    if drawn.value is not None:
        made = drawn.value
        return made if isinstance(made, int | float) else made.value(step)
    if drawn.term == "copy":
        for read in drawn.reads:
            if read.applies(step):
                return value_of(read, step)
        return None
    values = [value_of(read, step) for read in drawn.reads]
    if drawn.term == "product":
        return prod(values)
    return functions.of_elements(drawn.term, values, dict(drawn.options))


def value_of(read: Read, letters: Mapping[str, Any]) -> Any:
    """The element that a read names."""
    if isinstance(read, Number):
        return read.number
    at = tuple(index.value(letters) for index in read.indices)
    assert min(at, default=0) >= 0, f"{read} at {at}"
    return letters[read.tensor](at)


def sources(drawn: IndexMap, index: Sequence[int], tensors: Tensors) -> list[Any]:
    """The elements that the output's element at `index` reads: (tensor, index)."""
    letters = {**tensors, **drawn.named(index)}
    found: list[Any] = []
    for step in drawn.steps(letters):
        applying = [read for read in drawn.reads if read.applies(step)]
        if drawn.term == "copy":
            applying = applying[:1]
        found += [place for read in applying for place in place_of(read, step)]
    if isinstance(drawn.start, Read) and (drawn.combine == "sum" or not found):
        found += place_of(drawn.start, letters)
    for then in drawn.then:
        found += [place for read in then.reads for place in place_of(read, letters)]
    return found


def place_of(read: Read, letters: Mapping[str, Any]) -> list[Any]:
    """The (tensor, index) that a read names; none for a number."""
    if isinstance(read, Number):
        return []
    return [(read.tensor, tuple(index.value(letters) for index in read.indices))]
