"""The self-check: every memoized or ruled answer is compared with torch's.

Small calls run on the CPU's kernels with representative values, others on torch's
data-free kernels. A difference from torch's answer is a finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.dispatch import indexing, ordinary_calls, view_operators
from shapewright.engine.dispatch.plan_tables import find_meta_errors
from shapewright.engine.dispatch.results import get_node_name, is_in_place
from shapewright.engine.flops import count_flops
from shapewright.engine.function_names import get_display_name, get_plain_name
from shapewright.engine.identity import Info, Meta, compute_contiguous_stride
from shapewright.engine.layers import fused_attention
from shapewright.engine.memo import INPLACE, READ, Answer
from shapewright.engine.private import (
    UninitializedTensor,
    any_autocast,
    is_in_transform,
)
from shapewright.engine.values import representatives
from shapewright.findings.codes import SELF_CHECK
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine, Plan

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Call = tuple[Args, Kwargs]
DONE = "self-check: compared with torch"
UNDONE = "self-check: not compared, torch has no answer"


LIMIT = 1 << 24
"""Largest total of operand elements for which the CPU's kernels are run."""
CHOOSES = operators_with("chooses_kernel")
"""Calls for which torch's CPU and data-free kernels differ or are missing."""


ASKED_AGAIN = (
    ordinary_calls.call_op,
    view_operators.answer_view,
    indexing.answer_index,
    fused_attention.answer_fused_layer,
)
"""Plans whose answers can be compared with torch's."""


class _NoAnswer(Exception):
    """Raised if torch returns no result."""


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to repeat a call with torch; `ask` returns the outputs as text."""

    device: str
    ask: Callable[[], list[str]]


def check_plan(plan: Plan) -> Plan:
    """Wrap a plan so that its answers are compared with torch's."""
    if plan not in ASKED_AGAIN:
        return plan

    def checked(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
        tensors = nests.collect_tensors((args, kwargs))
        if (
            engine.graph
            or not engine.recording
            or is_in_transform()
            or _has_lazy_tensor(tensors)
        ):
            return plan(engine, func, args, kwargs)
        infos = [engine.info(tensor) for tensor in tensors]
        if _has_odd_tensor(infos):
            return plan(engine, func, args, kwargs)
        call = (args, kwargs or {})
        ways = _prepare_ways(engine, func, call, infos)
        before, supposed = len(engine.events), len(engine.assumptions)
        try:
            out = plan(engine, func, args, kwargs)
        except Exception as error:  # of the program or torch; raised again
            if error is engine.error:
                _check_refusal(engine, func, ways, error)
            raise
        if len(engine.events) == before + 1:
            answer, _, outs, *_ = engine.events[-1]
            if answer.kind != READ and len(engine.assumptions) == supposed:
                _compare_answer(engine, func, answer, infos, outs, ways)
        return out

    return checked


def _has_odd_tensor(infos: list[Info]) -> bool:
    """Return whether a tensor has no strides of its own."""
    return any(info.meta.layout != "strided" for info in infos)


def _has_lazy_tensor(tensors: list[Tensor]) -> bool:
    """Return whether a tensor has no shape yet."""
    return any(isinstance(tensor, UninitializedTensor) for tensor in tensors)


# -- torch, asked again -------------------------------------------------------


class _Source(torch.autograd.Function):
    """Gives a tensor an autograd node and leaves its strides unchanged."""

    @staticmethod
    def forward(context: Any, tensor: Tensor, outputs: list[Tensor]) -> Tensor:
        return outputs[0]

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return gradients[0], None


def _prepare_ways(
    engine: Engine, func: Any, call: Call, infos: list[Info]
) -> list[_Way]:
    """Return the ways to repeat a call: on the CPU if it is small, and without data."""
    ways = []
    if _count_elements(infos) <= LIMIT and not (any_autocast() and _is_on_gpu(infos)):
        ways.append(_prepare_way(engine, func, call, "cpu"))
    if not (
        any_autocast() or find_meta_errors(func) or get_plain_name(func) in CHOOSES
    ):
        ways.append(_prepare_way(engine, func, call, "meta"))
    return ways


def _count_elements(infos: list[Info]) -> int:
    """Return the total number of elements of all operands."""
    return sum(math.prod(info.meta.shape) for info in infos)


def _is_on_gpu(infos: list[Info]) -> bool:
    """Return whether a tensor claims a device other than the CPU."""
    return any(info.meta.device != "cpu" for info in infos)


def _prepare_way(engine: Engine, func: Any, call: Call, device: str) -> _Way:
    """Prepare the call on separate tensors, before the original writes to any."""
    written = is_in_place(get_plain_name(func), call[1]) or "out" in call[1]
    twins: dict[int, Tensor] = {}

    def twin_of(tensor: Tensor) -> Tensor:
        twin = twins.get(id(tensor))
        if twin is None:
            twin = twins[id(tensor)] = _copy_alone(engine, tensor, device, written)
        return twin

    args, kwargs = nests.replace_devices(nests.swap_tensors(call, twin_of), device)
    if device == "meta" and not twins:
        kwargs = {**kwargs, "device": "meta"}
    inputs = list(twins.values())

    def again() -> list[str]:
        return _describe_outputs(func(*args, **kwargs), inputs, written)

    return _Way(device, again)


def _copy_alone(engine: Engine, tensor: Tensor, device: str, written: bool) -> Tensor:
    """Return a tensor with the same metadata that shares no memory with the run's."""
    info = engine.info(tensor)
    meta = info.meta
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        if device == "cpu":
            twin = _copy_shifted(
                representatives.make_stand_in(engine, tensor).detach(), meta.offset
            )
        else:
            room = torch.UntypedStorage(_compute_extent(meta), device="meta")
            twin = torch.empty(0, dtype=meta.torch_dtype, device="meta")
            twin.set_(room, meta.offset, meta.shape, meta.stride)
    if not meta.requires_grad:
        return twin
    if info.grad_fn is None or not (written and torch.is_grad_enabled()):
        return twin.requires_grad_()
    seed = torch.empty(0, device=device, requires_grad=True)
    apply = super(torch.autograd.Function, _Source).apply  # ours is for the program's
    return apply(seed, [twin])  # type: ignore[no-any-return, no-untyped-call]


def _copy_shifted(value: Tensor, offset: int) -> Tensor:
    """Copy a tensor with its strides at the given storage offset."""
    size, stride = value.shape, value.stride()
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True) if n) + 1
    room = torch.zeros(offset + max(last, 0), dtype=value.dtype)
    copy = room.as_strided(size, stride, offset)
    if all(s for n, s in zip(size, stride, strict=True) if n > 1):
        copy.copy_(value)
    bare = torch.empty(0, dtype=value.dtype)
    return bare.set_(copy.untyped_storage(), offset, size, stride)


def _compute_extent(meta: Any) -> int:
    """Return the bytes from the start of the storage to the last element's end."""
    steps = zip(meta.shape, meta.stride, strict=True)
    last = 0 if 0 in meta.shape else sum((n - 1) * s for n, s in steps) + 1
    return int((meta.offset + last) * meta.torch_dtype.itemsize)


def _ask_torch(ways: list[_Way]) -> list[str]:
    """Return torch's result on the CPU if that works, else without data."""
    state = torch.get_rng_state()
    try:
        for way in ways:
            try:
                return way.ask()
            except Exception:  # values may be to blame, or a kernel may be missing
                continue
    finally:
        torch.set_rng_state(state)
    raise _NoAnswer


# -- comparison ---------------------------------------------------------------


def _compare_answer(
    engine: Engine,
    func: Any,
    answer: Answer,
    ins: list[Info],
    outs: tuple[Info, ...],
    ways: list[_Way],
) -> None:
    """Compare an answer with torch's result; report a difference as a finding."""
    try:
        theirs = _ask_torch(ways)
    except _NoAnswer:
        engine.note(UNDONE)
        return
    engine.note(DONE)
    ours = _describe_recorded(outs, ins, answer.kind == INPLACE)
    if ours != theirs:
        _report_difference(engine, func, "; ".join(ours), "; ".join(theirs))
    _compare_flops(engine, func, answer, ways)


def _describe_recorded(
    outs: tuple[Info, ...], ins: list[Info], written: bool
) -> list[str]:
    """Describe the recorded outputs in words."""
    input_numbers = list(dict.fromkeys(info.number for info in ins))
    descriptions = []
    for info in outs:
        text = _describe_tensor(info.meta, info.meta.requires_grad, info.grad_fn)
        itself = info.number in input_numbers
        place = f"input {input_numbers.index(info.number)}" if itself else ""
        descriptions.append(
            place if itself and not written else f"{place} {text}".strip()
        )
    return descriptions


def _describe_outputs(out: Any, inputs: list[Tensor], written: bool) -> list[str]:
    """Describe torch's outputs in words."""
    descriptions = []
    for tensor in nests.collect_tensors(out):
        meta = Meta(
            tuple(tensor.shape), tensor.stride(), tensor.dtype, 0, "", False, "strided"
        )
        text = _describe_tensor(meta, tensor.requires_grad, get_node_name(tensor))
        index = next((i for i, value in enumerate(inputs) if value is tensor), None)
        itself = index is not None
        place = f"input {index}" if itself else ""
        descriptions.append(
            place if itself and not written else f"{place} {text}".strip()
        )
    return descriptions


def _describe_tensor(meta: Meta, requires_grad: bool, grad_fn: str | None) -> str:
    """Describe a tensor in a few words, the same for torch's and ours if they agree."""
    if grad_fn in (None, "_SourceBackward") or not torch.is_grad_enabled():
        grad_fn = "leaf" if requires_grad else None
    text = f"{meta.dtype}{list(meta.shape)}"
    if meta.stride != compute_contiguous_stride(meta.shape):
        text += f" by {meta.stride}"
    return f"{text} {grad_fn}" if grad_fn else text


def _compare_flops(engine: Engine, func: Any, answer: Answer, ways: list[_Way]) -> None:
    """Compare the FLOPs of a rule with those of torch's own formulas."""
    if answer.flops is None or not ways:
        return
    if get_plain_name(func) in CHOOSES and ways[-1].device == "cpu":
        return  # its kernels for attention are not counted
    try:
        _, theirs = count_flops(engine, ways[-1].ask, (), {})
    except Exception:  # torch refuses to count
        return
    if theirs is not None and theirs != answer.flops:
        _report_difference(engine, func, f"{answer.flops} FLOPs", f"{theirs} FLOPs")


def _check_refusal(
    engine: Engine, func: Any, ways: list[_Way], error: Exception
) -> None:
    """Check that a rejected call fails on the CPU too; meta kernels are lenient."""
    if not ways or ways[0].device != "cpu" or representatives.is_autograd_error(error):
        return  # what refuses to write a view is its base, which is not here
    try:
        theirs = _ask_torch(ways[:1])
    except _NoAnswer:
        return
    _report_difference(engine, func, f"`{error}`", "; ".join(theirs))


def _report_difference(engine: Engine, func: Any, ours: str, theirs: str) -> None:
    """Report a difference from torch, which is a bug of Shapewright."""
    engine.find(
        SELF_CHECK,
        f"`{get_display_name(func)}` is recorded as {ours}, torch says {theirs}",
    )
