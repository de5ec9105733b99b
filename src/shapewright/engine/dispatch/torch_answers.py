"""Answers that torch itself computes on data-free tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.checkpoint import _StopRecomputationError

from shapewright.engine import autocast, nests
from shapewright.engine.absence import NotHere
from shapewright.engine.devices import check_devices
from shapewright.engine.dispatch import (
    equal_calls,
    index_bounds,
    memory_overlap,
    plan_tables,
)
from shapewright.engine.dispatch.answers import Slot, answer_by_rule, apply_answer
from shapewright.engine.dispatch.plan_tables import find_meta_errors
from shapewright.engine.dispatch.results import (
    find_written,
    get_node_name,
    get_versions,
    is_in_place,
    record_results,
    refresh_info,
)
from shapewright.engine.flops import count_flops
from shapewright.engine.function_names import get_display_name, get_plain_name
from shapewright.engine.identity import Info
from shapewright.engine.layers import recurrent_layers
from shapewright.engine.layers.recurrent_layers import answer_recurrent
from shapewright.engine.memo import NEW, Answer
from shapewright.engine.private import any_autocast, find_operator_without_fake
from shapewright.engine.values import (
    refused_dtypes,
    representatives,
    unknown_lengths,
)
from shapewright.operators.facts import operators_with, values_of

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
    """Run torch's own kernels on data-free tensors; memoize the result if possible."""
    if engine.nested:
        done = engine.call_of_padded(func, args, kwargs)
        if done is not NotImplemented:
            return done
    if engine.graph:
        infos = [
            update_node(engine, value)
            for value in nests.collect_tensors((args, kwargs))
        ]
    if name in recurrent_layers.FUNCTIONS:
        output = answer_recurrent(engine, func, name, args, kwargs, infos)
        if output is not None:
            return output
    wrong = (
        find_meta_errors(func)
        or _find_write_doubts(name, infos)
        or _find_stride_doubts(name, kwargs)
    )
    notes: tuple[str, ...] = ()
    if engine.graph and _is_mixed(infos):
        # With autograd below, torch's data-free kernels take any two dtypes.
        if not wrong:
            answer_by_rule(engine, func, name, args, kwargs, infos)
        if name in OF_FLOATS or (
            _has_several_floats(infos) and not is_in_place(name, kwargs)
        ):
            refused_dtypes.check_on_cpu(engine, func, args, kwargs, infos)
    elif (
        infos
        and _has_only_integers(infos)
        and _is_doubtful(engine, name, kwargs, infos)
    ):
        refused_dtypes.check_on_cpu(engine, func, args, kwargs, infos)
    if engine.graph and name.rpartition(".")[2] in TRANSPOSED and not wrong:
        answer_by_rule(engine, func, name, args, kwargs, infos)  # output padding
    if (
        engine.graph
        and wrong == ACCEPTS
        and answer_by_rule(engine, func, name, args, kwargs, infos)
    ):
        wrong = frozenset()  # the rule has looked at what torch would accept
    if wrong:
        if representatives.is_small(infos) and not engine.graph:
            return representatives.try_for_real(
                engine, func, name, args, kwargs, infos, None
            )
        notes = (f"torch's data-free kernel can be wrong here in {', '.join(wrong)}",)
    stand_in = _find_stand_in(engine, name, args)
    physical = nests.replace_devices(nests.swap_tensors((args, kwargs), stand_in))
    grad = torch.is_grad_enabled() and any(i.meta.requires_grad for i in infos)
    if grad and not engine.graph:
        physical = _make_grad_stand_ins(engine, args, kwargs, name, physical)
    casts = None
    if any_autocast():
        physical, casts = autocast.cast_tensors(name, physical, infos)
    before = nests.collect_tensors(physical)
    versions = get_versions(before)
    try:
        out, flops = _run_torch(engine, func, name, physical, casts)
    except _StopRecomputationError as enough:  # how a checkpoint ends
        engine.raise_theirs(enough)
    except NotHere as question:
        engine.raise_theirs(question)
    except Exception as error:  # torch refuses
        custom = find_operator_without_fake(func)
        if custom:
            engine.raise_theirs(NotHere(_write_fake_question(custom, len(infos))))
        if "item() cannot be called" in str(error):
            with_numbers = unknown_lengths.replace_scalars(engine, args, kwargs)
            if len(nests.collect_tensors(with_numbers)) < len(infos):
                tensor_infos = [
                    engine.info(value) for value in nests.collect_tensors(with_numbers)
                ]
                return ask_torch(engine, func, name, *with_numbers, tensor_infos, None)
        if representatives.is_data_dependent_error(error):
            numbered = unknown_lengths.replace_counts(
                engine, args, kwargs, get_display_name(func)
            )
            if len(nests.collect_tensors(numbered)) < len(infos):
                tensor_infos = [
                    engine.info(value) for value in nests.collect_tensors(numbered)
                ]
                return ask_torch(engine, func, name, *numbered, tensor_infos, None)
        of_inference = representatives.is_inference_error(error)
        if (
            engine.graph
            and not of_inference
            and (done := answer_graph_by_rule(engine, func, name, args, kwargs, infos))
        ):
            return done[0]
        return representatives.try_for_real(
            engine, func, name, args, kwargs, infos, error
        )
    fresh = find_written(func, kwargs, before, versions) is None
    if grad and not engine.graph and fresh:
        out = _remove_graph(engine, out, before)
    result = record_results(
        engine, func, args, kwargs, infos, before, versions, out,
        flops=flops, known=False, notes=notes,
    )  # fmt: skip
    if key is not None and fresh and not engine.graph:
        _memoize_answer(engine, key, out, result)
    return result


def answer_graph_by_rule(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> tuple[Any] | None:
    """Answer a call in graph mode by a rule when torch's data-free kernel raises.

    The data-free kernel of `grouped_mm` takes bfloat16 only; the CPU takes more.
    """
    from shapewright.engine.autograd_graph import join_graph

    answer = answer_by_rule(engine, func, name, args, kwargs, infos)
    if answer is None or answer.kind != NEW:
        return None
    outputs = apply_answer(engine, answer, args, kwargs, infos)
    return (join_graph(engine, outputs, nests.collect_tensors((args, kwargs))),)


def update_node(engine: Engine, tensor: Tensor) -> Info:
    """Return a tensor's info with its node read again after a possible write."""
    info = engine.info(tensor)
    physical = engine.blank_of(tensor)
    name = get_node_name(physical)
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
    return refresh_info(engine, tensor, physical, info)


def _run_torch(
    engine: Engine,
    func: Any,
    name: str,
    physical: tuple[Args, Kwargs],
    casts: str | None = None,
) -> tuple[Any, int | None]:
    """Return torch's result and its FLOPs.

    Under a mode that counts, torch answers some views by other kernels; they compute
    nothing, so nothing is counted there.
    """
    if name in plan_tables.VIEWS:
        return func(*physical[0], **physical[1]), None
    if name in CLAMPING and _is_clamped_by_numbers(*physical):
        return physical[0][0].fill_(0), None
    return count_flops(engine, func, *physical, casts)


CLAMPING = frozenset(f"{name}_" for name in operators_with("clamps"))
"""Calls that write in place, for which torch's data-free kernels take a millisecond."""


def _is_clamped_by_numbers(args: Args, kwargs: Kwargs) -> bool:
    """Return whether a tensor is only written to: of floats, between numbers, without a
    graph. `fill_` does the same to all that is known of it.
    """
    target = args[0] if args else None
    limits = [*args[1:], *kwargs.values()]
    if not isinstance(target, Tensor) or not target.is_meta:
        return False
    numbers = [limit for limit in limits if type(limit) in (int, float)]
    others = [limit for limit in limits if limit is not None]
    is_plain = target.is_floating_point() and not target.requires_grad
    return is_plain and bool(numbers) and len(numbers) == len(others)


def _is_mixed(infos: list[Info]) -> bool:
    """Return whether the operands have several dtypes."""
    return len({info.meta.dtype for info in infos}) > 1


OF_FLOATS = operators_with("needs_equal_dtypes")
"""Functions without a rule for every dtype, whose operands must share a dtype."""


def _has_several_floats(infos: list[Info]) -> bool:
    """Return whether operands of floats have several dtypes."""
    kinds = {info.meta.torch_dtype for info in infos}
    return sum(kind.is_floating_point for kind in kinds) > 1


NORMALIZING = operators_with("normalizes_along_dim")
"""Functions of floats whose data-free kernels take integers too."""


def _is_doubtful(engine: Engine, name: str, kwargs: Kwargs, infos: list[Info]) -> bool:
    """Return whether torch's data-free kernel may take integers that a real one
    refuses. Where autograd is below, small operands are computed, and large ones not.
    """
    if name in equal_calls.NOT_REUSED or is_in_place(name, kwargs):
        return False
    large = engine.graph and not representatives.is_small(infos)
    return large or name in NORMALIZING


def _has_only_integers(infos: list[Info]) -> bool:
    """Return whether no operand has numbers with a fraction."""
    return not any(
        info.meta.torch_dtype.is_floating_point or info.meta.torch_dtype.is_complex
        for info in infos
    )


ACCEPTS = frozenset({"accepts-error"})
TRANSPOSED = {name for name in values_of("spatial_dims") if "transpose" in name}
"""Convolutions whose data-free kernels take any output padding."""
BY_ELEMENT = operators_with("updates_elements")
"""In-place functions of optimizers, which are safe for operands of equal shape."""


def _write_fake_question(name: str, count: int) -> str:
    """Return the sentence that asks for the fake kernel of a custom operator."""
    letters = ", ".join("xyzuvw"[:count])
    return (
        f"`{name}` has no fake kernel, so what it returns is not known: write one, such"
        f" as `@torch.library.register_fake({name!r})` above `def _({letters}): return"
        f" torch.empty_like({letters[:1]})`"
    )


def _find_write_doubts(name: str, infos: list[Info]) -> frozenset[str]:
    """Return doubts about an in-place call, as some meta kernels resize the operand."""
    in_place = name.endswith("_") and not name.startswith("_")
    shapes = {info.meta.shape for info in infos if info.meta.shape}
    if name in equal_calls.RESHAPING or (name in BY_ELEMENT and len(shapes) < 2):
        return frozenset()
    in_place = in_place and name not in plan_tables.RESHAPED_IN_PLACE
    return frozenset({"accepts-error"} if in_place else ())


BY_COLUMNS = operators_with("lays_by_columns")


def _find_stride_doubts(name: str, kwargs: Kwargs) -> frozenset[str]:
    """Return doubts about strides: on the CPU an empty `out=` gets LAPACK's strides."""
    algebra = name.startswith("linalg_") or name in BY_COLUMNS
    grows = algebra and any(
        not t.numel() for t in nests.collect_tensors(kwargs.get("out"))
    )
    return frozenset({"stride"} if grows else ())


def _find_stand_in(engine: Engine, name: str, args: Args) -> Callable[[Tensor], Tensor]:
    """Return the function that replaces the program's tensors for torch."""
    if name not in plan_tables.TAKES_VALUES:
        return engine.blank_of
    packed = index_bounds.is_packed_call(name, args)

    def stand_in(value: Tensor) -> Tensor:
        whole = not value.is_floating_point() and engine.info(value).storage.known
        if whole:
            return engine.value_of(value)
        if packed and value is args[1]:
            return _make_batch_sizes(engine, args[0], value)
        return engine.blank_of(value)

    return stand_in


def _make_batch_sizes(engine: Engine, data: Tensor, sizes: Tensor) -> Tensor:
    """Return batch sizes for packed steps, without which kernels would crash."""
    if sizes.dtype != torch.int64 or sizes.dim() != 1:
        engine.raise_theirs(RuntimeError("batch sizes of packed steps are 1D, int64"))
    count, rows = sizes.shape[0], data.shape[0] if data.dim() else 1
    first = [max(rows - count + 1, 1)] if count else []
    with torch._C.DisableTorchFunction():
        return torch.tensor([*first, *(1,) * (count - 1)], device="cpu")


def answer_in_graph(
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
    name = get_plain_name(func)
    check_devices(engine, name, infos)
    if name in ("softmax", "softmin"):
        index_bounds.check_dim(engine, args, kwargs)
    answer = equal_calls.answer_equal_call
    if "out" in kwargs or is_in_place(name, kwargs):
        memory_overlap.check_overlap(engine, func, name, args, kwargs, infos)
        answer = equal_calls.answer_equal_write
    elif not equal_calls.is_reusable(engine, name):
        return ask_torch(engine, func, name, args, kwargs, infos, None)

    def ask() -> Any:
        return ask_torch(engine, func, name, args, kwargs, infos, None)

    return answer(engine, name, args, kwargs, infos, parts, ask)


def _remove_graph(engine: Engine, out: Any, before: list[Tensor]) -> Any:
    """Return the results without their graph; the record keeps the node names."""

    def cut(value: Tensor) -> Tensor:
        if any(value is physical for physical in before) or not value.requires_grad:
            return value
        bare = value.detach()
        name = None if value.grad_fn is None else value.grad_fn.name()
        bare._sw_node = (name,)  # type: ignore[attr-defined]
        return bare

    return nests.swap_tensors(out, cut)


def _make_grad_stand_ins(
    engine: Engine,
    args: Args,
    kwargs: Kwargs,
    name: str,
    physical: tuple[Args, Kwargs],
) -> tuple[Args, Kwargs]:
    """Return stand-ins that require grad where the program's tensors do."""
    written = is_in_place(name, kwargs) or "out" in kwargs
    ready: dict[int, Tensor] = {}

    def lift(value: Tensor) -> Tensor:
        info = engine.info(value)
        blank = _find_stand_in(engine, name, args)(value)
        if not info.meta.requires_grad or info.meta.layout != "strided":
            return blank
        lifted = ready.get(id(value))
        if lifted is None:
            lifted = blank.detach().requires_grad_()
            if written and info.grad_fn is not None:
                lifted = lifted.clone()
            ready[id(value)] = lifted
        return lifted

    return nests.replace_devices(nests.swap_tensors((args, kwargs), lift))


def _memoize_answer(
    engine: Engine, key: tuple[Any, ...], out: Any, result: Any
) -> None:
    """Memoize a result of torch that shares no storage with the inputs."""
    answer: Answer = engine.events[-1][0] if engine.events else None  # type: ignore[assignment]
    if answer is None or answer.kind != NEW or not answer.metas:
        return
    if any(meta.layout != "strided" or meta.offset for meta in answer.metas):
        return
    tensors = nests.collect_tensors(result)
    if len({value.untyped_storage()._cdata for value in tensors}) != len(tensors):
        return
    if not isinstance(result, torch.Tensor):
        counter = iter(range(1 << 30))
        nest = nests.swap_tensors(result, lambda _: Slot(next(counter)))
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
