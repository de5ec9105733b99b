"""Notes beside a drawn call: autograd, dispatch, device; and copies of arguments.

The call runs on copies, and every input that can require a gradient does.

Copies have the same strides and share a storage where the originals do, so that
statements about views are true of both. Of a storage only the part that is reached is
copied: a few rows of a huge table are cheap.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from shapewright.engine.identity import DTYPE_NAMES
from shapewright.findings.faults import raise_in_tests
from shapewright.index_maps.drawn_calls import (
    Autograd,
    Drawn,
    InputGradient,
    Kept,
    PictureNotes,
)
from shapewright.operators.metadata_rules import RULES
from shapewright.runtime.operator_calls import dispatcher
from shapewright.runtime.operator_calls.dispatcher import Nested, find_way, observe_run
from shapewright.runtime.operator_calls.drawing import (
    MetaOf,
    draw_call,
    iter_named_tensors,
    iter_tensors,
    name_arguments,
)

Tensor = torch.Tensor
Fresh = Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]
"""Function that returns the arguments of the call as new copies."""


@dataclass(slots=True)
class _Run:
    """One run of the call: its leaves by name, its results, and its saved tensors.

    `used` are the tensors that went in, which are not the leaves if the call writes in
    place.
    """

    leaves: dict[str, Tensor]
    used: dict[str, Tensor]
    versions: dict[str, int]
    outs: list[Tensor] = field(default_factory=list)
    packed: list[Tensor] = field(default_factory=list)
    called: Nested | None = None


def _is_differentiable(tensor: Tensor) -> bool:
    """Return whether a tensor has a dtype that can require a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def _run_with(
    func: Any, name: str, fresh: Fresh, asked: set[str], cloned: bool = False
) -> _Run:
    """Run the call with `requires_grad` set on the inputs named in `asked`.

    With `cloned` the call gets copies of the leaves, which may be written in place.
    """
    args, kwargs = fresh()
    names = {
        id(t): key for key, t in iter_named_tensors(name_arguments(name, args, kwargs))
    }
    leaves: dict[str, Tensor] = {}
    used: dict[str, Tensor] = {}

    def with_gradient(value: Any) -> Any:
        if isinstance(value, Tensor):
            key = names.get(id(value), "")
            detached = value.detach()
            if key in asked:
                detached = leaves[key] = detached.requires_grad_()
                detached = detached.clone() if cloned else detached
            return used.setdefault(key, detached) if key else detached
        if type(value) in (tuple, list):
            return type(value)([with_gradient(item) for item in value])
        return value

    args = tuple(with_gradient(value) for value in args)
    kwargs = {key: with_gradient(value) for key, value in kwargs.items()}
    run = _Run(leaves, used, {key: int(t._version) for key, t in used.items()})

    def pack(tensor: Tensor) -> Tensor:
        run.packed.append(tensor)
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks
    with torch.enable_grad(), hooks(pack, lambda tensor: tensor):
        output, run.called = observe_run(lambda: func(*args, **kwargs))
    run.outs = [out for out in iter_tensors(output) if isinstance(out, Tensor)]
    return run


def _describe_gradients(
    func: Any, name: str, fresh: Fresh
) -> tuple[Autograd, Nested | None]:
    """Return the autograd notes of a call, and the operators that it called."""
    args, kwargs = fresh()
    named = dict(iter_named_tensors(name_arguments(name, args, kwargs)))
    asked = {key for key, tensor in named.items() if _is_differentiable(tensor)}
    if not asked:
        run = _run_with(func, name, fresh, set())
        return Autograd(
            reason=_explain_no_input(named), written=_find_written(run)
        ), run.called
    refused: list[tuple[str, str]] = []
    none: list[InputGradient] = []
    cloned = False
    try:
        run = _run_with(func, name, fresh, asked)
    except (RuntimeError, NotImplementedError) as error:
        first = _get_message(error)
        if "in-place" in first:
            cloned = True
            refused.append(("written in place where it is a leaf", first))
        run, none = _run_without_refusing(func, name, fresh, asked, cloned)
    flowing = [out for out in run.outs if out.requires_grad]
    if not flowing:
        reason = none[0].reason if none else _explain_no_output(run.outs)
        return Autograd(written=_find_written(run), reason=reason), run.called
    nodes = tuple(_iter_node_names(flowing, run, cloned))
    kept = _find_kept(run)
    refused += _write_views(run)
    gradients = [*_iter_gradients(run, flowing), *none]
    order = list(named)
    gradients.sort(key=lambda gradient: order.index(gradient.name))
    autograd = Autograd(
        nodes, kept, tuple(gradients), _find_written(run), tuple(refused)
    )
    return autograd, run.called


def _explain_no_input(named: dict[str, Tensor]) -> str:
    """Return the reason why no input can require a gradient."""
    if not named:
        return "a new tensor is a leaf: `requires_grad=True` asks for its gradient"
    return "no input has a floating dtype, so none can require a gradient"


def _explain_no_output(outs: list[Tensor]) -> str:
    """Return the reason why no gradient flows back from the outputs."""
    whole = next((out for out in outs if not _is_differentiable(out)), None)
    if whole is not None:
        return f"`out` is {DTYPE_NAMES[whole.dtype]}"
    return "the output does not depend on the inputs in a way that autograd can follow"


def _run_without_refusing(
    func: Any, name: str, fresh: Fresh, asked: set[str], cloned: bool
) -> tuple[_Run, list[InputGradient]]:
    """Return the run with gradients for all inputs that accept it, and the other
    inputs.
    """
    try:
        return _run_with(func, name, fresh, asked, cloned), []
    except (RuntimeError, NotImplementedError):
        pass
    none, able = [], set()
    for key in sorted(asked):
        try:
            _run_with(func, name, fresh, {key}, cloned)
            able.add(key)
        except (RuntimeError, NotImplementedError) as error:
            none.append(InputGradient(key, None, _get_message(error)))
    return _run_with(func, name, fresh, able, cloned), none


def _get_message(error: Exception) -> str:
    """Return the first line of an error's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _find_written(run: _Run) -> tuple[tuple[str, int, int], ...]:
    """Return the inputs whose version counter changed, with both versions."""
    return tuple(
        (key, run.versions[key], int(tensor._version))
        for key, tensor in run.used.items()
        if int(tensor._version) != run.versions[key]
    )


# -- the graph -------------------------------------------------------------------------


def _iter_node_names(outs: list[Tensor], run: _Run, cloned: bool) -> Iterator[str]:
    """Yield the names of the nodes in the autograd graph, the outputs' nodes first."""
    leaves = {id(leaf) for leaf in run.leaves.values()}
    queue = list(dict.fromkeys(out.grad_fn for out in outs if out.grad_fn is not None))
    seen = set(queue)
    while queue:
        node = queue.pop(0)
        following = [
            next_node for next_node, _ in node.next_functions if next_node is not None
        ]
        first = [getattr(next_node, "variable", None) for next_node in following]
        mine = cloned and node.name() == "CloneBackward0"
        if not (mine and any(id(leaf) in leaves for leaf in first)):
            yield node.name().removeprefix("torch::autograd::")
        for next_node, leaf in zip(following, first, strict=True):
            if leaf is None and next_node not in seen:
                seen.add(next_node)
                queue.append(next_node)


def _find_kept(run: _Run) -> tuple[Kept, ...]:
    """Return the distinct tensors that the call saves for the backward pass."""
    named = {**run.used, **_name_outputs(run.outs)}
    kept: dict[Any, Kept] = {}
    for tensor in run.packed:
        storage = tensor.untyped_storage()
        if not storage.nbytes():
            continue
        key = storage.data_ptr(), _get_place(tensor)
        same = [n for n, t in named.items() if _is_sharing(t, tensor)]
        exact = [n for n in same if _get_place(named[n]) == _get_place(tensor)]
        shape, dtype = tuple(tensor.shape), DTYPE_NAMES[tensor.dtype]
        name = (exact or same or [""])[0]
        kept.setdefault(
            key, Kept(name, shape, dtype, storage.nbytes(), bool(name) and not exact)
        )
    order = [*named, ""]
    return tuple(
        sorted(kept.values(), key=lambda kept_tensor: order.index(kept_tensor.name))
    )


def _name_outputs(outs: list[Tensor]) -> dict[str, Tensor]:
    """Return the outputs by their names in a drawing."""
    return {"out": outs[0]} if len(outs) == 1 else {
        f"out.{n}": out for n, out in enumerate(outs)
    }  # fmt: skip


def _get_place(tensor: Tensor) -> tuple[Any, ...]:
    """Return the offset, shape and strides of a tensor in its storage."""
    return int(tensor.storage_offset()), tuple(tensor.shape), tuple(tensor.stride())


def _is_sharing(tensor: Tensor, other: Tensor) -> bool:
    """Return whether two tensors share a storage."""
    mine, its = tensor.untyped_storage(), other.untyped_storage()
    return bool(mine.nbytes()) and mine.data_ptr() == its.data_ptr()


def _iter_gradients(run: _Run, outs: list[Tensor]) -> Iterator[InputGradient]:
    """Yield the gradient of each leaf."""
    leaves = list(run.leaves.values())
    try:
        # Gradients of ones, by way of sums: giving them makes torch import sympy.
        with torch.enable_grad():
            ends = [out.real.sum() if out.is_complex() else out.sum() for out in outs]
        gradients = torch.autograd.grad(ends, leaves, allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        for key in run.leaves:
            yield InputGradient(key, None, _get_message(error))
        return
    for key, gradient in zip(run.leaves, gradients, strict=True):
        if gradient is None:
            yield InputGradient(key, None, "no output depends on it")
        else:
            layout_note = (
                ""
                if gradient.layout is torch.strided
                else "sparse: rows that were read"
            )
            yield InputGradient(key, tuple(gradient.shape), layout_note)


def _write_views(run: _Run) -> list[tuple[str, str]]:
    """Return torch's error for an in-place write to an output that is a view."""
    for out in run.outs:
        if out.requires_grad and out._is_view() and out.is_floating_point():
            try:
                with torch.enable_grad():
                    out.mul_(1)
            except RuntimeError as error:
                return [("a view of a leaf, written in place", _get_message(error))]
            return []
    return []


ALIGNED = 64
"""Copied parts of a storage begin at multiples of so many bytes, for every dtype."""

Spans = dict[int, tuple[int, int]]


def find_spans(tensors: Iterable[Tensor]) -> Spans:
    """Return the range of bytes that tensors reach in each storage, by identity."""
    spans: Spans = {}
    for tensor in tensors:
        if not tensor.numel():
            continue
        size, first = tensor.element_size(), int(tensor.storage_offset())
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        last = int(first + sum((count - 1) * step for count, step in steps))
        low, high = first * size // ALIGNED * ALIGNED, (last + 1) * size
        key = tensor.untyped_storage()._cdata
        before = spans.get(key, (low, high))
        spans[key] = min(low, before[0]), max(high, before[1])
    return spans


@dataclass(slots=True)
class Copies:
    """The copies of tensors, which share storages as the originals do."""

    spans: Spans
    made: dict[int, Tensor] = field(default_factory=dict)

    def of(self, value: Any) -> Any:
        """Return nested arguments with copies in place of tensors."""
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
        """Return the copy of a tensor."""
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


def draw_with(
    func: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    text: str,
) -> Drawn:
    """Draw a call as `draw_call` does, and add the notes beside the drawing.

    The arguments are copies already; the call runs a few times more, on copies of them.
    """
    with torch.inference_mode(False):
        kept = Copies(find_spans(list(iter_tensors((*args, *kwargs.values())))))
        args_kept, kwargs_kept = kept.of(args), kept.of(kwargs)
    drawn = draw_call(func, name, args, kwargs, text)
    if drawn.error or not drawn.outputs:
        return drawn

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        tensors = list(iter_tensors((*args_kept, *kwargs_kept.values())))
        copies = Copies(find_spans(tensors))
        return copies.of(args_kept), copies.of(kwargs_kept)

    with warnings.catch_warnings(action="ignore"), torch.inference_mode(False):
        return replace(drawn, beside=_collect_notes(func, name, fresh))


def _collect_notes(func: Callable[..., Any], name: str, fresh: Fresh) -> PictureNotes:
    """Return the notes to show beside a call that torch accepts."""
    args, kwargs = fresh()
    tensors = [
        t for t in iter_tensors((*args, *kwargs.values())) if isinstance(t, Tensor)
    ]
    try:
        autograd, called = _describe_gradients(func, name, fresh)
    except Exception as error:  # a picture does not fail for want of a gradient
        message = (str(error).strip().splitlines() or [type(error).__name__])[0]
        autograd, called = Autograd(reason=f"torch: {message}"), None
    try:
        args_new, kwargs_new = fresh()
        with torch.no_grad():
            seen = dispatcher.find_overloads(lambda: func(*args_new, **kwargs_new))
    except Exception:  # an operator that no dispatch mode takes
        seen = {}
    dispatch = find_way(called, seen, tensors)
    default = DTYPE_NAMES[torch.get_default_dtype()]
    counted, at = _count_flops(name, args, kwargs), _find_device(tensors, kwargs)
    return PictureNotes(autograd, dispatch, counted, at, default)


def _find_device(tensors: list[Tensor], kwargs: dict[str, Any]) -> str:
    """Return the `device` argument of a call, or its first tensor's, or the default."""
    asked = kwargs.get("device")
    if asked is not None:
        return str(asked)
    return str(tensors[0].device if tensors else torch.get_default_device())


def _count_flops(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> int | None:
    """Return the FLOPs that a trace counts for the call, or None if it counts none."""
    op_rule = RULES.get(name)
    if op_rule is None or op_rule.flops is None:
        return None

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            return MetaOf.of(value)
        if type(value) in (tuple, list):
            return type(value)(plain(item) for item in value)
        return value

    try:
        return op_rule.flops(
            *map(plain, args), **{key: plain(value) for key, value in kwargs.items()}
        )
    except TypeError:  # arguments that the formula does not know
        return None
    except Exception as fault:  # ours: the call is shown without its FLOPs
        raise_in_tests(fault)
        return None
