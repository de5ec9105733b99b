"""One call of a recipe at several sizes: its rule, else torch without data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from shapewright.engine import nests
from shapewright.engine.derived.recipe import TENSOR, Place, Step
from shapewright.engine.dispatch.answers import flat_of
from shapewright.engine.identity import DTYPES, Info, Meta, contiguous_stride
from shapewright.operators.metadata_rules import Same
from shapewright.record.guards import Applied, Read

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


NAMED: dict[str, Any] = {
    **DTYPES,
    **{
        str(each).removeprefix("torch."): each
        for each in (
            torch.strided, torch.contiguous_format, torch.preserve_format,
            torch.channels_last, torch.channels_last_3d,
        )
    },
}  # fmt: skip

PLAIN = frozenset({int, float, bool, str, type(None)})
Layouts = tuple[Layout, ...]


def answered(
    step: Step, columns: Sequence[Column], at: int, numbers: Sequence[int]
) -> Layouts | None:
    """What comes out of a call at one of the sizes; None where it is refused."""
    metas = [column.metas[at] for column in columns]
    if any(meta is None for meta in metas):
        return None
    if step.rule is not None:
        arguments = filled(step.arguments, iter(metas), iter(numbers))
        if step.torchs:
            arguments = nests.plain(arguments, lambda _: None)
        try:
            made = step.rule.metadata(*arguments[0], **arguments[1])
        except (TypeError, AttributeError):
            made = NotImplemented
        except Exception:
            return None
        if isinstance(made, Same):
            meta = metas[made.argument] if isinstance(made.argument, int) else None
            return None if meta is None else ((meta.shape, meta.stride),)
        if made is not NotImplemented:
            return told(flat_of(made), step.outs)
    return by_torch(step, columns, at, numbers)


def told(made: Any, outs: Sequence[Info]) -> Layouts | None:
    """What a rule says, where it speaks of the same tensors as the run."""
    if made is None or len(made) != len(outs):
        return None
    if any(m.dtype != out.meta.dtype for m, out in zip(made, outs, strict=True)):
        return None
    return tuple(
        (
            tuple(m.shape),
            contiguous_stride(tuple(m.shape)) if m.stride is None else tuple(m.stride),
        )
        for m in made
    )


def by_torch(
    step: Step, columns: Sequence[Column], at: int, numbers: Sequence[int]
) -> Layouts | None:
    """torch's own answer on data-free tensors."""
    tensors = iter([column.tensor(at) for column in columns])
    arguments = filled(step.arguments, tensors, iter(numbers))
    if not step.torchs:
        arguments = unnamed(arguments)
    args, kwargs = nests.on_meta(arguments)
    try:
        if columns:
            out = step.answer.func(*args, **kwargs)
        else:
            with torch.device("meta"):
                out = step.answer.func(*args, **kwargs)
    except Exception:
        return None
    found = nests.tensors(out)
    kinds = [each.meta.torch_dtype for each in step.outs]
    if [each.dtype for each in found] != kinds:
        return None
    return tuple((tuple(each.shape), each.stride()) for each in found)


def unnamed(value: Any) -> Any:
    """Arguments as torch takes them, from names."""
    if type(value) is str:
        return NAMED.get(value, value)
    if type(value) is tuple:
        return tuple([unnamed(item) for item in value])
    if type(value) is list:
        return [unnamed(item) for item in value]
    if type(value) is dict:
        return {name: unnamed(item) for name, item in value.items()}
    return value


def filled(value: Any, tensors: Iterator[Any], numbers: Iterator[int]) -> Any:
    """Arguments with tensors and sizes in their places."""
    args, kwargs = value
    if not kwargs or PLAIN.issuperset(map(type, kwargs.values())):
        kinds = set(map(type, args))
        kinds.discard(Place)
        if PLAIN.issuperset(kinds):
            made = [next(tensors) if each is TENSOR else each for each in args]
            return tuple(made), kwargs
    return changed(value, lambda each: next(tensors if each is TENSOR else numbers))


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A nest, its tensors and expressions changed in order."""
    kind = type(value)
    if value is TENSOR or kind is Read or kind is Applied:
        return change(value)
    if kind is tuple:
        return tuple([changed(item, change) for item in value])
    if kind is list:
        return [changed(item, change) for item in value]
    if kind is dict:
        return {name: changed(item, change) for name, item in value.items()}
    if kind is slice:
        ends = (value.start, value.stop, value.step)
        return slice(*[changed(end, change) for end in ends])
    return value
