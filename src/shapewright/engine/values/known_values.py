"""Computation with small tensors of known values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from shapewright.engine import autocast, nests
from shapewright.engine.devices import check_devices
from shapewright.engine.dispatch import index_bounds, plan_tables
from shapewright.engine.dispatch.answers import find_rule, flatten_outputs
from shapewright.engine.dispatch.results import (
    convert_for_record,
    get_versions,
    record_results,
)
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import DTYPES, Info, count_elements
from shapewright.engine.private import any_autocast
from shapewright.engine.values.data_values import DRAW, PICKED
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
TOO_LARGE = object()
"""Returned by `compute_known` in place of a result that would be large."""
GROWING = operators_with("outgrows_inputs")


def can_compute(engine: Engine, infos: list[Info]) -> bool:
    """Return whether known values may be computed, as no graph has to be kept."""
    return not engine.graph or not any(info.meta.requires_grad for info in infos)


def compute_known(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Compute with small known tensors; TOO_LARGE if the result would not be small."""
    name = get_plain_name(func)
    if any_autocast() and autocast.find_device_type([i.meta for i in infos]) == "cuda":
        return TOO_LARGE  # the CPU's numbers have the dtypes of the CPU
    if name == index_bounds.SPARSE:  # torch computes it unchecked
        index_bounds.check_indices(engine, func, args, kwargs)
    first = infos[0].meta.device
    if any(info.meta.device != first for info in infos):
        check_devices(engine, name, infos)
    sizes = sorted((count_elements(info.meta.shape) for info in infos), reverse=True)
    largest = sizes[0] * (sizes[1] if len(sizes) > 1 else 1)
    if (name in GROWING or largest > engine.known_limit) and not _is_small_result(
        engine, func, args, kwargs, infos
    ):
        engine.lose()
        return TOO_LARGE
    value_of: Callable[[Tensor], Tensor] = engine.value_of
    if "out" in kwargs or name[-1] == "_":  # torch asks whether it is the same tensor
        value_of = _cache_change(value_of)
    physical = nests.replace_devices(
        nests.swap_tensors((args, kwargs), value_of), "cpu"
    )
    before = nests.collect_tensors(physical)
    versions = get_versions(before)
    out = engine.run(func, *physical)
    assumed = _find_assumption(name, infos)
    if assumed and (name[-1] == "_" or "out" in kwargs):
        for info, now, version in zip(
            infos, get_versions(before), versions, strict=True
        ):
            if now != version:  # what was written is no surer than what it is of
                info.storage.assumed = info.storage.assumed or assumed
    return record_results(
        engine, func, args, kwargs, infos, before, versions, out, assumed=assumed
    )


def _find_assumption(name: str, infos: list[Info]) -> str | None:
    """Return what is assumed of a result: the least sure of what is of its operands."""
    assumed = {info.storage.assumed for info in infos} - {None}
    if not assumed:
        return DRAW if name in plan_tables.RANDOM else None
    data, *indices = (info.storage.assumed for info in infos)
    if name in PICKING and data in (None, PICKED) and {*indices} <= {None, DRAW}:
        return PICKED
    surest = assumed - {PICKED}
    others = (info.storage.assumed for info in infos)
    return next(what for what in others if what in (surest or assumed))


PICKING = operators_with("reads_by_index") | {"__getitem__"}


def _cache_change(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Cache `change`, so that a tensor has the same stand-in throughout a call."""
    stand_ins: dict[int, Tensor] = {}

    def changed(tensor: Tensor) -> Tensor:
        if id(tensor) not in stand_ins:
            stand_ins[id(tensor)] = change(tensor)
        return stand_ins[id(tensor)]

    return changed


def _is_small_result(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, infos: list[Info]
) -> bool:
    """Return whether the result is small, by the rule or by torch's meta kernel."""
    shape = infos[0].meta.shape
    if get_plain_name(func) not in GROWING and all(
        i.meta.shape == shape for i in infos
    ):
        return True
    rule = find_rule(func)
    try:
        if rule is not None:
            arguments = convert_for_record(engine, args, kwargs)
            outputs = rule.metadata(*arguments[0], **arguments[1])
            flat = None if outputs is NotImplemented else flatten_outputs(outputs)
            if flat is not None:
                return all(
                    count_elements(m.shape) <= engine.limit_for(infos, DTYPES[m.dtype])
                    for m in flat
                )
        physical = nests.replace_devices(
            nests.swap_tensors((args, kwargs), engine.blank_of)
        )
        out = func(*physical[0], **physical[1])
    except Exception:  # let the real kernel say what is wrong
        return True
    return all(
        value.numel() <= engine.limit_for(infos, value.dtype)
        for value in nests.collect_tensors(out)
    )
