"""Comparisons, logic and bits: eq, lt, logical_and, bitwise_or, shifts."""

from __future__ import annotations

from typing import Any

from shapewright.rules.arithmetic import Binary, in_place, out_of_place, reflected
from shapewright.rules.meta import Metadata
from shapewright.rules.promotion import KIND
from shapewright.rules.registry import rule
from shapewright.rules.unary import Family

_NONE = ("", "", "-")
_COMPARISONS = {
    "eq": "", "ne not_equal": "", "lt less": "lt_cpu", "le less_equal": "le_cpu",
    "gt greater": "gt_cpu", "ge greater_equal": "ge_cpu",
}  # fmt: skip
_BITS = {
    "and": ("bitwise_and", "bitwise_and_cpu", "bi"),
    "or": ("bitwise_or", "bitwise_or_cpu", "bi"),
    "xor": ("bitwise_xor", "bitwise_xor_cpu", "bi"),
    "lshift": ("bitwise_left_shift", "lshift_cpu", "i"),
    "rshift": ("bitwise_right_shift", "rshift_cpu", "i"),
}


def _compare(names: list[str], kernel: str) -> None:
    takes = "bihf" if kernel else "bihfc"
    kind = Binary(Family(takes, "bool", kernel), _NONE)
    grads = f"{names[0].capitalize()}Backward"
    own = Binary(Family(takes, "bool", kernel), (f"{grads}1", f"{grads}0", "-"))
    functions = [f"torch.{name}" for name in names]
    methods = [f"torch.Tensor.{name}" for name in names]
    rule(*functions, *methods, f"torch.Tensor.__{names[0]}__")(out_of_place(kind))
    rule(*[f"{name}_" for name in methods], writes=0)(_differentiable(in_place(own)))


def _differentiable(metadata: Metadata) -> Metadata:
    """Leaves integers written from floats to torch, where autograd is odd."""

    def leaving(input: Any, other: Any) -> Any:
        if KIND.get(input.dtype, 0) < 2 <= KIND.get(getattr(other, "dtype", "bool"), 0):
            return NotImplemented
        return metadata(input, other)

    return leaving


def _logic(name: str) -> None:
    kind = Binary(Family("bihfc", "bool"), ("", "-", "-"))
    rule(f"torch.{name}", f"torch.Tensor.{name}")(out_of_place(kind))
    rule(f"torch.Tensor.{name}_", writes=0)(in_place(kind))


def _bits(short: str, name: str, kernel: str, takes: str) -> None:
    kind = Binary(Family(takes, "same", kernel), ("", "", ""))
    forms = [f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.__{short}__"]
    if "shift" not in short:
        forms.append(f"torch.Tensor.__r{short}__")
    rule(*forms)(out_of_place(kind))
    writing = [f"torch.Tensor.{name}_", f"torch.Tensor.__i{short}__"]
    rule(*writing, writes=0)(in_place(kind))
    if "shift" in short:
        rule(f"torch.Tensor.__r{short}__")(reflected(kind))


for _names, _kernel in _COMPARISONS.items():
    _compare(_names.split(), _kernel)
for _name in ("logical_and", "logical_or", "logical_xor"):
    _logic(_name)
for _short, _spec in _BITS.items():
    _bits(_short, *_spec)
