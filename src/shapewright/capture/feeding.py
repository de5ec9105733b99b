"""Input tensors made from a spec: data-free, or with the values that it states."""

from __future__ import annotations

from typing import Any

import torch

from shapewright.capture.engine import KNOWN_LIMIT
from shapewright.capture.identity import (
    BLANK,
    DTYPES,
    VALUED,
    Info,
    Metas,
    Storage,
    intern_meta,
)


def feed(
    shape: tuple[int, ...],
    dtype: str,
    device: str,
    name: str,
    values: torch.Tensor | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A tensor for the program: of `values` if given, else without data.

    Small integers and booleans whose values nobody stated are ones: they decide control
    flow and sizes. Reading one is an assumption of the run.
    """
    metas: Metas = {}
    kind = DTYPES[dtype]
    count = 1
    for size in shape:
        count *= size
    assumed = None
    whole = not kind.is_floating_point and not kind.is_complex
    if values is None and whole and count <= KNOWN_LIMIT:
        values = torch.ones(shape, dtype=kind)
        assumed = f"the input `{name}`, taken as ones"
    if values is None or values.numel() > KNOWN_LIMIT:
        tensor = torch.empty(shape, dtype=kind, device="meta")
    else:
        tensor = values
    if requires_grad:
        tensor.requires_grad_()
    known = not tensor.is_meta
    meta = intern_meta(metas, tensor, device, requires_grad)
    storage = Storage(device, known=known, assumed=assumed)
    info = Info(meta, storage, VALUED if known else BLANK)
    made: Any = tensor
    made._sw = info
    return tensor
