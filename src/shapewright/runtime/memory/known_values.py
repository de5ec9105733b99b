"""Values of small data-free tensors that follow from constants.

Programs read masks, lengths and positions to decide what to do: `if mask.all()`,
`lengths.max().item()`. Such a tensor carries a real tensor with its values, and what is
computed from such tensors alone is computed for real as well. Nothing else is known.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_iter, tree_unflatten

LIMIT = 1 << 16
"""Elements of the largest tensor whose values are kept."""

_ATEN: Any = torch.ops.aten
_CONSTANTS = frozenset({
    _ATEN.arange.default, _ATEN.arange.start, _ATEN.arange.start_step,
    _ATEN.zeros.default, _ATEN.ones.default, _ATEN.full.default, _ATEN.eye.default,
    _ATEN.scalar_tensor.default, _ATEN.linspace.default, _ATEN.eye.m,
    _ATEN.tril_indices.default, _ATEN.triu_indices.default,
})  # fmt: skip
_LIKE = frozenset({
    _ATEN.zeros_like.default, _ATEN.ones_like.default, _ATEN.full_like.default,
    _ATEN.new_zeros.default, _ATEN.new_ones.default, _ATEN.new_full.default,
})  # fmt: skip


def get_value(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the known values of a data-free tensor, or None."""
    value: torch.Tensor | None = getattr(tensor, "_known_value", None)
    if value is None or hasattr(value.untyped_storage(), "_is_overwritten"):
        return None
    return value


def set_value(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Note the values of a data-free tensor, unless there are too many of them."""
    if value.numel() <= LIMIT:
        tensor._known_value = value  # type: ignore[attr-defined]


def follow_values(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tensors: list[torch.Tensor],
    output: Any,
) -> None:
    """Compute what a call returned, if all that it read is known.

    `tensors` are those among the arguments.
    """
    if not _has_values(func, tensors):
        return
    flat, spec = tree_flatten((args, kwargs))
    values: list[Any] = []
    is_known = func in _CONSTANTS or func in _LIKE
    has_unknown = False
    for item in flat:
        if isinstance(item, torch.Tensor):
            value = get_value(item) if item.is_meta else item
            has_unknown |= value is None
            is_known |= value is not None
            if value is None and func in _LIKE:
                value = torch.empty_strided(
                    item.shape, [0] * item.dim(), dtype=item.dtype
                )
            values.append(value)
        else:
            values.append(torch.device("cpu") if _is_meta_device(item) else item)
    if has_unknown and func not in _LIKE:
        if func._schema.is_mutable:
            _drop_written_values(func, args, kwargs)
        return
    outputs = [item for item in tree_iter(output) if isinstance(item, torch.Tensor)]
    if (
        not is_known
        or torch.Tag.nondeterministic_seeded in func.tags
        or not any(item.is_meta for item in outputs)
        or any(item.numel() > LIMIT for item in outputs)
    ):
        return
    with torch.no_grad():
        real_args, real_kwargs = tree_unflatten(values, spec)
        results = [
            item
            for item in tree_iter(func(*real_args, **real_kwargs))
            if isinstance(item, torch.Tensor)
        ]
    for item, value in zip(outputs, results, strict=True):
        if item.is_meta:
            set_value(item, value)


def _has_values(func: Any, tensors: list[torch.Tensor]) -> bool:
    """Return whether a call reads or makes any values; few do."""
    if func in _CONSTANTS or func in _LIKE:
        return True
    return any(not t.is_meta or hasattr(t, "_known_value") for t in tensors)


def _is_meta_device(item: Any) -> bool:
    return isinstance(item, torch.device) and item.type == "meta"


def _drop_written_values(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Forget the values of tensors that a call writes, and of their views."""
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        written = args[place] if place < len(args) else kwargs.get(argument.name)
        for tensor in tree_iter(written):
            if isinstance(tensor, torch.Tensor) and tensor.is_meta:
                value = getattr(tensor, "_known_value", None)
                if value is not None:
                    value.untyped_storage()._is_overwritten = True
