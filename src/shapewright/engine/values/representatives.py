"""Fallbacks without a data-free kernel: representative values or assumed shares."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import increment_version

from shapewright.engine import autocast, nests
from shapewright.engine.absence import NotHere
from shapewright.engine.autograd_graph import join_unrecorded
from shapewright.engine.dispatch import memory_overlap
from shapewright.engine.function_names import get_display_name
from shapewright.engine.identity import BLANK, Info, Storage, count_elements
from shapewright.engine.private import any_autocast
from shapewright.engine.values import control_flow, supposed_values
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

FINDING = operators_with("finds_nonzero")
Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
LIMIT = 1 << 18
"""Maximum number of elements of all operands to allocate for the CPU's kernel."""

SPARSE_PRODUCTS = operators_with("is_product") | {"_sparse_mm", "addmm"}
"""Products whose shapes are to fit as those of dense matrices."""
ENTRIES = 3
"""Tensors in `grad.new(indices, values, size)`, which creates a sparse tensor."""


def make_stand_in(
    engine: Engine, tensor: Tensor, distinct: bool = False, whole_number: int = 0
) -> Tensor:
    """Return a CPU tensor of the same metadata with known or representative values."""
    info = engine.info(tensor)
    meta = info.meta
    if meta.layout != "strided":
        return engine.blank_of(tensor)
    if info.storage.known:
        return engine.value_of(tensor)
    out = torch.empty_strided(meta.shape, meta.stride, dtype=meta.torch_dtype)
    whole = torch.empty(0, dtype=meta.torch_dtype).set_(out.untyped_storage())
    if distinct and meta.torch_dtype not in (torch.bool, torch.uint8, torch.int8):
        whole.copy_(torch.arange(whole.numel()))
    elif meta.torch_dtype == torch.bool:
        whole.fill_(1)
    elif meta.torch_dtype.is_floating_point or meta.torch_dtype.is_complex:
        # Between 0 and 1, and no row a multiple of another.
        steps = torch.arange(whole.numel(), dtype=torch.float64)
        whole.copy_((steps * steps).sin_().mul_(0.25).add_(0.5))
    else:
        whole.fill_(whole_number)
    square = out.dim() >= 2 and out.shape[-1] == out.shape[-2]
    if square and out.is_floating_point() and not memory_overlap.is_expanded(meta):
        out.copy_(torch.eye(out.shape[-1], dtype=torch.float32).expand(out.shape))
    return out


def is_small(infos: list[Info]) -> bool:
    """Return whether the operands are small enough to be allocated."""
    total = 0
    for info in infos:
        if info.meta.layout.startswith("sparse"):
            continue
        if info.meta.layout != "strided":
            return False
        count = 1
        for size in info.meta.shape:
            count *= size
        total += count
    return total <= LIMIT


def try_for_real(
    engine: Engine,
    func: Any,
    name: str,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    error: Exception | None,
) -> Any:
    """Run the CPU's kernel on representative values if the operands are small."""
    from shapewright.engine.dispatch.results import (
        convert_for_record,
        get_versions,
        is_in_place,
        record_failure,
        record_results,
    )

    arguments = convert_for_record(engine, args, kwargs)
    if error is not None and not is_autograd_error(error):
        sparse = _as_dense(engine, func, name, args, kwargs, infos)
        if sparse is not None:
            return sparse
    if error is not None and NO_KERNEL in str(error) and not is_small(infos):
        engine.raise_theirs(NotHere(_write_unknown(get_display_name(func))))
    if error is not None and (not is_small(infos) or is_autograd_error(error)):
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))
    distinct = name.startswith(("unique", "_unique"))
    whole = 1 if name == "cov" else 0  # weights; elsewhere mostly indices

    grad = torch.is_grad_enabled()
    written = is_in_place(name, kwargs)

    def real(tensor: Tensor) -> Tensor:
        value = make_stand_in(engine, tensor, distinct, whole)
        if not grad or not engine.info(tensor).meta.requires_grad:
            return value
        value = value.detach().requires_grad_()
        return value.clone() if written else value

    physical = nests.replace_devices(nests.swap_tensors((args, kwargs), real), "cpu")
    if any_autocast():
        kind = autocast.find_device_type([info.meta for info in infos])
        if kind == "cuda":
            physical, _ = autocast.cast_tensors(name, physical, infos)
    before = nests.collect_tensors(physical)
    versions = get_versions(before)
    try:
        out = func(*physical[0], **physical[1])
    except Exception as eager:  # torch refuses
        engine.raise_theirs(record_failure(engine, func, arguments, infos, eager))
    if error is not None and any(
        v.numel() > LIMIT * 4 for v in nests.collect_tensors(out)
    ):
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))
    if not isinstance(out, Tensor | tuple | list):
        engine.assume(f"`{get_display_name(func)}` of unknown data taken as {out!r}")
        return out
    if error is not None and is_data_dependent_error(error):
        engine.assume(
            f"`{get_display_name(func)}` depends on values; the shape of its result "
            "is for "
            + ("all different" if name.startswith("unique") else "representative")
            + " ones"
        )
    out = nests.swap_tensors(out, lambda t: to_blank(t, before))
    out = join_unrecorded(engine, out, nests.collect_tensors((args, kwargs)), before)
    return record_results(
        engine, func, args, kwargs, infos, before, versions, out, known=False,
        notes=("asked of the CPU's kernel on representative values",),
    )  # fmt: skip


def _as_dense(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Return the result for data-free sparse tensors, computed as for dense tensors.

    torch has few data-free kernels for them. Return None if that gives no answer.
    """
    from shapewright.engine.dispatch.results import (
        convert_for_record,
        record_failure,
        record_results,
    )

    sparse = {
        info.number
        for info in infos
        if info.meta.layout.startswith("sparse") and info.kind == BLANK
    }
    out: Any = None
    tensors = nests.collect_tensors((args, kwargs))
    if name == "to_sparse" and infos and not sparse and infos[0].kind == BLANK:
        meta = infos[0].meta
        make: Any = torch.sparse_coo_tensor
        out = make(size=meta.shape, dtype=meta.torch_dtype, device="meta")
    elif sparse and name in ("coalesce", "sparse_mask"):
        physical = nests.replace_devices(
            nests.swap_tensors((args, kwargs), engine.blank_of)
        )
        out = _coalesce_entries(*nests.collect_tensors(physical))
    elif sparse and name == "new" and len(nests.collect_tensors(args)) == ENTRIES:
        _, *parts = nests.swap_tensors(args, engine.blank_of)
        out = torch.sparse_coo_tensor(*parts, check_invariants=False)
    elif sparse:

        def dense(tensor: Tensor) -> Tensor:
            info = engine.info(tensor)
            if info.number not in sparse:
                return engine.blank_of(tensor)
            return torch.empty(info.meta.shape, dtype=tensor.dtype, device="meta")

        instead = torch.mm if name in ("_sparse_mm", "mm") else func
        physical = nests.replace_devices(nests.swap_tensors((args, kwargs), dense))
        try:
            out = instead(*physical[0], **physical[1])
        except Exception as refused:  # by torch, as the dense product
            if name not in SPARSE_PRODUCTS:
                return None
            arguments = convert_for_record(engine, args, kwargs)
            engine.raise_theirs(record_failure(engine, func, arguments, infos, refused))
    if not isinstance(out, Tensor):
        return None
    before = [torch.empty(0) for _ in infos]
    out = (
        join_unrecorded(engine, out, tensors, before)
        if out.layout is torch.strided
        else out
    )
    return record_results(
        engine, func, args, kwargs, infos, before, [0] * len(infos), out, known=False
    )


def _coalesce_entries(value: Tensor, like: Tensor | None = None) -> Tensor | None:
    """Return a sparse tensor whose entries have distinct indices, or None."""
    last = value if like is None else like
    if last.layout is not torch.sparse_coo:
        return None
    indices, entries = last._indices(), last._values()
    sparse = torch.sparse_coo_tensor(
        torch.empty_like(indices),
        torch.empty_like(entries, dtype=value.dtype),
        last.shape,
        check_invariants=False,
    )
    return sparse._coalesced_(True)


NO_KERNEL = "there was no fake impl or Meta kernel"
"""Words of torch's error for an operator that it cannot run without data."""


def _write_unknown(name: str) -> str:
    """Return the sentence on an operator that only runs on data."""
    return (
        f"torch cannot run `{name}` on tensors without data, and these are too large to"
        " be computed: what it returns is not known"
    )


def to_blank(value: Tensor, before: list[Tensor]) -> Tensor:
    """Return a data-free tensor of the same metadata."""
    from shapewright.engine.dispatch.results import get_node_name

    if any(value is physical for physical in before):
        return value
    if value.layout is not torch.strided or value.is_nested:
        return value
    blank = torch.empty_strided(
        value.shape, value.stride(), dtype=value.dtype, device="meta"
    )
    if value.requires_grad:
        vars(blank)["_sw_node"] = (get_node_name(value),)
    return blank


def is_autograd_error(error: Exception) -> bool:
    """Return whether autograd rejected the call, as it would for real tensors."""
    text = str(error)
    return (
        "modified inplace" in text
        or "modified by an inplace operation" in text
        or "in-place operation" in text
        or "automatic differentiation" in text
        or "backward through the graph" in text
        or "does not require grad" in text
        or is_inference_error(error)
    )


def is_inference_error(error: Exception) -> bool:
    """Return whether autograd rejected a tensor that was made in inference mode."""
    return "nference tensor" in str(error)


def is_data_dependent_error(error: Exception) -> bool:
    """Return whether torch raised an error because a value is needed."""
    text = str(error)
    return (
        "meta tensors" in text
        or "data-dependent" in text
        or "depends on values" in text
        or "needs-data" in text
    )


def answer_by_share(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Return the result of a call with a data-dependent shape, by an assumed share."""
    from shapewright.engine.dispatch.results import record_results

    try:
        selection = _select_known(engine, name, args, kwargs, infos)
        if selection is None:
            ends = engine.recording and control_flow.is_loop_over(engine)
            selection = _assume_share(engine, name, args, kwargs, infos, none=ends)
    except RuntimeError as refused:  # masks that do not broadcast
        return engine.raise_theirs(_find_mismatch(infos) or refused)
    if selection is None and name in DISTINCT:
        few = name == "unique" and _has_few_values(args, kwargs, infos[0])
        if few or not is_small(infos):
            return _answer_distinct(engine, func, args, kwargs, infos, few)
    if selection is None:
        error = NotImplementedError(
            f"the shape of {get_display_name(func)} depends on values that are "
            "not known"
        )
        return try_for_real(engine, func, name, args, kwargs, infos, error)
    out, words, node = selection
    if words:
        engine.assume(f"`{get_display_name(func)}` of unknown data {words}")
    if node and torch.is_grad_enabled() and infos[0].meta.requires_grad:
        vars(out)["_sw_node"] = (node,)
    if isinstance(kwargs.get("out"), Tensor):
        return _write_out(engine, func, args, kwargs, infos, out)
    before = [torch.empty(0) for _ in infos]
    out = join_unrecorded(engine, out, nests.collect_tensors((args, kwargs)), before)
    return record_results(
        engine, func, args, kwargs, infos, before, [0] * len(infos), out, known=False
    )


DISTINCT = frozenset({"unique", "unique_consecutive"})
"""Functions that keep one of equal elements."""


FEW = 16
"""Different values among many whole numbers whose values are unknown: labels, ids of
instances. A loop over as many as there are pixels would not end.
"""


def _has_few_values(args: Args, kwargs: Kwargs, info: Info) -> bool:
    """Return whether `unique` of a tensor is assumed to find few different values."""
    dtype = info.meta.torch_dtype
    is_whole = not dtype.is_floating_point and not dtype.is_complex
    return (
        is_whole
        and _find_dim(args, kwargs) is None
        and count_elements(info.meta.shape) > FEW
    )


def _find_dim(args: Args, kwargs: Kwargs) -> Any:
    last = [arg for arg in args[1:] if type(arg) is int]  # the others are flags
    return kwargs.get("dim", last[-1] if last else None)


def _answer_distinct(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, infos: list[Info], few: bool
) -> Any:
    """Return the result for a large tensor whose elements, or slices, all differ: as
    many as it has; or have few values. A corner of it shows what the call returns.
    """
    from shapewright.engine.dispatch.results import record_results

    shape = infos[0].meta.shape
    corner = [min(size, 3 if few else 2) for size in shape]

    def replace(tensor: Tensor) -> Tensor:
        steps = torch.arange(prod(corner)).reshape(corner)
        steps = steps // 2 if few else steps  # fewer than the elements
        return steps.to(engine.info(tensor).meta.torch_dtype)

    physical = nests.swap_tensors((args, kwargs), replace)
    with torch._C.DisableTorchFunction(), torch.no_grad():
        small = func(*physical[0], **physical[1])
    dim = _find_dim(args, kwargs)
    count = FEW if few else prod(shape) if dim is None else shape[dim]
    engine.assume(
        f"`{get_display_name(func)}` depends on values; the shape of its result is for"
        f" {FEW if few else 'all'} different ones"
    )

    def enlarge(part: Tensor) -> Tensor:
        sizes = shape if part.shape == torch.Size(corner) else (count,)
        return torch.empty(sizes, dtype=part.dtype, device="meta")

    out = nests.swap_tensors(small, enlarge)
    before = [torch.empty(0) for _ in infos]
    return record_results(
        engine, func, args, kwargs, infos, before, [0] * len(infos), out, known=False
    )


def _find_mismatch(infos: list[Info]) -> RuntimeError | None:
    """Return eager torch's error for two shapes that do not broadcast, or None."""
    from shapewright.operators.metadata_rules import Misfit
    from shapewright.operators.promotion_and_broadcasting import broadcast

    try:
        broadcast(infos[1].meta.shape, infos[0].meta.shape)
    except Misfit as misfit:
        return RuntimeError(str(misfit))
    return None


def _select_known(
    engine: Engine, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> tuple[Any, str, str] | None:
    """Return the elements that a known mask selects from unknown data."""
    mask = kwargs.get("mask", args[1] if len(args) > 1 else None)
    if name != "masked_select" or not isinstance(mask, Tensor):
        return None
    mask_info = engine.info(mask)
    if (
        not mask_info.storage.known
        or mask_info.storage.assumed
        or mask.dtype != torch.bool
    ):
        return None
    shape = torch.broadcast_shapes(*(info.meta.shape for info in infos[:2]))
    with torch._C.DisableTorchFunction(), torch.no_grad():
        count = int(engine.value_of(mask).expand(shape).sum())
    selected = torch.empty(count, dtype=infos[0].meta.torch_dtype, device="meta")
    return selected, "", "MaskedSelectBackward0"


def _write_out(
    engine: Engine,
    func: Any,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    out: Tensor,
) -> Any:
    """Write a result to `out=`, which is resized to the shape of the result."""
    from shapewright.engine.dispatch.results import get_versions, record_results

    before = [
        engine.blank_of(tensor) for tensor in nests.collect_tensors((args, kwargs))
    ]
    versions = get_versions(before)
    target = engine.blank_of(kwargs["out"])
    with torch.no_grad():
        if target.shape != out.shape:
            target.resize_(out.shape).as_strided_(out.shape, out.stride())
        increment_version(target)
    return record_results(
        engine, func, args, kwargs, infos, before, versions, target, known=False
    )


def _assume_share(
    engine: Engine,
    name: str,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    none: bool = False,
) -> tuple[Any, str, str] | None:
    """Return an assumed result: half of the elements, all distinct, or none of them.

    An earlier answer about the same truths holds here, too. Returned with it are a note
    of the assumption ("" if nothing was assumed) and the name of the result's node in
    autograd ("" if it has none).
    """
    shape, dtype = infos[0].meta.shape, infos[0].meta.torch_dtype
    chosen = infos[0]
    if name == "masked_select":
        chosen = infos[1]
        shape = torch.broadcast_shapes(*(info.meta.shape for info in infos[:2]))
    elif name not in FINDING:
        return None
    total = count_elements(shape)
    known = chosen.storage.known or chosen.meta.layout != "strided"
    count = max(1, total // 2) if total else 0
    if not known and total:
        count = supposed_values.guess_count(engine, chosen)
        if chosen.meta.shape != shape and count_elements(chosen.meta.shape):
            count = count * total // count_elements(chosen.meta.shape)
    count = 0 if none else count
    verb = "keep" if name == "masked_select" else "find"
    part = "half: " if count == max(1, total // 2) else ""
    part = "none, for which a loop waits: " if none else part
    words = f"is taken to {verb} {part}{count} of {total}" if total else ""

    def index(*size: int) -> Tensor:
        return torch.empty(size, dtype=torch.int64, device="meta")

    if name == "masked_select":
        node = "MaskedSelectBackward0"
        return torch.empty(count, dtype=dtype, device="meta"), words, node
    if name == "where" or (name == "nonzero" and kwargs.get("as_tuple")):
        return tuple(index(count) for _ in shape or (1,)), words, ""
    return torch.empty_strided(
        (count, len(shape)), (1, count), dtype=torch.int64, device="meta"
    ), words, ""  # fmt: skip


__all__ = ["Storage", "answer_by_share", "try_for_real"]
