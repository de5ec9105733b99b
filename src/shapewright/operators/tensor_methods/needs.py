"""What `Tensor.numpy` needs: a tensor on the CPU that requires no gradient."""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import TO_NUMPY
from shapewright.operators.failed_calls import Place, Unmet
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.needs_registry import needs


@needs("torch.Tensor.numpy", "torch.Tensor.__array__")
def numpy(input: Meta, *args: Any, **kwargs: Any) -> Unmet | None:
    """Check that NumPy can share the memory of a tensor."""
    if input.device not in ("cpu", "meta"):
        message = f"NumPy cannot read {{input}}: it is on `{input.device}`"
        return Unmet(TO_NUMPY, message, Place("input"), has=input.device, needs="cpu")
    if input.requires_grad:
        message = "NumPy cannot read {input}: it requires a gradient"
        return Unmet(TO_NUMPY, message, Place("input"), has="graph", needs="no graph")
    if input.dtype == "bfloat16":
        message = "NumPy cannot read {input}: it has no bfloat16"
        return Unmet(TO_NUMPY, message, Place("input"), has="bfloat16", needs="float32")
    return None
