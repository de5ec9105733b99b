"""What a remembered or ruled answer says, made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import increment_version

from shapewright.engine import nests
from shapewright.engine.dispatch import memory_overlap
from shapewright.engine.dispatch.results import follow, poison
from shapewright.engine.function_names import plain_name
from shapewright.engine.identity import BLANK, META, Info, Meta, Storage
from shapewright.engine.memo import INPLACE, SAME, Answer
from shapewright.operators.metadata_rules import Made

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Slot:
    """The place of one tensor in a nest that comes out."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def template_of(made: Any, func: Any) -> Any:
    counter = iter(range(1 << 30))

    def place(item: Any) -> Any:
        if isinstance(item, Made):
            return Slot(next(counter))
        if isinstance(item, tuple | list):
            return type(item)(place(inner) for inner in item)
        return item

    nest = place(made)
    structure = getattr(torch.return_types, plain_name(func), None)
    if structure is not None and isinstance(nest, tuple | list):
        return (structure, tuple(nest))
    return (None, nest)


def _build(template: tuple[Any, Any], made: list[Tensor]) -> Any:
    def place(item: Any) -> Any:
        if isinstance(item, Slot):
            return made[item.index]
        if isinstance(item, tuple | list):
            return type(item)(place(inner) for inner in item)
        return item

    structure, nest = template
    built = place(nest)
    return structure(built) if structure is not None else built


def apply(
    engine: Engine, answer: Answer, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Make what a remembered or ruled answer says."""
    for index in answer.hidden:  # torch leaves their version as it was
        poison(infos[index].storage)
    if answer.kind == INPLACE:
        return write(engine, answer, args, kwargs, infos)
    if answer.kind == SAME:
        engine.record(answer, infos, (infos[0],))
        return nests.tensors((args, kwargs))[0]
    outs = []
    made = []
    for meta, grad_fn in zip(answer.metas, answer.grad_fns, strict=True):
        out = torch.empty_strided(
            meta.shape, meta.stride, dtype=meta.torch_dtype, device=META
        )
        info = Info(meta, Storage(meta.device), BLANK, grad_fn)
        out._sw = info  # type: ignore[attr-defined]
        out._sw_life = engine.life  # type: ignore[attr-defined]
        outs.append(info)
        made.append(out)
    engine.record(answer, infos, tuple(outs))
    return made[0] if answer.template is None else _build(answer.template, made)


def write(
    engine: Engine, answer: Answer, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """An in-place answer: nothing to compute, but the write must show."""
    simple = bool(args) and type(args[0]) is Tensor
    target = args[0] if simple else nests.tensors((args, kwargs))[0]
    info = infos[0]
    for other in infos[1:]:  # who shares memory is in no key
        if other.storage is info.storage:
            name = plain_name(answer.func)
            memory_overlap.check(engine, answer.func, name, args, kwargs, infos)
            break
    follow(engine, infos, info)
    if info.kind == BLANK and not target.is_inference():
        increment_version(target)
    poison(info.storage)
    meta = answer.metas[0]
    rg = meta.requires_grad
    if rg and not info.meta.requires_grad:
        old = info.meta
        key = (old.shape, old.stride, old.torch_dtype, old.offset, old.device, True)
        new_meta = engine.memo.metas.get(key)
        if new_meta is None:
            new_meta = Meta(*key, "strided")
            engine.memo.metas[key] = new_meta
        info = Info(new_meta, info.storage, info.kind, answer.grad_fns[0], info.number)
        info.twin = infos[0].twin
        engine.retell(target, info)
    elif rg and answer.grad_fns[0] != info.grad_fn:
        new = Info(info.meta, info.storage, info.kind, answer.grad_fns[0], info.number)
        new.twin = info.twin
        info = new
        engine.retell(target, info)
    engine.record(answer, infos, (info,))
    return target
