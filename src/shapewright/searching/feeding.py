"""Tensors of specs, as capture feeds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapewright.inputs.tensor import TensorSpec


def made_of(leaf: TensorSpec) -> Any:
    """A tensor of a spec, as capture feeds it."""
    from shapewright.inputs.example import filled
    from shapewright.runtime.input_tensors import feed

    device = f"{leaf.device}:0" if leaf.device == "cuda" else leaf.device
    return feed(
        leaf.shape, leaf.dtype, device, leaf.name, filled(leaf), leaf.requires_grad
    )
