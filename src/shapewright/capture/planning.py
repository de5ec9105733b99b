"""How calls of a torch function are treated, by function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import HigherOrderOperator

from shapewright.capture import (
    answering,
    attributes,
    fast_paths,
    flex_attention,
    indexing,
    making,
    moving,
    padded_sequences,
    plans,
    random_draws,
    reading,
    viewing,
)
from shapewright.capture.calling import call_op, passed
from shapewright.capture.names import plain_name
from shapewright.capture.private import FUNCTION_GETTER

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Plan = Callable[["Engine", Any, tuple[Any, ...], dict[str, Any] | None], Any]

PADDED_SEQUENCES: dict[str, Plan] = {
    "_nested_tensor_from_mask_left_aligned": padded_sequences.is_left_aligned,
    "_nested_tensor_from_mask": padded_sequences.cut,
    "to_padded_tensor": padded_sequences.pad,
}
"""What `nn.TransformerEncoder` calls before its layers and after them."""


def is_profiler(func: Any) -> bool:
    """torch's own bookkeeping (`record_function`), no op of the program."""
    return str(func).startswith("profiler.") or "(op='profiler." in str(func)


def plan_for(func: Any) -> Plan:
    """How calls of this function are treated."""
    name = plain_name(func)
    if isinstance(func, FUNCTION_GETTER) and func.__name__ == "__set__":
        return attributes.set_attribute
    if name == "_has_compatible_shallow_copy_type":
        return reading.compatible
    if name in plans.PASS or func is torch.device or is_profiler(func):
        return passed
    if name in plans.DEVICE_READS or name in ("requires_grad", "grad_fn", "is_leaf"):
        return reading.claims
    if name in ("dtype",):
        return passed
    if name == "grad" and isinstance(func, FUNCTION_GETTER):
        return reading.grad
    if name in plans.GRADIENT:
        return reading.gradient
    if name in plans.READS:
        return reading.value
    if name in plans.MOVES:
        return moving.move
    if name == "normal":
        return random_draws.drawn
    if name in plans.FACTORIES:
        return making.factory
    if name == "__getitem__":
        return indexing.index
    if name == "__setitem__":
        return indexing.set_index
    if name in plans.DATA_DEPENDENT:
        return reading.data_dependent
    if name == "__deepcopy__":
        return attributes.deepcopy
    if name in ("_set_grad_enabled", "set_grad_enabled", "manual_seed"):
        return passed
    if name == "flex_attention" and isinstance(func, HigherOrderOperator):
        return flex_attention.attend
    if name in fast_paths.WEIGHTS:
        return fast_paths.fused
    if name in PADDED_SEQUENCES:
        return PADDED_SEQUENCES[name]
    if name == "_assert":
        return reading.asserted
    if getattr(func, "__module__", "") == "torch.nn.init":
        return answering.initialise
    if name in plans.FILLING:
        return random_draws.fill
    if name == "detach_":
        return attributes.detach_in_place
    if name == "requires_grad_":
        return attributes.require_grad
    if name in plans.VIEWS:
        return viewing.view
    if name in ("__reversed__", "__iter__"):
        return passed
    return call_op
