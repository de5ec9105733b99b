"""What one of several runs at different sizes showed: numbers, call by call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shapewright.capture.argued import arguments
from shapewright.capture.calls import Call
from shapewright.capture.identity import Info

Shapes = tuple[tuple[int, ...], ...]

WHOLE = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Sample:
    """One run at stated sizes of the letters.

    For each call: `keys` says which it was (function, place, module), so that calls of
    two runs can be told to be the same; `taken` and `given` are the shapes in and out,
    `steps` the strides out, `numbers` the whole numbers among its arguments, those of
    slices last. What the target returned stands last, as if a call had given it.
    """

    letters: Mapping[str, int]
    keys: tuple[Any, ...]
    taken: tuple[Shapes, ...]
    given: tuple[Shapes, ...]
    steps: tuple[Shapes, ...]
    numbers: tuple[tuple[int, ...], ...]


def sample_of(
    events: Iterable[tuple[Any, ...]],
    calls: list[Call],
    letters: Mapping[str, int],
    output: Shapes | None,
) -> Sample:
    """The numbers of a run, without names and facts."""
    keys: list[Any] = []
    taken, given, steps, numbers = [], [], [], []
    known: dict[int, tuple[int, ...]] = {}
    for answer, ins, outs, site, number in events:
        call = calls[number] if calls else None
        kinds = tuple([info.meta.dtype for info in outs])
        keys.append((answer.func, site, call.path if call else "", kinds))
        taken.append(shapes(ins))
        given.append(shapes(outs))
        steps.append(tuple([info.meta.stride for info in outs]))
        found = known.get(id(answer))
        if found is None:
            given_to = arguments(answer)
            ends = of_slices(given_to) if is_index(answer.func) else ()
            found = known[id(answer)] = (*whole_numbers(given_to), *ends)
        numbers.append(found)
    if output is not None:
        keys.append(("output", len(output)))
        taken.append(())
        given.append(output)
        steps.append(())
        numbers.append(())
    return Sample(
        dict(letters), tuple(keys), tuple(taken), tuple(given), tuple(steps),
        tuple(numbers),
    )  # fmt: skip


def is_index(function: Any) -> bool:
    """Whether a call is of brackets: `x[:, ::2]`."""
    return getattr(function, "__name__", "") in ("__getitem__", "__setitem__")


def of_slices(nest: Any) -> Iterator[int]:
    """The whole numbers of slices, which stand in arguments as text."""
    if isinstance(nest, tuple | list):
        for item in nest:
            yield from of_slices(item)
    elif isinstance(nest, str):
        yield from map(int, WHOLE.findall(nest))


def shapes(infos: Iterable[Info]) -> Shapes:
    """The shapes of some tensors."""
    return tuple([info.meta.shape for info in infos])


def whole_numbers(nest: Any) -> Iterator[int]:
    """The whole numbers of a nest, in order."""
    if isinstance(nest, tuple | list):
        for item in nest:
            yield from whole_numbers(item)
    elif isinstance(nest, int) and not isinstance(nest, bool):
        yield int(nest)
