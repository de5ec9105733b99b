"""The work of each kernel of a step: FLOPs, and the bytes that it reads and writes.

The formulas are torch's (`torch.utils.flop_counter`): two for each multiplication and
addition of a matrix product, of a convolution or of attention; nothing for the rest.
Bytes are those of operands and results, as if each were read or written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from shapewright.record.memory import KernelWork

_ATEN: Any = torch.ops.aten


def _count_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any, **__: Any
) -> int:
    """Return the FLOPs of the scores and of their product with the values.

    As in torch, a causal mask halves nothing. Heads are those of the query, which
    torch's own formula refuses for grouped queries.
    """
    batch, heads, rows, width = query.shape
    return 2 * batch * heads * rows * key.shape[2] * (width + value.shape[3])


def _count_attention_backward(
    gradient: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *_: Any,
    **__: Any,
) -> int:
    """Return the FLOPs of five products: the scores again, and four gradients."""
    batch, heads, rows, width = query.shape
    product = 2 * batch * heads * rows * key.shape[2]
    return product * (3 * width + 2 * value.shape[3])


def _list_formulas() -> dict[Any, Callable[..., Any]]:
    """Return torch's formulas by operator, with those of attention replaced."""
    formulas = dict(flop_registry)
    for kind in ("flash", "efficient", "cudnn", "flash_attention_for_cpu"):
        name = f"_scaled_dot_product_{kind}"
        name = name if kind.endswith("cpu") else f"{name}_attention"
        for end, formula in (
            ("", _count_attention),
            ("_backward", _count_attention_backward),
        ):
            operator = getattr(_ATEN, f"{name}{end}", None)
            if operator is not None:
                formulas[operator] = formula
    return formulas


_IDLE = frozenset({
    _ATEN.empty, _ATEN.empty_like, _ATEN.empty_strided, _ATEN.new_empty,
    _ATEN.new_empty_strided, _ATEN.lift_fresh, _ATEN.resize_, _ATEN.set_,
})  # fmt: skip
"""Operators that allocate or change metadata, and read and write no elements."""

_GATHERING = frozenset({
    _ATEN.embedding, _ATEN.index_select, _ATEN.gather, _ATEN.index,
})  # fmt: skip
"""Operators that read as many elements as they write, whatever they look into."""


class KernelCounts:
    """The work of every kernel so far."""

    def __init__(self) -> None:
        self.formulas = _list_formulas()
        self.kernels: list[KernelWork] = []

    def add(
        self,
        place: tuple[str, str],
        func: Any,
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        tensors: list[torch.Tensor],
        output: Any,
    ) -> None:
        """Count a call at a phase and module; `tensors` are its operands."""
        packet = func._overloadpacket
        if func.is_view or packet in _IDLE:
            return
        results = output if isinstance(output, tuple | list) else (output,)
        written = sum(_count_bytes(r) for r in results if isinstance(r, torch.Tensor))
        read = sum(map(_count_bytes, tensors))
        if output is None and func._schema.is_mutable:
            written = _count_written(arguments[0])
        elif packet in _GATHERING:
            read = min(read, written)
        formula = self.formulas.get(packet)
        flops = 0
        if formula is not None:
            args, kwargs = arguments
            flops = int(formula(*args, **kwargs, out_val=output))
        operand = next((t for t in tensors if t.is_floating_point()), None)
        dtype = "" if operand is None else str(operand.dtype).removeprefix("torch.")
        name = func._schema.name.removeprefix("aten::")
        self.kernels.append(KernelWork(*place, name, dtype, flops, read + written))


def _count_bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of a tensor's elements, of an expanded one those in storage."""
    size = tensor.numel() * tensor.itemsize
    if tensor.is_contiguous():
        return size
    return min(size, tensor.untyped_storage().nbytes())


def _count_written(args: tuple[Any, ...]) -> int:
    """Return the bytes that a call writes which returns nothing: its first operand."""
    first = args[0] if args else ()
    tensors = first if isinstance(first, tuple | list) else (first,)
    return sum(_count_bytes(t) for t in tensors if isinstance(t, torch.Tensor))
