"""FLOPs of the kernels of a step, by phase and module.

The formulas are torch's (`torch.utils.flop_counter`): two for each multiplication and
addition of a matrix product, of a convolution or of attention; nothing for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

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


class FlopCounts:
    """The FLOPs so far, by step, phase and module."""

    def __init__(self) -> None:
        self.formulas = _list_formulas()
        self.flops: dict[tuple[int, str, str], int] = {}

    def add(
        self,
        place: tuple[int, str, str],
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
    ) -> None:
        """Count a call of an operator with a formula at a step, phase and module."""
        formula = self.formulas[func._overloadpacket]
        flops = int(formula(*args, **kwargs, out_val=output))
        self.flops[place] = self.flops.get(place, 0) + flops
