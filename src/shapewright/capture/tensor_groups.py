"""Tensors in groups of one device and dtype, as optimizers step through them.

torch groups them in C++ by what they physically are, where it sees neither the device
nor the dtype that a tensor claims: `AdamW(fused=True)`, `clip_grad_norm_`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture.identity import Meta
from shapewright.capture.private import GROUPING
from shapewright.capture.replacement import replaced

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Groups = dict[tuple[torch.device, torch.dtype], tuple[list[list[Any]], list[int]]]

STEPS = frozenset({torch.float32, torch.float64})
"""What counts steps is of these, whatever the parameters are."""


@contextmanager
def tensors_grouped(engine: Engine) -> Iterator[None]:
    """For the time of a run, torch groups tensors by what they claim."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def group(tensorlistlist: list[list[Any]], with_indices: bool = False) -> Any:
            if get_ident() not in engine.threads:
                return original(tensorlistlist, with_indices)
            with torch._C.DisableTorchFunction():
                return group_tensors(engine, tensorlistlist, with_indices)

        return group

    if not hasattr(*GROUPING):
        yield
        return
    with replaced(*GROUPING, make):
        yield


def group_tensors(
    engine: Engine, lists: list[list[Any]], with_indices: bool = False
) -> Groups:
    """Tensors of the first list by their device and dtype, the others with them.

    Example: for parameters in float32 and bfloat16 there are two groups; each has as
    many lists as went in, and the places at which its tensors stood.
    """
    groups: Groups = {}
    for place, first in enumerate(lists[0]):
        meta = engine.info(first).meta
        row = [each[place] if each else None for each in lists]
        for tensor in row:
            if tensor is not None and not _goes_with(engine.info(tensor).meta, meta):
                engine.raise_theirs(RuntimeError(
                    "Tensors of the same index must be on the same device and the same "
                    "dtype except `step` tensors that can be CPU and float32/64 "
                    "notwithstanding"
                ))  # fmt: skip
        key = torch.device(meta.device), meta.torch_dtype
        columns, places = groups.setdefault(key, ([[] for _ in lists], []))
        for column, each, tensor in zip(columns, lists, row, strict=True):
            if each:
                column.append(tensor)
        if with_indices:
            places.append(place)
    return groups


def _goes_with(meta: Meta, first: Meta) -> bool:
    """Whether torch takes a tensor with a parameter: a step may be on the CPU."""
    if meta.device == first.device:
        lower = meta.torch_dtype is torch.bfloat16  # an optimizer's state may be
        return meta.torch_dtype in (first.torch_dtype, *STEPS) or lower
    return meta.device == "cpu" and meta.torch_dtype in STEPS
