"""Copies of a person's tensors that lie in storage as the originals do.

They have the same strides and share a storage where the originals do, so that what is
said of views is true of both. Of a storage only the part that is reached is copied: a
few rows of a huge table are cheap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

Tensor = torch.Tensor
ALIGNED = 64
"""Copied parts of a storage begin at multiples of so many bytes, for every dtype."""

Spans = dict[int, tuple[int, int]]


def spans(tensors: Iterable[Tensor]) -> Spans:
    """The bytes that are reached of each storage, by the storage's identity."""
    found: Spans = {}
    for tensor in tensors:
        if not tensor.numel():
            continue
        size, first = tensor.element_size(), int(tensor.storage_offset())
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        last = int(first + sum((count - 1) * step for count, step in steps))
        low, high = first * size // ALIGNED * ALIGNED, (last + 1) * size
        key = tensor.untyped_storage()._cdata
        before = found.get(key, (low, high))
        found[key] = min(low, before[0]), max(high, before[1])
    return found


@dataclass(slots=True)
class Copies:
    """Makes copies that share storages as the originals do."""

    spans: Spans
    made: dict[int, Tensor] = field(default_factory=dict)

    def of(self, value: Any) -> Any:
        """A nest of arguments with copies in place of tensors."""
        if isinstance(value, Tensor):
            with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
                return self.copy(value)
        if type(value) in (tuple, list):
            return type(value)([self.of(item) for item in value])
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, torch.Generator):
            return value.clone_state()
        return value

    def copy(self, tensor: Tensor) -> Tensor:
        """One tensor's copy."""
        shape, stride, dtype = tensor.shape, tensor.stride(), tensor.dtype
        new = torch.empty(0, dtype=dtype, device=tensor.device)
        if not tensor.numel():
            return new.new_empty(0).as_strided(shape, stride)
        storage = tensor.untyped_storage()
        low, high = self.spans[storage._cdata]
        if storage._cdata not in self.made:
            bytes_ = torch.empty(0, dtype=torch.uint8, device=tensor.device)
            part = bytes_.set_(storage, low, (high - low,), (1,))
            self.made[storage._cdata] = part.clone()
        kept = self.made[storage._cdata].untyped_storage()
        offset = tensor.storage_offset() - low // tensor.element_size()
        new.set_(kept, offset, shape, stride)
        if tensor.is_conj():
            new = new.conj()
        return torch._neg_view(new) if tensor.is_neg() else new
