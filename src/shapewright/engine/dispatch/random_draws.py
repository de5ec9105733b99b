"""In-place writes that fill a whole tensor, after which its values are known.

`torch.empty(1).uniform_(-0.5, 0.5)` holds a number between these, whatever memory held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import increment_version
from torch.nn.parameter import Buffer

from shapewright.engine import nests
from shapewright.engine.dispatch import factories, plan_tables
from shapewright.engine.dispatch.ordinary_calls import call_op
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import BLANK, Info, count_elements
from shapewright.engine.private import is_in_transform
from shapewright.engine.values import known_values
from shapewright.engine.values.data_values import DRAW

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def answer_fill(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `uniform_`, `normal_`, `fill_`, `copy_` ...; run small calls for real."""
    kwargs = kwargs or {}
    target: Any = args[0] if args else kwargs.get("self")
    info: Info | None = getattr(target, "_sw", None)
    if info is None or (type(target) is not Tensor and type(target) is not Buffer):
        return call_op(engine, func, args, kwargs)  # of autograd's writes we see none
    others = [
        engine.info(tensor) for tensor in nests.collect_tensors((args[1:], kwargs))
    ]
    sure = all(other.storage.known for other in others)
    if not sure or info.storage.known or not _is_fillable(engine, target, info):
        return call_op(engine, func, args, kwargs)
    storage = info.storage
    if info.kind == BLANK:
        size = info.meta.torch_dtype.itemsize * count_elements(info.meta.shape)
        storage.clone = torch.UntypedStorage(size)
        storage.blank = target.untyped_storage()
    storage.known, storage.assumed = True, None
    done: Any = known_values.TOO_LARGE
    try:
        done = known_values.compute_known(engine, func, args, kwargs, [info, *others])
    finally:
        if done is known_values.TOO_LARGE:
            storage.known = False
    if done is known_values.TOO_LARGE:
        return call_op(engine, func, args, kwargs)
    if info.kind == BLANK and not target.is_inference():
        increment_version(target)
    if get_plain_name(func) in plan_tables.RANDOM:
        storage.assumed = DRAW
    else:
        assumptions = (other.storage.assumed for other in others)
        storage.assumed = next((assumed for assumed in assumptions if assumed), None)
    return done


def _is_fillable(engine: Engine, target: Tensor, info: Info) -> bool:
    """Return whether a tensor is small, strided, without grad and fills its storage."""
    meta = info.meta
    count = count_elements(meta.shape)
    if not 0 < count <= engine.known_limit or meta.layout != "strided":
        return False
    if meta.requires_grad or meta.offset or is_in_transform():
        return False
    steps = zip(meta.shape, meta.stride, strict=True)
    if 1 + sum((size - 1) * step for size, step in steps) != count:
        return False  # with gaps, or one element at several places
    nbytes = target.untyped_storage().nbytes()
    return bool(nbytes == count * meta.torch_dtype.itemsize)


def answer_normal(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `torch.normal`: a factory for plain numbers, else an ordinary call."""
    if nests.collect_tensors((args, kwargs)):
        return call_op(engine, func, args, kwargs)
    return factories.answer_factory(engine, func, args, kwargs)
