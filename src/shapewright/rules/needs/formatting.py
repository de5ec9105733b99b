"""What `f"{x:.2f}"` needs."""

from __future__ import annotations

from shapewright.rules.meta import Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import text
from shapewright.rules.needs.unmet import Unmet


@needs("torch.Tensor.__format__")
def formatted(self: Meta, format_spec: str) -> Unmet | None:
    """A tensor without dims, which is one number."""
    if not format_spec or not self.shape:
        return None
    return Unmet(
        "wrong-rank",
        f"the format `{format_spec}` takes a tensor without dims, as `.item()` and"
        f" `.mean()` give, not one of shape {text(self.shape)}",
    )
