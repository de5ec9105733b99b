"""The dtypes that a call accepts, and what to report when it gets another one.

A rule refuses the dtypes that torch's kernels lack. The checks here call a rule with
other dtypes, to find out which ones it takes.
"""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import DTYPE_MISMATCH
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Meta, Misfit, Rule
from shapewright.operators.need_checks import cast, dtype_unmet, is_tensor
from shapewright.operators.promotion_and_broadcasting import KIND, result_type

Named = tuple[str, Any]
WIDE = ("float32", "float64")


def _tensors(named: tuple[Named, ...]) -> list[tuple[str, Meta]]:
    """Return the arguments that are tensors, with their names."""
    return [(name, argument) for name, argument in named if is_tensor(argument)]


def no_bools(*named: Named) -> Unmet | None:
    """Check that no tensor is bool, as `-` and sums are not defined for bools here."""
    for name, tensor in _tensors(named):
        if tensor.dtype == "bool":
            return dtype_unmet(name, tensor, "float32", "{op} does not support bools")
    return None


def no_complex(*named: Named) -> Unmet | None:
    """Check that no tensor is complex."""
    for name, tensor in _tensors(named):
        if KIND.get(tensor.dtype) == 3:
            wanted = "float64" if tensor.dtype == "complex128" else "float32"
            return dtype_unmet(name, tensor, wanted, "{op} expects real numbers")
    return None


def real_floats(*named: Named) -> Unmet | None:
    """Check that all tensors are real floats."""
    for name, tensor in _tensors(named):
        if KIND.get(tensor.dtype, 2) != 2:
            return dtype_unmet(name, tensor, "float32", "{op} expects floats")
    return None


def wide_floats(*named: Named) -> Unmet | None:
    """Check that all tensors are float32 or float64."""
    for name, tensor in _tensors(named):
        if tensor.dtype not in WIDE:
            return dtype_unmet(
                name, tensor, "float32", "{op} expects float32 or float64"
            )
    return None


def some_float(*named: Named) -> Unmet | None:
    """Check that type promotion of all tensors gives a float or complex dtype."""
    tensors = _tensors(named)
    dtype: str | None = tensors[0][1].dtype if tensors else None
    for _, tensor in tensors[1:]:
        dtype = result_type(tensors[0][1], tensor) if dtype is not None else None
    if dtype is None or KIND.get(dtype, 2) >= 2:
        return None
    return dtype_unmet(*tensors[0], "float32", "{op} expects floats")


KINDS = ("bool", "int64", "float32", "complex64")
WORDS = {
    (2,): "floats",
    (1,): "whole numbers",
    (0, 1): "integers or bools",
    (1, 2): "real numbers",
    (0, 1, 2): "real numbers or bools",
    (2, 3): "floats or complex numbers",
    (1, 2, 3): "numbers",
}
"""Names in messages for sets of kinds, numbered as in `KIND`."""
INSTEAD = {
    0: ("int64", "float32"),
    1: ("float32", "bool"),
    2: ("bool", "int64", "float32"),
    3: ("float32", "int64"),
}
"""The dtypes to suggest in place of one of this kind, the likeliest first."""


TAKEN = {
    "sign": (0, 1, 2),
    "log_sigmoid": (2,),
    "dropout": (2, 3),
    "bitwise_not": (0, 1),
    "__invert__": (0, 1),
    "relu6": (1, 2),
    "hardtanh": (1, 2),
    "isposinf": (0, 1, 2),
    "median": (1, 2),
    "amax": (0, 1, 2),
    "amin": (0, 1, 2),
    "argmax": (1, 2),
    "argmin": (1, 2),
    "sort": (0, 1, 2),
    "signbit": (0, 1, 2),
}
"""Kinds that torch takes, for functions whose rule leaves the others to torch."""


class _Cast:
    """A copy of metadata with another dtype."""

    def __init__(self, meta: Meta, dtype: str) -> None:
        self.shape, self.stride, self.dtype = meta.shape, meta.stride, dtype
        self.device, self.requires_grad = meta.device, meta.requires_grad


def _refuses(rule: Rule, args: Any, options: Any = None) -> bool | None:
    """Return whether a rule rejects the call, or None if it does not cover the call."""
    try:
        output = rule.metadata(*args, **(options or {}))
    except Misfit:
        return True
    except TypeError:  # the call lacks an argument, which is another need
        return None
    return None if output is NotImplemented else False


def of_dtype(rule: Rule, input: Meta, rest: Any, options: Any) -> Unmet | None:
    """Check that the rule accepts the input's dtype, or suggest one that it accepts."""
    own = KIND.get(input.dtype, 2)
    refused = _refuses(rule, (input, *rest), options)
    kinds = TAKEN.get(rule.names[0].rpartition(".")[2]) if refused is None else None
    if refused is False or (kinds is None and not refused) or own in (kinds or ()):
        return None
    fine = [
        dtype
        for kind, dtype in enumerate(KINDS)
        if kind in (kinds or ())
        or _refuses(rule, (_Cast(input, dtype), *rest), options) is False
    ]
    wide = ("float32",) if input.dtype in ("float16", "bfloat16") else ()
    wanted = next((dtype for dtype in (*wide, *INSTEAD[own]) if dtype in fine), None)
    if wanted is None:
        return None
    words = WORDS.get(tuple(KINDS.index(dtype) for dtype in fine), wanted)
    mask = "; `~` inverts a mask" if rule.names[0].endswith("neg") and not own else ""
    return Unmet(
        DTYPE_MISMATCH,
        f"{{op}} expects {words}, but {{input}} is {input.dtype}{mask}",
        Place("input"),
        None,
        input.dtype,
        wanted,
        (Grant("input", cast(input, wanted)),),
    )


def of_dtypes(rule: Rule, *named: tuple[str, Any]) -> Unmet | None:
    """Check the dtypes of several operands as `of_dtype` checks one."""
    if _refuses(rule, [operand for _, operand in named]) is not True:
        return None
    for name, operand in named:
        if not is_tensor(operand):
            continue
        for wanted in INSTEAD[KIND.get(operand.dtype, 2)]:
            tried = [_Cast(e, wanted) if n == name else e for n, e in named]
            both = [_Cast(e, wanted) if is_tensor(e) else e for _, e in named]
            if _refuses(rule, tried) is False and _refuses(rule, both) is False:
                word = WORDS.get((KIND[wanted],), wanted)
                return dtype_unmet(name, operand, wanted, f"{{op}} expects {word} here")
    for wanted in ("float32", "int64"):
        both = [_Cast(e, wanted) if is_tensor(e) else e for _, e in named]
        if _refuses(rule, both) is False:
            tensors = [(name, operand) for name, operand in named if is_tensor(operand)]
            name, operand = tensors[0]
            word = WORDS[(KIND[wanted],)]
            return Unmet(
                DTYPE_MISMATCH,
                f"{{op}} expects {word}, but {{{name}}} is {operand.dtype}",
                Place(name),
                None,
                operand.dtype,
                wanted,
                tuple(Grant(n, cast(e, wanted)) for n, e in tensors),
            )
    return None
