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
    return check_for_numpy(input)


def check_for_numpy(meta: Any) -> Unmet | None:
    """Return what keeps NumPy from reading a tensor, if anything does."""
    if meta.device not in ("cpu", "meta"):
        said = f"NumPy cannot read {{input}}: it is on `{meta.device}`"
        return Unmet(TO_NUMPY, said, Place("input"), has=meta.device, needs="cpu")
    if meta.requires_grad:
        said = "NumPy cannot read {input}: it requires a gradient"
        return Unmet(TO_NUMPY, said, Place("input"), has="graph", needs="no graph")
    if meta.dtype == "bfloat16":
        said = "NumPy cannot read {input}: it has no bfloat16"
        return Unmet(TO_NUMPY, said, Place("input"), has="bfloat16", needs="float32")
    return None
