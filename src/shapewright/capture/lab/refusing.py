"""What a drawn call that torch refuses needs and did not get."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch

from shapewright.capture.identity import DTYPE_NAMES

Tensor = torch.Tensor
MOST_VALUES = 1 << 14


@dataclass(frozen=True, slots=True)
class Asked:
    """A tensor's metadata as needs look at it; `values` of whole numbers, flat."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    values: tuple[int, ...] | None = None
    device: str = "cpu"
    requires_grad: bool = False


def asked(value: Any) -> Any:
    """An argument as needs look at it."""
    if isinstance(value, Tensor):
        whole = not (value.is_floating_point() or value.is_complex())
        known = whole and not value.is_meta and value.numel() <= MOST_VALUES
        values = tuple(value.flatten().tolist()) if known else None
        dtype = DTYPE_NAMES[value.dtype]
        return Asked(tuple(value.shape), tuple(value.stride()), dtype, values)
    if isinstance(value, torch.dtype):
        return DTYPE_NAMES[value]
    if isinstance(value, tuple | list):
        return type(value)([asked(item) for item in value])
    return value


def why_refused(name: str, args: Any, kwargs: Any) -> tuple[str, ...]:
    """The sentence of a call's need and its lines; nothing where none is known."""
    import shapewright.rules.needs.all  # noqa: F401  (only after a refusal)
    from shapewright.rules.needs.registry import NEEDS, unmet

    named = {key: asked(value) for key, value in kwargs.items()}
    found = unmet(NEEDS.get(name), tuple(map(asked, args)), named)
    if found is None:
        return ()
    words = Words(op=f"`{name.rpartition('.')[2]}`")
    lines = (found.message, *found.lines)
    return tuple(line.format_map(words) for line in lines)


class Words(dict[str, str]):
    """The names of arguments as a drawing has them, in code quotes."""

    def __missing__(self, key: str) -> str:
        name = "input" if key == "self" else re.sub(r"_(\d+)$", r".\1", key)
        return f"`{name}`"
