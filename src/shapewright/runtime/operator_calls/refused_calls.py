"""Why torch refuses a call: the unmet need in words, and the parts that do not fit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from shapewright.engine.identity import DTYPE_NAMES
from shapewright.findings.codes import (
    DOES_NOT_DIVIDE,
    DTYPE_MISMATCH,
    ELEMENT_COUNT_MISMATCH,
    INDEX_OUT_OF_RANGE,
    WRONG_RANK,
)
from shapewright.index_maps.drawn_calls import Drawn, Part, Unfit
from shapewright.operators.failed_calls import Grant, Place, Unmet

Tensor = torch.Tensor
MOST_VALUES = 1 << 14

_WHOLE_PARTS: dict[str, Part] = {
    WRONG_RANK: "rank",
    DTYPE_MISMATCH: "dtype",
    INDEX_OUT_OF_RANGE: "values",
    ELEMENT_COUNT_MISMATCH: "count",
    DOES_NOT_DIVIDE: "count",
}
"""What does not fit of a tensor as a whole, by the code of the need."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A tensor's metadata in the form that needs read; `values` are flat integers."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    values: tuple[int, ...] | None = None
    device: str = "cpu"
    requires_grad: bool = False


def explain_refusal(
    drawn: Drawn, tensors: Mapping[str, Tensor], args: Any, kwargs: Any
) -> Drawn:
    """Return a refused call with the unmet need in words, and the parts that do not
    fit; unchanged if no need is known.

    `tensors` are the call's tensors by the names of its inputs.
    """
    import shapewright.operators.all_needs  # noqa: F401  (only after a refusal)
    from shapewright.operators.needs_registry import NEEDS, unmet

    function = NEEDS.get(drawn.name)
    named = {key: _convert_for_needs(value) for key, value in kwargs.items()}
    need = unmet(function, tuple(map(_convert_for_needs, args)), named)
    if function is None or need is None:
        return drawn
    words = _Words(op=f"`{drawn.name.rpartition('.')[2]}`")
    lines = (need.message, *need.lines)
    arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    names = {id(tensor): name for name, tensor in tensors.items()}
    unfit: dict[tuple[str, int | None], Unfit] = {}
    for part in _iter_unfit(need, _Inputs(arguments, names)):
        unfit.setdefault((part.name, part.dim), part)
    return replace(
        drawn,
        refusal=tuple(line.format_map(words) for line in lines),
        unfit=tuple(unfit.values()),
    )


def _convert_for_needs(value: Any) -> Any:
    """Return an argument in the form that needs read."""
    if isinstance(value, Tensor):
        whole = not (value.is_floating_point() or value.is_complex())
        known = whole and not value.is_meta and value.numel() <= MOST_VALUES
        values = tuple(value.flatten().tolist()) if known else None
        dtype = DTYPE_NAMES[value.dtype]
        return _Asked(tuple(value.shape), tuple(value.stride()), dtype, values)
    if isinstance(value, torch.dtype):
        return DTYPE_NAMES[value]
    if isinstance(value, tuple | list):
        return type(value)([_convert_for_needs(item) for item in value])
    return value


class _Words(dict[str, str]):
    """The names of arguments in a drawing, in backquotes."""

    def __missing__(self, key: str) -> str:
        name = "input" if key == "self" else re.sub(r"_(\d+)$", r".\1", key)
        return f"`{name}`"


# -- the parts that do not fit ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The arguments of a call as its need names them, and the names of its tensors in
    the drawing, by `id`."""

    arguments: Mapping[str, Any]
    names: Mapping[int, str]

    def find(self, argument: str) -> tuple[str, tuple[int, ...]] | None:
        """Return name and shape of a tensor, or None for another argument."""
        name, *places = argument.split(".")
        value = self.arguments.get(name)
        for place in places:
            if not isinstance(value, tuple | list) or int(place) >= len(value):
                return None
            value = value[int(place)]
        if not isinstance(value, Tensor) or id(value) not in self.names:
            return None
        return self.names[id(value)], tuple(value.shape)


def _iter_unfit(need: Unmet, inputs: _Inputs) -> Iterator[Unfit]:
    """Yield the parts of a call's inputs that do not fit."""
    part = _WHOLE_PARTS.get(need.code)
    for place, has, fitting in (
        (need.got, need.has, need.needs),
        (need.wanted, need.needs, need.has),
    ):
        side = inputs.find(place.argument) if place is not None else None
        if place is None or side is None:
            continue
        name, shape = side
        if part is not None and (place is need.got or part == "dtype"):
            whole = fitting if part in ("values", "count") else None
            yield Unfit(name, part, needs=_keep_size(whole))
        elif place.dim is not None and place.dim < len(shape):
            known = shape[place.dim] == has and part != "values"
            yield Unfit(name, "dim", place.dim, _keep_size(fitting) if known else None)
    if part is None:
        for grant in need.grants:
            yield from _iter_resized(grant, need.wanted, need.got, inputs)


def _keep_size(value: Any) -> int | None:
    """Return a value if it is a size."""
    return value if type(value) is int else None


def _iter_resized(
    grant: Grant, wanted: Place | None, got: Place | None, inputs: _Inputs
) -> Iterator[Unfit]:
    """Yield further dims whose size a fitting argument changes, with those that they
    should be equal to: of `(2, 3) + (4, 5)` both dims do not fit."""
    side = inputs.find(grant.argument)
    shape = getattr(grant.value, "shape", None)
    if side is None or shape is None or len(shape) != len(side[1]):
        return
    if sorted(shape) == sorted(side[1]):  # a permutation
        return
    for dim, (size, fitting) in enumerate(zip(side[1], shape, strict=True)):
        if size == fitting:
            continue
        yield Unfit(side[0], "dim", dim, fitting)
        if wanted is None or got is None or None in (wanted.dim, got.dim):
            continue
        other = inputs.find(wanted.argument)
        if other is None or grant.argument != got.argument:
            continue
        assert wanted.dim is not None
        assert got.dim is not None
        facing = dim + wanted.dim - got.dim
        if 0 <= facing < len(other[1]) and other[1][facing] == fitting:
            yield Unfit(other[0], "dim", facing, size)
