"""A tensor of a run at several sizes."""

from __future__ import annotations

from typing import Any

import torch

from shapewright.capture.identity import Info, Meta

Shape = tuple[int, ...]
Layout = tuple[Shape, Shape]
"""Shape and stride."""


class Column:
    """The metadata of one tensor at each of the sizes; None where it is not known."""

    __slots__ = (
        "_tensors",
        "constant",
        "layouts",
        "metas",
        "sample",
        "shapes",
        "strides",
    )

    def __init__(self, layouts: tuple[Layout | None, ...], sample: Meta) -> None:
        self.layouts = layouts
        self.sample = sample
        self.constant = len(set(layouts)) == 1 and layouts[0] is not None
        kind, device, grad = sample.torch_dtype, sample.device, sample.requires_grad
        made: dict[Layout, Meta] = {}
        self.metas: list[Meta | None] = []
        for each in layouts:
            meta = None if each is None else made.get(each)
            if meta is None and each is not None:
                meta = Meta(each[0], each[1], kind, 0, device, grad, "strided")
                made[each] = meta
            self.metas.append(meta)
        self.shapes = [None if each is None else each[0] for each in layouts]
        self.strides = [None if each is None else each[1] for each in layouts]
        self._tensors: dict[int, torch.Tensor] = {}

    def tensor(self, at: int) -> torch.Tensor:
        """A data-free tensor of one of the sizes."""
        found = self._tensors.get(at)
        if found is None:
            layout = self.layouts[at]
            assert layout is not None
            found = self._tensors[at] = torch.empty_strided(
                *layout, dtype=self.sample.torch_dtype, device="meta"
            )
        return found


class Columns:
    """All tensors of a run at some sizes; equal columns are one object."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made: dict[Any, Column] = {}
        self.of: dict[int, Column] = {}  # by identity of what is known of a tensor
        self.numbers: dict[int, Column] = {}  # by number of the tensor

    def column(self, layouts: tuple[Layout | None, ...], meta: Meta) -> Column:
        """The column with these layouts."""
        key = layouts, meta.dtype, meta.device, meta.requires_grad
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = Column(layouts, meta)
        return found

    def constant(self, meta: Meta) -> Column:
        """A tensor that is the same at all sizes."""
        found = self.made.get(meta)
        if found is None:
            layouts = ((meta.shape, meta.stride),) * self.count
            found = self.made[meta] = self.column(layouts, meta)
        return found

    def put(self, info: Info, column: Column) -> None:
        """What a call gave."""
        self.of[id(info)] = column
        self.numbers[info.number] = column

    def get(self, info: Info) -> Column:
        """A tensor that goes in; one that no call gave does not depend on sizes."""
        found = self.of.get(id(info))
        if found is None:
            found = self.constant(info.meta)
            self.put(info, found)
        return found
