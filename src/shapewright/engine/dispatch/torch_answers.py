"""Answers that torch itself computes on data-free tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.checkpoint import _StopRecomputationError

from shapewright.engine import autocast, nests
from shapewright.engine.autograd_graph import hang, learn, may_hang
from shapewright.engine.devices import check_devices
from shapewright.engine.dispatch import index_bounds, memory_overlap, plan_tables
from shapewright.engine.dispatch.answers import Slot, apply, ruled
from shapewright.engine.dispatch.plan_tables import wrong_in
from shapewright.engine.dispatch.results import (
    node_of,
    refreshed,
    settle,
    versions_of,
    writes,
    written_of,
)
from shapewright.engine.flops import counted
from shapewright.engine.function_names import display_name, plain_name
from shapewright.engine.identity import Info
from shapewright.engine.layers import recurrent_layers
from shapewright.engine.layers.recurrent_layers import answer_recurrent
from shapewright.engine.memo import NEW, Answer
from shapewright.engine.private import any_autocast
from shapewright.engine.values import representatives, unknown_lengths
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def ask_torch(
    engine: Engine,
    func: Any,
    name: str,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    key: tuple[Any, ...] | None,
) -> Any:
    """Run torch's own kernels on data-free tensors; memoize the answer if possible."""
    if engine.nested:
        done = engine.call_of_padded(func, args, kwargs)
        if done is not NotImplemented:
            return done
    if engine.graph:
        infos = [up_to_date(engine, value) for value in nests.tensors((args, kwargs))]
    if name in recurrent_layers.FUNCTIONS:
        made = answer_recurrent(engine, func, name, args, kwargs, infos)
        if made is not None:
            return made
    wrong = (
        wrong_in(func)
        or _written_by_name(name, infos)
        or _laid_by_columns(name, kwargs)
    )
    notes: tuple[str, ...] = ()
    if engine.graph and _is_mixed(infos):
        # With autograd below, torch's data-free kernels take any two dtypes.
        if not wrong:
            ruled(engine, func, name, args, kwargs, infos)
        if _must_agree(name, infos) and not writes(name, kwargs):
            representatives.refused(engine, func, args, kwargs, infos)
    if (
        engine.graph
        and wrong == ACCEPTS
        and ruled(engine, func, name, args, kwargs, infos)
    ):
        wrong = frozenset()  # the rule has looked at what torch would accept
    if wrong:
        if representatives.small(infos) and not engine.graph:
            return representatives.try_for_real(
                engine, func, name, args, kwargs, infos, None
            )
        notes = (f"torch's data-free kernel can be wrong here in {', '.join(wrong)}",)
    stand_in = _stand_in_for(engine, name, args)
    physical = nests.on_meta(nests.swap((args, kwargs), stand_in))
    grad = torch.is_grad_enabled() and any(i.meta.requires_grad for i in infos)
    if grad and not engine.graph:
        physical = _with_grad(engine, args, kwargs, name, physical)
    casts = None
    if any_autocast():
        physical, casts = autocast.cast_tensors(name, physical, infos)
    before = nests.tensors(physical)
    versions = versions_of(before)
    try:
        out, flops = _asked(engine, func, name, physical, casts)
    except _StopRecomputationError as enough:  # how a checkpoint ends
        engine.raise_theirs(enough)
    except Exception as error:  # torch refuses
        if "item() cannot be called" in str(error):
            with_numbers = unknown_lengths.scalars(engine, args, kwargs)
            if len(nests.tensors(with_numbers)) < len(infos):
                told = [engine.info(value) for value in nests.tensors(with_numbers)]
                return ask_torch(engine, func, name, *with_numbers, told, None)
        if representatives.data_dependent_error(error):
            numbered = unknown_lengths.counted(engine, args, kwargs, display_name(func))
            if len(nests.tensors(numbered)) < len(infos):
                told = [engine.info(value) for value in nests.tensors(numbered)]
                return ask_torch(engine, func, name, *numbered, told, None)
        if engine.graph and (done := by_rule(engine, func, name, args, kwargs, infos)):
            return done[0]
        return representatives.try_for_real(
            engine, func, name, args, kwargs, infos, error
        )
    fresh = written_of(func, kwargs, before, versions) is None
    if grad and not engine.graph and fresh:
        out = _without_graph(engine, out, before)
    result = settle(
        engine, func, args, kwargs, infos, before, versions, out,
        flops=flops, known=False, notes=notes,
    )  # fmt: skip
    if key is not None and fresh and not engine.graph:
        _remember(engine, key, out, result)
    return result


def by_rule(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> tuple[Any] | None:
    """Answer by a rule in graph mode when torch's data-free kernel raises.

    The data-free kernel of `grouped_mm` takes bfloat16 only; the CPU takes more.
    """
    from shapewright.engine.autograd_graph import joined

    answer = ruled(engine, func, name, args, kwargs, infos)
    if answer is None or answer.kind != NEW:
        return None
    made = apply(engine, answer, args, kwargs, infos)
    return (joined(engine, made, nests.tensors((args, kwargs))),)


def up_to_date(engine: Engine, tensor: Tensor) -> Info:
    """Return a tensor's info with its node reread, as another write may change it."""
    info = engine.info(tensor)
    physical = engine.blank_of(tensor)
    name = node_of(physical)
    if name in (
        None,
        info.grad_fn,
        plan_tables.NAMED_OTHERWISE.get(info.grad_fn or ""),
    ):
        return info
    if name == "_JoinedBackward":  # a rule's answer, hung on what went in
        return info
    if info.meta.layout != "strided":
        return info
    return refreshed(engine, tensor, physical, info)


def _asked(
    engine: Engine,
    func: Any,
    name: str,
    physical: tuple[Args, Kwargs],
    casts: str | None = None,
) -> tuple[Any, int | None]:
    """Return torch's answer and its FLOPs.

    Under a mode that counts, torch answers some views by other kernels; they compute
    nothing, so nothing is counted there.
    """
    if name in plan_tables.VIEWS:
        return func(*physical[0], **physical[1]), None
    return counted(engine, func, *physical, casts)


TOLD_OTHERWISE = plan_tables.VIEWS | recurrent_layers.FUNCTIONS
"""Calls whose answers are not memoized in graph mode."""

RESHAPING = plan_tables.RESHAPED_IN_PLACE | operators_with("has_no_kernel")
"""Functions that change metadata in place, on the tensor itself, not a stand-in."""


def _is_mixed(infos: list[Info]) -> bool:
    """Return whether the operands have several dtypes."""
    return len({info.meta.dtype for info in infos}) > 1


OF_FLOATS = operators_with("needs_equal_dtypes")
"""Functions without a rule for every dtype, whose operands must share a dtype."""


def _must_agree(name: str, infos: list[Info]) -> bool:
    """Return whether the CPU may refuse the dtypes of a call."""
    kinds = {each.meta.torch_dtype for each in infos}
    floats = [kind for kind in kinds if kind.is_floating_point]
    return len(floats) > 1 or name in OF_FLOATS


ACCEPTS = frozenset({"accepts-error"})
BY_ELEMENT = operators_with("updates_elements")
"""In-place functions of optimizers, which are safe for operands of equal shape."""


def _written_by_name(name: str, infos: list[Info]) -> frozenset[str]:
    """Find doubts about an in-place call; some meta kernels resize the operand."""
    in_place = name.endswith("_") and not name.startswith("_")
    shapes = {info.meta.shape for info in infos if info.meta.shape}
    if name in RESHAPING or (name in BY_ELEMENT and len(shapes) < 2):
        return frozenset()
    in_place = in_place and name not in plan_tables.RESHAPED_IN_PLACE
    return frozenset({"accepts-error"} if in_place else ())


BY_COLUMNS = operators_with("lays_by_columns")


def _laid_by_columns(name: str, kwargs: Kwargs) -> frozenset[str]:
    """Find doubts about strides: on the CPU an empty `out=` gets LAPACK's strides."""
    algebra = name.startswith("linalg_") or name in BY_COLUMNS
    grows = algebra and any(not t.numel() for t in nests.tensors(kwargs.get("out")))
    return frozenset({"stride"} if grows else ())


def _stand_in_for(engine: Engine, name: str, args: Args) -> Callable[[Tensor], Tensor]:
    """Return the function that replaces the program's tensors for torch."""
    if name not in plan_tables.TAKES_VALUES:
        return engine.blank_of
    packed = index_bounds.takes_packed(name, args)

    def stand_in(value: Tensor) -> Tensor:
        whole = not value.is_floating_point() and engine.info(value).storage.known
        if whole:
            return engine.value_of(value)
        if packed and value is args[1]:
            return _any_sizes(engine, args[0], value)
        return engine.blank_of(value)

    return stand_in


def _any_sizes(engine: Engine, data: Tensor, sizes: Tensor) -> Tensor:
    """Return batch sizes for packed steps; kernels read them and crash without."""
    if sizes.dtype != torch.int64 or sizes.dim() != 1:
        engine.raise_theirs(RuntimeError("batch sizes of packed steps are 1D, int64"))
    count, rows = sizes.shape[0], data.shape[0] if data.dim() else 1
    first = [max(rows - count + 1, 1)] if count else []
    with torch._C.DisableTorchFunction():
        return torch.tensor([*first, *(1,) * (count - 1)], device="cpu")


def direct(
    engine: Engine,
    func: Any,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    parts: list[Any],
) -> Any:
    """Answer a call in graph mode: run torch with its own autograd.

    A call with the same `parts` of its key as an earlier call may reuse its answer.
    """
    name = plain_name(func)
    check_devices(engine, name, infos)
    if name in ("softmax", "softmin"):
        index_bounds.check_dim(engine, args, kwargs)
    if "out" in kwargs or writes(name, kwargs):
        memory_overlap.check(engine, func, name, args, kwargs, infos)
    elif engine.hangs and name not in TOLD_OTHERWISE and may_hang(engine):
        if any_autocast():
            parts.append(autocast.state())
        key = tuple(parts)
        try:
            plan = engine.memo.hung.get(key)
        except TypeError:
            return ask_torch(engine, func, name, args, kwargs, infos, None)
        if plan is not None:
            return hang(engine, plan, args, kwargs, infos)
        before = len(engine.events)
        out = ask_torch(engine, func, name, args, kwargs, infos, None)
        learn(engine, key, before, args, kwargs, out)
        return out
    return ask_torch(engine, func, name, args, kwargs, infos, None)


def _without_graph(engine: Engine, out: Any, before: list[Tensor]) -> Any:
    """Return the results without their graph, whose node names stay in the record."""

    def cut(value: Tensor) -> Tensor:
        if any(value is physical for physical in before) or not value.requires_grad:
            return value
        bare = value.detach()
        name = None if value.grad_fn is None else value.grad_fn.name()
        bare._sw_node = (name,)  # type: ignore[attr-defined]
        return bare

    return nests.swap(out, cut)


def _with_grad(
    engine: Engine,
    args: Args,
    kwargs: Kwargs,
    name: str,
    physical: tuple[Args, Kwargs],
) -> tuple[Args, Kwargs]:
    """Return stand-ins that require grad like the program's tensors."""
    written = writes(name, kwargs) or "out" in kwargs
    ready: dict[int, Tensor] = {}

    def lift(value: Tensor) -> Tensor:
        info = engine.info(value)
        blank = _stand_in_for(engine, name, args)(value)
        if not info.meta.requires_grad or info.meta.layout != "strided":
            return blank
        lifted = ready.get(id(value))
        if lifted is None:
            lifted = blank.detach().requires_grad_()
            if written and info.grad_fn is not None:
                lifted = lifted.clone()
            ready[id(value)] = lifted
        return lifted

    return nests.on_meta(nests.swap((args, kwargs), lift))


def _remember(engine: Engine, key: tuple[Any, ...], out: Any, result: Any) -> None:
    """Memoize an answer of torch's whose results share no storage with the inputs."""
    answer: Answer = engine.events[-1][0] if engine.events else None  # type: ignore[assignment]
    if answer is None or answer.kind != NEW or not answer.metas:
        return
    if any(meta.layout != "strided" or meta.offset for meta in answer.metas):
        return
    tensors = nests.tensors(result)
    if len({value.untyped_storage()._cdata for value in tensors}) != len(tensors):
        return
    if not isinstance(result, torch.Tensor):
        counter = iter(range(1 << 30))
        nest = nests.swap(result, lambda _: Slot(next(counter)))
        if type(result) in (tuple, list):
            answer.template = (None, nest)
        elif isinstance(result, tuple) and hasattr(result, "n_fields"):
            answer.template = (type(result), tuple(nest))
        else:
            return
    try:
        engine.memo.answers[key] = answer
    except TypeError:
        return
