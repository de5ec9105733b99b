"""The choice of a plan for every torch function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._ops import HigherOrderOperator

from shapewright.engine.dispatch import (
    attributes,
    factories,
    indexing,
    ordinary_calls,
    plan_tables,
    random_draws,
    view_operators,
)
from shapewright.engine.dispatch.ordinary_calls import (
    answer_device,
    answer_from_tensor,
    call_op,
)
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.layers import fused_attention, nested_tensors
from shapewright.engine.private import FUNCTION_GETTER
from shapewright.engine.values import reads

if TYPE_CHECKING:
    from shapewright.engine.engine import Plan

PADDED_SEQUENCES: dict[str, Plan] = {
    "_nested_tensor_from_mask_left_aligned": nested_tensors.is_left_aligned,
    "_nested_tensor_from_mask": nested_tensors.cut_samples,
    "to_padded_tensor": nested_tensors.pad_samples,
}
"""Plans of functions that `nn.TransformerEncoder` calls around its layers."""


def _is_profiler(func: Any) -> bool:
    """Return whether a function is internal to the profiler (`record_function`)."""
    return str(func).startswith("profiler.") or "(op='profiler." in str(func)


def find_plan(func: Any) -> Plan:
    """Return the plan for calls of this function."""
    name = get_plain_name(func)
    if isinstance(func, FUNCTION_GETTER) and func.__name__ == "__set__":
        return attributes.set_attribute
    if name == "_has_compatible_shallow_copy_type":
        return reads.is_compatible
    if func is torch.device:
        return answer_device
    if name in plan_tables.PASS or _is_profiler(func):
        return answer_from_tensor
    if name in plan_tables.DEVICE_READS or name in (
        "requires_grad",
        "grad_fn",
        "is_leaf",
    ):
        return reads.answer_claim
    if name in ("dtype",):
        return answer_from_tensor
    if name == "grad" and isinstance(func, FUNCTION_GETTER):
        return reads.answer_grad
    if name in plan_tables.GRADIENT:
        return reads.answer_gradient
    if name in plan_tables.READS:
        return reads.answer_value
    if name in plan_tables.MOVES:
        return view_operators.answer_move
    if name == "normal":
        return random_draws.answer_normal
    if name in plan_tables.FACTORIES:
        return factories.answer_factory
    if name == "__getitem__":
        return indexing.answer_index
    if name == "__setitem__":
        return indexing.set_index
    if name in plan_tables.DATA_DEPENDENT:
        return reads.answer_data_dependent
    if name == "__deepcopy__":
        return attributes.answer_deepcopy
    if name in ("_set_grad_enabled", "set_grad_enabled", "manual_seed"):
        return answer_from_tensor
    if name == "flex_attention" and isinstance(func, HigherOrderOperator):
        return fused_attention.answer_attention
    if name in fused_attention.WEIGHTS:
        return fused_attention.answer_fused_layer
    if name in PADDED_SEQUENCES:
        return PADDED_SEQUENCES[name]
    if name == "_assert":
        return reads.answer_assert
    if getattr(func, "__module__", "") == "torch.nn.init":
        return ordinary_calls.answer_init
    if name in plan_tables.FILLING:
        return random_draws.answer_fill
    if name == "detach_":
        return attributes.detach_in_place
    if name == "requires_grad_":
        return attributes.require_grad
    if name == "type":
        return view_operators.answer_type
    if name in plan_tables.VIEWS:
        return view_operators.answer_view
    if name in ("__reversed__", "__iter__"):
        return answer_from_tensor
    return call_op
