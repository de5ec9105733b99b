"""Answers of rules."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import autocast
from shapewright.engine.devices import claim_of
from shapewright.engine.dispatch.answers import template_of
from shapewright.engine.dispatch.results import failed, recorded_arguments
from shapewright.engine.dispatch.rule_lookup import einsum_swaps, rule_of
from shapewright.engine.identity import (
    DTYPE_NAMES,
    DTYPES,
    Info,
    Meta,
    contiguous_stride,
)
from shapewright.engine.memo import INPLACE, NEW, SAME, Answer
from shapewright.engine.private import any_autocast
from shapewright.operators.metadata_rules import Made, Misfit, Same, setting

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def ruled(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Answer | None:
    """The answer of the operator's rule, if it has one that covers this call."""
    rule = rule_of(func)
    if rule is None or (rule.random and "generator" in kwargs and kwargs["generator"]):
        return None
    arguments = recorded_arguments(engine, args, kwargs)
    asked = arguments
    if any_autocast():
        cast = autocast.cast(name, arguments, infos)
        if cast is None:
            return None
        asked = cast
    setting.default_dtype = DTYPE_NAMES[torch.get_default_dtype()]
    if name == "einsum":
        setting.einsum_swaps = einsum_swaps()
    try:
        made = rule.metadata(*asked[0], **asked[1])
    except Misfit as misfit:
        kind = getattr(builtins, misfit.error, None) or getattr(
            torch, misfit.error, None
        )
        error: BaseException = (kind or RuntimeError)(str(misfit))
        engine.raise_theirs(failed(engine, func, arguments, infos, error))
    except (TypeError, AttributeError):  # arguments that the rule does not know
        return None
    if made is NotImplemented:
        return None
    grad = torch.is_grad_enabled() and any(i.meta.requires_grad for i in infos)
    if isinstance(made, Same):
        return _itself(engine, func, arguments, infos, made, grad)
    flat = flat_of(made)
    if flat is None or (grad and any(m.grad_fn is None for m in flat)):
        return None
    device = claim_of(engine, infos, kwargs)
    metas = tuple(
        intern_made(engine, m, device, grad and bool(m.grad_fn)) for m in flat
    )
    names = tuple((m.grad_fn or None) if grad else None for m in flat)
    written = rule.writes
    if kwargs.get("inplace") is True:
        written = 0
    kind = NEW if written is None else INPLACE
    if kind == INPLACE:
        check_leaf(engine, infos[0], grad)
    flops = rule.flops(*asked[0], **asked[1]) if rule.flops is not None else None
    template = None if isinstance(made, Made) else template_of(made, func)
    answer = Answer(
        func, arguments, kind, metas, names, template, flops, written=written
    )
    answer.hidden = statistics(name, arguments, infos)
    return answer


def _itself(
    engine: Engine,
    func: Any,
    arguments: tuple[Args, Kwargs],
    infos: list[Info],
    same: Same,
    grad: bool,
) -> Answer | None:
    """The first tensor comes out itself: written (`F.relu(x, inplace=True)`) or not."""
    if same.argument != 0 or (grad and same.written and same.grad_fn is None):
        return None
    if not same.written:
        return Answer(func, arguments, SAME)
    check_leaf(engine, infos[0], grad)
    names = (same.grad_fn or None,) if grad else (None,)
    return Answer(func, arguments, INPLACE, (infos[0].meta,), names, written=0)


TRAINING = {"batch_norm": (5, "training"), "instance_norm": (5, "use_input_stats")}
"""Where these functions are told to update their running statistics."""


def statistics(name: str, arguments: Any, infos: list[Info]) -> tuple[int, ...]:
    """The running statistics that a norm writes in training, among its tensors."""
    if name not in TRAINING:
        return ()
    args, kwargs = arguments
    place, word = TRAINING[name]
    default = name == "instance_norm"
    if not kwargs.get(word, args[place] if len(args) > place else default):
        return ()
    given = [*args[1:3], kwargs.get("running_mean"), kwargs.get("running_var")]
    metas = [meta for meta in given if isinstance(meta, Meta)][:2]
    return tuple(range(1, 1 + len(metas)))


def check_leaf(engine: Engine, info: Info, grad: bool) -> None:
    """torch forbids writing a leaf that requires grad."""
    if grad and info.meta.requires_grad and info.grad_fn is None:
        engine.raise_theirs(
            RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        )


def flat_of(made: Any) -> list[Made] | None:
    if isinstance(made, Made):
        return [made]
    if isinstance(made, tuple | list):
        flat: list[Made] = []
        for item in made:
            if item is None:
                continue
            inner = flat_of(item)
            if inner is None:
                return None
            flat += inner
        return flat
    return None


def intern_made(engine: Engine, made: Made, device: str, rg: bool) -> Meta:
    shape = tuple(made.shape)
    stride = contiguous_stride(shape) if made.stride is None else tuple(made.stride)
    dtype = DTYPES[made.dtype]
    key = (shape, stride, dtype, 0, device, rg)
    meta = engine.memo.metas.get(key)
    if meta is None:
        new = Meta(shape, stride, dtype, 0, device, rg, "strided")
        meta = engine.memo.metas[key] = new
    return meta
