"""The value of an output element by its index map, and how often each element is
read.

Fold of columns of ones, for example, gives what `count_meetings` says::

    F.fold(F.unfold(torch.ones(1, 1, 5, 5), 3), (5, 5), 3)[0, 0, 2, 2] == 9
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Protocol

from shapewright.index_maps.index_map import CallNumber, IndexMap, Read

Tensors = Mapping[str, Callable[[tuple[int, ...]], Any]]
"""Functions that read a tensor's element at an index, by its name in the call."""


class _Functions(Protocol):
    """Torch functions by name; `options` are their keyword arguments."""

    def of_elements(
        self, name: str, values: list[Any], options: dict[str, Any], /
    ) -> Any:
        """Apply a function to the elements that a step reads, in order."""

    def of_steps(
        self, name: str, values: list[Any], at: int | None, options: dict[str, Any], /
    ) -> Any:
        """Apply a function to the values of all steps, and select from its result."""


PLAIN_TERMS = ("copy", "product")


def compute_element(
    drawn: IndexMap, index: Sequence[int], tensors: Tensors, functions: _Functions
) -> Any:
    """Return the element of the output at `index`, computed by the map."""
    letters = _bind_names(drawn, index, add_stages(drawn, tensors, functions))
    element = _combine_steps(drawn, letters, functions)
    for then in drawn.then:
        operands = [element, *(_read_value(read, letters) for read in then.reads)]
        element = functions.of_elements(then.function, operands, dict(then.options))
    return element


def add_stages(drawn: IndexMap, tensors: Tensors, functions: _Functions) -> Tensors:
    """Return the tensors and the map's stages, which cache their elements.

    To evaluate many elements, call this once and pass its result on.
    """
    every = dict(tensors)
    for stage in drawn.stages:
        if stage.name not in every:
            every[stage.name] = _build_stage_reader(stage.map, dict(every), functions)
    return every


def _build_stage_reader(
    drawn: IndexMap, tensors: Tensors, functions: _Functions
) -> Callable[[tuple[int, ...]], Any]:
    """Return a function that computes an element of a stage when it is first used."""
    known: dict[tuple[int, ...], Any] = {}

    def at(index: tuple[int, ...]) -> Any:
        if index not in known:
            element = compute_element(drawn, index, tensors, functions)
            known[index] = element.item() if hasattr(element, "item") else element
        return known[index]

    return at


def _combine_steps(
    drawn: IndexMap, letters: Mapping[str, Any], functions: _Functions
) -> Any:
    """Return the combined value of the steps."""
    start = drawn.start
    if isinstance(start, Read):
        start = _read_value(start, letters)
    values: list[Any] = []
    steps = []
    for step in drawn.steps(letters):
        value = _compute_term(drawn, step, functions)
        if value is not None:
            values.append(value)
            steps.append(step)
    if drawn.combine == "last" or (not values and start is not None):
        return values[-1] if values else start
    result: Any
    if drawn.combine == "sum":
        result = sum(values, start=0 if start is None else start)
        if drawn.scale is not None:
            result = result / drawn.scale
    else:
        at = None if drawn.at is None else drawn.at.value(letters)
        options = dict(drawn.options) if drawn.term in PLAIN_TERMS else {}
        result = functions.of_steps(drawn.combine, values, at, options)
    if drawn.gives is not None:
        return drawn.gives.value(steps[int(result)])
    return int(result) if drawn.truncated else result


def _bind_names(
    drawn: IndexMap, index: Sequence[int], tensors: Tensors
) -> dict[str, Any]:
    """Return the values of the output letters, and the tensors and tables by name."""
    tables = {table.name: table.element for table in drawn.tables}
    return {**tensors, **tables, **drawn.named(index)}


def _compute_term(
    drawn: IndexMap, step: Mapping[str, Any], functions: _Functions
) -> Any:
    """Return the value of a step, or None if no read applies."""
    if drawn.value is not None:
        value = drawn.value
        return value if isinstance(value, int | float) else value.value(step)
    if drawn.term == "copy":
        for read in drawn.reads:
            if read.applies(step):
                return _read_value(read, step)
        return drawn.missing
    values = [_read_value(read, step) for read in drawn.reads]
    if drawn.term == "product":
        return prod(values)
    return functions.of_elements(drawn.term, values, dict(drawn.options))


def _read_value(read: Read, letters: Mapping[str, Any]) -> Any:
    """Return the element at which a read points."""
    if isinstance(read, CallNumber):
        return read.number
    at = tuple(index.value(letters) for index in read.indices)
    assert min(at, default=0) >= 0, f"{read} at {at}"
    return letters[read.tensor](at)


def find_sources(drawn: IndexMap, index: Sequence[int], tensors: Tensors) -> list[Any]:
    """Return the input elements that the output element at `index` reads, by tensor.

    A table is not an input: its numbers are left out. Without stages an element that is
    read twice is there twice.
    """
    if not drawn.stages:
        return find_direct(drawn, index, tensors)
    stages = {stage.name for stage in drawn.stages}
    path = find_path(drawn, index, tensors)
    return [place for place in path if place[0] not in stages]


def find_path(drawn: IndexMap, index: Sequence[int], tensors: Tensors) -> list[Any]:
    """Return all elements on the way to the output element at `index`: those of stages
    that it reads, and what these read, down to the inputs.
    """
    stages = {stage.name: stage.map for stage in drawn.stages}
    path: dict[Any, None] = {}

    def read(index_map: IndexMap, at: Sequence[int]) -> None:
        for place in find_direct(index_map, at, tensors):
            if place not in path:
                path[place] = None
                if place[0] in stages:
                    read(stages[place[0]], place[1])

    read(drawn, index)
    return list(path)


def find_direct(drawn: IndexMap, index: Sequence[int], tensors: Tensors) -> list[Any]:
    """Return the elements that a map itself reads, of inputs and of stages."""
    letters = _bind_names(drawn, index, tensors)
    tables = {table.name for table in drawn.tables}
    elements: list[Any] = []
    for step in drawn.steps(letters):
        applying = [
            read
            for read in drawn.reads
            if read.tensor not in tables and read.applies(step)
        ]
        if drawn.term == "copy":
            applying = applying[:1]
        elements += [place for read in applying for place in _get_place(read, step)]
    if isinstance(drawn.start, Read) and (drawn.combine == "sum" or not elements):
        elements += _get_place(drawn.start, letters)
    for then in drawn.then:
        elements += [
            place for read in then.reads for place in _get_place(read, letters)
        ]
    return elements


def _get_place(read: Read, letters: Mapping[str, Any]) -> list[Any]:
    """Return the (tensor, index) of a read, or an empty list for a number."""
    if isinstance(read, CallNumber):
        return []
    return [(read.tensor, tuple(index.value(letters) for index in read.indices))]


Index = tuple[int, ...]
NO_TENSORS: Mapping[str, Any] = {}


def count_reads(
    drawn: IndexMap, tensor: str, tensors: Tensors = NO_TENSORS
) -> Counter[Index]:
    """Return how often the output reads each element of an input, without zeros.

    This visits the whole output: use it for tensors small enough to show. `tensors` are
    needed if indices are values, as in a gather.
    """
    return Counter(
        at
        for index in _iter_indices(drawn)
        for name, at in find_sources(drawn, index, tensors)
        if name == tensor
    )


def count_meetings(drawn: IndexMap, tensors: Tensors = NO_TENSORS) -> dict[Index, int]:
    """Return how many elements reach each output element of `fold` or scatter."""
    return {
        index: len(find_sources(drawn, index, tensors))
        for index in _iter_indices(drawn)
    }


def _iter_indices(drawn: IndexMap) -> Iterator[Index]:
    """Iterate over the indices of the output in row-major order."""
    return product(*map(range, drawn.shape))
