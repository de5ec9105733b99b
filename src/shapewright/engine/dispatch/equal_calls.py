"""Reuse of answers in runs with torch's graph: for equal calls and for similar ones.

Similar calls differ in what their result does not depend on: where an input begins in
its storage (the items of one data set), and the number of an elementwise call (a random
brightness). torch is asked for the first of them only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import autocast, nests
from shapewright.engine.autograd_graph import (
    attach_graph,
    can_attach_graph,
    memoize_call,
)
from shapewright.engine.dispatch import plan_tables
from shapewright.engine.dispatch.answers import apply_answer
from shapewright.engine.dispatch.results import convert_for_record
from shapewright.engine.identity import BLANK, Info, Meta
from shapewright.engine.memo import INPLACE, Answer
from shapewright.engine.private import any_autocast
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
ELEMENTWISE = operators_with("broadcasts_operands")
NOT_REUSED = plan_tables.VIEWS | operators_with("is_recurrent")
"""Calls whose answers are not memoized in graph mode."""
RESHAPING = plan_tables.RESHAPED_IN_PLACE | operators_with("has_no_kernel")
"""Functions that change metadata in place, on the tensor itself, not a stand-in."""


def is_reusable(engine: Engine, name: str) -> bool:
    """Return whether the answer to a call of this function may be used again."""
    return engine.hangs and name not in NOT_REUSED and can_attach_graph(engine)


def answer_equal_call(
    engine: Engine,
    name: str,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    parts: list[Any],
    ask: Any,
) -> Any:
    """Answer a call that writes nothing as an earlier one, else by `ask()`.

    `parts` are the parts of its memo key.
    """
    if any_autocast():
        parts.append(autocast.get_autocast_state())
    if _has_inference_tensor(args) and not torch.is_inference_mode_enabled():
        return ask()  # autograd may refuse what it takes of other tensors
    key = tuple(parts)
    hung = engine.memo.hung
    try:
        plan = hung.get(key)
    except TypeError:
        return ask()
    if plan is not None:
        return attach_graph(engine, plan, args, kwargs, infos)
    similar = _make_similar_key(engine, name, key)
    plan = hung.get(similar) if similar != key else None
    if plan is not None and (len(plan.groups) == 1 or not plan.reached):
        # else a pass that reaches one result only leaves the other's graph as it was
        plan = plan.for_answer(_describe_call(engine, plan.answer, args, kwargs))
        hung[key] = plan
        return attach_graph(engine, plan, args, kwargs, infos)
    before = len(engine.events)
    out = ask()
    memoize_call(engine, key, before, args, kwargs, out)
    if key in hung:
        hung[similar] = hung[key]
    return out


def _has_inference_tensor(args: Args) -> bool:
    """Return whether an argument was made in inference mode."""
    return any(isinstance(value, Tensor) and value.is_inference() for value in args)


def answer_equal_write(
    engine: Engine,
    name: str,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    parts: list[Any],
    ask: Any,
) -> Any:
    """Answer an in-place call that autograd does not follow as an earlier one, else by
    `ask()`.
    """
    if not _is_plain_write(engine, name, args, kwargs, infos):
        return ask()
    target = infos[0]
    key = tuple(parts)
    writes = engine.memo.writes
    try:
        similar = _make_similar_key(engine, name.removesuffix("_"), key)
        answer = writes.get(similar)
    except TypeError:
        return ask()
    if answer is not None:
        answer = _describe_call(engine, answer, args, kwargs)
        answer.metas = (target.meta,)
        return apply_answer(engine, answer, args, kwargs, infos)
    before = len(engine.events)
    out = ask()
    if out is args[0] and len(engine.events) == before + 1:
        answer = engine.events[-1][0]
        plain = answer.kind == INPLACE and answer.raised is None and not answer.notes
        if plain and answer.written == 0 and engine.info(out) is target:
            writes[similar] = answer
    return out


def _is_plain_write(
    engine: Engine, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> bool:
    """Return whether a call writes to its first tensor only, and no graph sees it."""
    if "out" in kwargs or not name.endswith("_") or name == "__setitem__":
        return False
    if name in RESHAPING or any_autocast() or not is_reusable(engine, name):
        return False
    if not args or type(args[0]) is not Tensor or args[0].is_inference():
        return False
    plain = all(info.kind == BLANK and info.meta.layout == "strided" for info in infos)
    tensors = nests.collect_tensors((args, kwargs)) if plain else []
    return plain and not any(tensor.requires_grad for tensor in tensors)


def _make_similar_key(
    engine: Engine, name: str, key: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the key without what no result of the call depends on."""
    any_number = name in ELEMENTWISE
    return tuple(
        _move_to_start(engine, part)
        if type(part) is Meta and part.offset
        else float
        if any_number and type(part) is tuple and part and part[0] is float
        else part
        for part in key
    )


def _move_to_start(engine: Engine, meta: Meta) -> Meta:
    """Return the metadata of a tensor that begins where its storage does."""
    key = (
        meta.shape,
        meta.stride,
        meta.torch_dtype,
        0,
        meta.device,
        meta.requires_grad,
    )
    moved = engine.memo.metas.get(key)
    if moved is None:
        moved = engine.memo.metas[key] = Meta(*key, meta.layout)
    return moved


def _describe_call(
    engine: Engine, answer: Answer, args: Args, kwargs: Kwargs
) -> Answer:
    """Return the answer with the arguments of this call."""
    same = Answer(
        answer.func,
        convert_for_record(engine, args, kwargs),
        answer.kind,
        answer.metas,
        answer.grad_fns,
        answer.template,
        answer.flops,
        answer.notes,
        answer.written,
    )
    same.hidden = answer.hidden
    return same
