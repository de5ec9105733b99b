"""Real tensors as needs see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from rules.oracle import leaves, mapped, text
from rules.oracle import shown as shown_


@dataclass(frozen=True)
class Seen:
    """Metadata of a tensor; `values` where it holds whole numbers."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    device: str = "cpu"
    requires_grad: bool = False
    values: tuple[int, ...] | None = None


def seen(value: Any) -> Any:
    """A leaf of a call as a need sees it."""
    if isinstance(value, torch.Tensor):
        whole = not (value.is_floating_point() or value.is_complex())
        values = tuple(value.flatten().tolist()) if whole else None
        return Seen(
            tuple(value.shape), value.stride(), text(value.dtype), values=values
        )
    if isinstance(value, torch.dtype):
        return text(value)
    return value


def filled(
    shape: tuple[int, ...] | list[int], dtype: torch.dtype, whole: int = 0
) -> torch.Tensor:
    """Values that most calls take: indices, shares, a matrix that has an inverse."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.full(shape, whole, dtype=dtype)
    if len(shape) < 2:
        return torch.ones(shape, dtype=dtype)
    square = torch.eye(*shape[-2:], dtype=torch.float64) / 2 + 0.25
    return square.to(dtype).expand(*shape).clone()


def shown(args: Any, kwargs: Any) -> str:
    """A call's arguments, for messages."""
    return shown_(args, kwargs)


__all__ = ["Seen", "filled", "leaves", "mapped", "seen", "shown"]
