"""The arguments of a call, as the record keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from shapewright.capture.identity import Meta
from shapewright.capture.memo import Answer


def arguments(answer: Answer) -> tuple[tuple[str, Any], ...]:
    """The non-tensor arguments, by position or name."""
    args, kwargs = answer.arguments
    found = [(str(i), readable(v)) for i, v in enumerate(args) if not _tensors(v)]
    found += [(name, readable(v)) for name, v in kwargs.items() if not _tensors(v)]
    return tuple(found)


def _tensors(value: Any) -> bool:
    if isinstance(value, Meta):
        return True
    return (
        isinstance(value, tuple | list)
        and bool(value)
        and all(_tensors(item) for item in value)
    )


def readable(value: Any) -> Any:
    """A plain value, or its text."""
    if isinstance(value, bool | int | float | str | type(None)):
        return value
    if isinstance(value, Meta):
        return "tensor"
    if isinstance(value, tuple | list):
        items = [readable(item) for item in value[:100]]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, slice):
        parts = [value.start, value.stop, value.step]
        texts = ["" if part is None else str(readable(part)) for part in parts]
        return ":".join(texts[:2] if value.step is None else texts)
    if value is ...:
        return "..."
    if isinstance(value, PLAIN_OF_TORCH):
        return str(value).removeprefix("torch.")
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return f"<{type(value).__name__}>"


PLAIN_OF_TORCH = torch.dtype | torch.device | torch.layout | torch.memory_format
UNTOLD = "?"
"""The place of a tensor of which it is not known."""


def places(answer: Answer, count: int) -> tuple[str, ...]:
    """Where each of `count` tensors stands in the call.

    Empty where they fill, in order, the positions that other arguments leave free.
    """
    args, kwargs = answer.arguments
    found = [place for n, value in enumerate(args) for place in _within(value, str(n))]
    for name, value in kwargs.items():
        found += _within(value, name)
    if len(found) != count:
        return (UNTOLD,) * count
    free = [str(n) for n, value in enumerate(args) if isinstance(value, Meta)]
    return () if found == free else tuple(found)


def _within(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, Meta):
        yield place
    elif isinstance(value, tuple | list):
        for n, item in enumerate(value):
            yield from _within(item, f"{place}.{n}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _within(item, f"{place}.{key}")
    elif isinstance(value, slice):
        for item in (value.start, value.stop, value.step):
            yield from _within(item, f"{place}.{UNTOLD}")
