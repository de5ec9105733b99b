"""Another size for the dims of inputs that a failed call's dim was made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import gcd, prod
from typing import TYPE_CHECKING

from shapewright.inputs.finding.hypothesis import Dim, Hypothesis, Tensor
from shapewright.rules.needs.failure import Failure
from shapewright.searching.following import Source
from shapewright.trace.fact import Fact
from shapewright.trace.op import Op

if TYPE_CHECKING:
    from shapewright.searching.mending import Mender

LARGEST = 1 << 18
"""A dim of an input does not become larger for a view."""
VIEWED = re.compile(r"shape '\[([^\]]*)\]' is invalid for input of size")
SPATIAL = ("H", "W", "D", "L", "T")


def divided(mender: Mender, failure: Failure, op: Op) -> Iterator[Hypothesis]:
    """A size with which the elements go into the shape that a view asks for."""
    said = VIEWED.search(failure.torch_message)
    if said is None or not op.inputs:
        return
    fact, wanted = op.inputs[0], numbers_in(said[1].replace("-1", ""))
    unit, total = prod(wanted), prod(fact.shape)
    open_ended = "-1" in said[1]
    if not unit or not total:
        return
    for dim, old in reversed(list(enumerate(fact.shape))):
        rest = total // old
        if open_ended:
            step = unit // gcd(unit, rest)
            new = -(-old // step) * step
        else:
            new = unit // rest
        if new != old and 0 < new * rest <= LARGEST * total and not new * rest % unit:
            for each in sized(mender, fact, dim, old, new, op):
                yield replace(each, cost=each.cost + 0.3)


def sized(
    mender: Mender, fact: Fact, dim: int, old: int, new: int, op: Op
) -> Iterator[Hypothesis]:
    """Another size for the dims of inputs that a dim was made of."""
    sources = mender.way.sources(fact, dim)
    if len(sources) == 1 and sources[0].exact:
        yield from resized(mender, sources[0], new, op)
        return
    for source in sources:
        tensor = mender.hypothesis.at(source.path)
        known = tensor.dims[source.dim] if isinstance(tensor, Tensor) else ""
        if isinstance(known, int) and known + new > old:  # joined with others
            yield from resized(mender, source, known + new - old, op)
    yield from alike(mender, fact, old, new, op)
    yield from estimated(mender, fact, dim, old, new, op, sources)


def resized(mender: Mender, source: Source, new: int, op: Op) -> Iterator[Hypothesis]:
    """One dim of one input."""
    hypothesis = mender.hypothesis
    tensor = hypothesis.at(source.path)
    if not isinstance(tensor, Tensor) or source.dim >= len(tensor.dims):
        return
    dim = tensor.dims[source.dim]
    why = f"`{source.path[-1]}` has a dim of {new} by `{op.name}`"
    uses = [d for _, each in hypothesis.tensors() for d in each.dims].count(dim)
    if dim in ("H", "W") and "H" in tensor.dims and "W" in tensor.dims:
        yield hypothesis.with_sizes({"H": new, "W": new}, why, 0.3)
        yield hypothesis.with_sizes({str(dim): new}, why, 1.5)
        return
    if isinstance(dim, str) and uses > 1:
        yield hypothesis.with_sizes({dim: new}, why, 0.6)
    letters = [
        letter
        for _, each in hypothesis.tensors()
        for letter in each.dims
        if isinstance(letter, str) and letter != dim
        and hypothesis.sizes[letter] == new
    ]  # fmt: skip
    for letter in dict.fromkeys(letters):
        if letter != "B" or source.dim == 0:
            dims = placed(tensor.dims, source.dim, letter)
            made = replace(tensor, dims=dims)
            yield hypothesis.with_value(source.path, made, "", 0.3)
    made = replace(tensor, dims=placed(tensor.dims, source.dim, new))
    yield hypothesis.with_value(
        source.path, made, why, 0.4 if isinstance(dim, str) else 1.2
    )


def alike(
    mender: Mender, fact: Fact, old: int, new: int, op: Op
) -> Iterator[Hypothesis]:
    """Dims of inputs that have the wrong size themselves, each alone."""
    for path in mender.way.ancestors(fact):
        tensor = mender.hypothesis.at(path)
        shape = tensor.shape(mender.hypothesis.sizes)
        for dim, size in enumerate(shape):
            if size == old and tensor.dims[dim] != "B":
                for each in resized(mender, Source(path, dim, False), new, op):
                    yield replace(each, cost=each.cost - 0.1)


def estimated(
    mender: Mender,
    fact: Fact,
    dim: int,
    old: int,
    new: int,
    op: Op,
    sources: list[Source],
) -> Iterator[Hypothesis]:
    """The sizes from which a derived size becomes what is needed."""
    hypothesis = mender.hypothesis
    letters = []
    for source in sources:
        tensor = hypothesis.at(source.path)
        if isinstance(tensor, Tensor) and source.dim < len(tensor.dims):
            letter = tensor.dims[source.dim]
            if isinstance(letter, str) and letter not in letters:
                letters.append(letter)
    if not letters:
        for path in mender.way.ancestors(fact):
            tensor = hypothesis.at(path)
            if isinstance(tensor, Tensor):
                letters += [d for d in tensor.dims if d in SPATIAL]
    letters = [letter for letter in dict.fromkeys(letters) if isinstance(letter, str)]
    spatial = [letter for letter in letters if letter != "B"] or letters
    if not spatial:
        return
    if set(spatial) & {"H", "W"}:
        spatial = list(dict.fromkeys([*spatial, "H", "W"]))
        spatial = [one for one in spatial if one in hypothesis.sizes]
    power = max(len(spatial), 1)
    key = (op.name, op.span, dim, new, tuple(spatial))
    size = hypothesis.sizes[spatial[0]]
    why = f"{new} features at `{op.name}` ask for {' x '.join(spatial)}"
    tries = mender.observed.estimates(key, size, old, new, power)
    for n, each in enumerate(tries):
        sizes = dict.fromkeys(spatial, each)
        yield hypothesis.with_sizes(sizes, why, 0.1 + 0.25 * n)


def placed(dims: tuple[Dim, ...], place: int, dim: Dim) -> tuple[Dim, ...]:
    """The dims with another at a place."""
    return (*dims[:place], dim, *dims[place + 1 :])


NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*\w)")


def numbers_in(text: str) -> list[int]:
    """Whole numbers that a message names."""
    return [int(each) for each in NUMBER.findall(text)]
