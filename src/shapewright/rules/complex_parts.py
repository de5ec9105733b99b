"""Complex tensors from their parts."""

from __future__ import annotations

from typing import Any

from shapewright.rules.elementwise import pointwise
from shapewright.rules.meta import Meta
from shapewright.rules.promotion import TO_COMPLEX
from shapewright.rules.registry import rule


def _to_complex(name: str, node: str) -> None:
    @rule(f"torch.{name}")
    def joined(real: Meta, imag: Meta, *, out: Any = None) -> Any:
        if (
            out is not None
            or real.dtype != imag.dtype
            or real.dtype not in ("float32", "float64")
        ):
            return NotImplemented
        return pointwise(TO_COMPLEX[real.dtype], node, real, imag, common="")


_to_complex("polar", "PolarBackward0")
_to_complex("complex", "ComplexBackward0")
