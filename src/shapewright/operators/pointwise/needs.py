"""Checks of the arguments of `clamp`, `lerp`, `addcmul`, string formatting and other
pointwise functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shapewright.findings.codes import WRONG_RANK
from shapewright.operators.dtype_needs import (
    no_bools,
    no_complex,
    real_floats,
    some_float,
)
from shapewright.operators.failed_calls import Unmet
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.need_checks import is_tensor, same_dtype, text
from shapewright.operators.needs_registry import both, named, needs
from shapewright.operators.pointwise.broadcast_needs import broadcast, into, kept


@needs("torch.Tensor.__format__")
def formatted(self: Meta, format_spec: str) -> Unmet | None:
    """Check that a formatted tensor has no dims, so that it is a single number."""
    if not format_spec or not self.shape:
        return None
    return Unmet(
        WRONG_RANK,
        f"the format `{format_spec}` takes a tensor without dims, as `.item()` and"
        f" `.mean()` give, not one of shape {text(self.shape)}",
    )


Check = Callable[..., Unmet | None]


def _anything(*named: Any) -> Unmet | None:
    """Accept any dtypes."""
    return None


def _real(*named: Any) -> Unmet | None:
    """Check for real dtypes, at least one of them a float."""
    return no_complex(*named) or some_float(*named)


def _one_real(*named: Any) -> Unmet | None:
    """Check for real numbers of a single dtype."""
    return no_complex(*named) or same_dtype(*named)


PAIRS: dict[str, Check] = {
    "ldexp": _anything,
    "float_power": _anything,
    "isclose": same_dtype,
    "heaviside": _one_real,
    "nextafter": _real,
    "igamma": _real,
    "igammac": _real,
    "special.zeta": no_complex,
    "special.xlog1py": no_complex,
    "clamp_min": no_complex,
    "clamp_max": no_complex,
}
"""Functions of two operands, with the check of their dtypes."""


def _pair(word: str, check: Check) -> None:
    """Register the check of a function of two broadcast operands."""

    def aligned(
        input: Any, other: Any = None, *rest: Any, **options: Any
    ) -> Unmet | None:
        given = ("input", input), ("other", other)
        return broadcast(given) or check(*(p for p in given if is_tensor(p[1])))

    names = (f"torch.{word}",) if "." in word else both(word)
    needs(*named(*names))(aligned)


for _word, _check in PAIRS.items():
    _pair(_word, _check)


@needs("torch.complex", "torch.polar")
def complex_parts(real: Meta, imag: Any, **options: Any) -> Unmet | None:
    """Check for two operands of the same float dtype that broadcast."""
    given = ("real", real), ("imag", imag)
    return broadcast(given) or real_floats(*given) or same_dtype(*given)


@needs("torch.lerp")
def lerp(input: Meta, end: Meta, weight: Any) -> Unmet | None:
    """Check for two ends and a weight that broadcast, in a common float dtype."""
    given = [("input", input), ("end", end), ("weight", weight)]
    tensors = [pair for pair in given if is_tensor(pair[1])]
    return broadcast(given) or some_float(*tensors) or same_dtype(*tensors)


@needs("torch.Tensor.lerp_")
def lerp_(input: Meta, end: Meta, weight: Any) -> Unmet | None:
    """Check `lerp` written into `input`."""
    wrong = broadcast([("input", input), ("end", end), ("weight", weight)])
    wrong = wrong or into(input, end, "input", "end")
    return wrong or into(input, weight, "input", "weight") or lerp(input, end, weight)


@needs("torch.addcmul")
def addcmul(input: Meta, tensor1: Any, tensor2: Any, **options: Any) -> Unmet | None:
    """Check that the three operands broadcast and are not all bool."""
    given = ("input", input), ("tensor1", tensor1), ("tensor2", tensor2)
    wrong = broadcast(given)
    if wrong is None and all(each.dtype == "bool" for _, each in given):
        return no_bools(given[0])
    return wrong


@needs("torch.addcdiv")
def addcdiv(input: Meta, tensor1: Any, tensor2: Any, **options: Any) -> Unmet | None:
    """Check that the three operands broadcast and that the division is of floats."""
    given = ("tensor1", tensor1), ("tensor2", tensor2)
    return broadcast((("input", input), *given)) or some_float(*given)


def _added_in_place(check: Check) -> Check:
    """Return the in-place form of a check of addcmul or addcdiv."""

    def written(
        input: Meta, tensor1: Any, tensor2: Any, **options: Any
    ) -> Unmet | None:
        wrong = check(input, tensor1, tensor2)
        for name, each in (("tensor1", tensor1), ("tensor2", tensor2)):
            wrong = wrong or into(input, each, "input", name)
        for name, each in (("tensor1", tensor1), ("tensor2", tensor2)):
            wrong = wrong or kept("", [("input", input), (name, each)])
        return wrong

    return written


needs("torch.Tensor.addcmul_")(_added_in_place(addcmul))
needs("torch.Tensor.addcdiv_")(_added_in_place(addcdiv))


@needs("torch.clamp")
def clamp(
    input: Meta, min: Any = None, max: Any = None, **options: Any
) -> Unmet | None:
    """Check for real bounds that broadcast with the input."""
    given = [("input", input), ("min", min), ("max", max)]
    wrong = broadcast(given) or no_complex(*given)
    tensors = [each for _, each in given if is_tensor(each)]
    if wrong is None and all(each.dtype == "bool" for each in tensors):
        return no_bools(given[0])
    return wrong


@needs("torch.clamp_")
def clamp_(input: Meta, min: Any = None, max: Any = None) -> Unmet | None:
    """Check `clamp` written into the input."""
    wrong = clamp(input, min, max)
    for name, bound in (("min", min), ("max", max)):
        wrong = wrong or into(input, bound, "input", name)
        if is_tensor(bound):
            wrong = wrong or kept("", [("input", input), (name, bound)])
    return wrong
