"""The dtypes that a call accepts, and what to report when it gets another one.

A rule refuses the dtypes that torch's kernels lack. Asked with others, it tells which
ones are taken.
"""

from __future__ import annotations

from typing import Any

from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Meta, Misfit, Rule
from shapewright.operators.need_checks import cast, dtype_unmet, is_tensor
from shapewright.operators.promotion_and_broadcasting import KIND, result_type

Named = tuple[str, Any]
WIDE = ("float32", "float64")


def _tensors(named: tuple[Named, ...]) -> list[tuple[str, Meta]]:
    """Those that are tensors of a dtype that is known."""
    return [(name, each) for name, each in named if is_tensor(each)]


def no_bools(*named: Named) -> Unmet | None:
    """Numbers: `-` and sums of bools have no meaning here."""
    for name, each in _tensors(named):
        if each.dtype == "bool":
            return dtype_unmet(name, each, "float32", "{op} takes no bools")
    return None


def no_complex(*named: Named) -> Unmet | None:
    """Real numbers."""
    for name, each in _tensors(named):
        if KIND.get(each.dtype) == 3:
            wanted = "float64" if each.dtype == "complex128" else "float32"
            return dtype_unmet(name, each, wanted, "{op} takes real numbers")
    return None


def real_floats(*named: Named) -> Unmet | None:
    """Floats, each of them."""
    for name, each in _tensors(named):
        if KIND.get(each.dtype, 2) != 2:
            return dtype_unmet(name, each, "float32", "{op} takes floats")
    return None


def wide_floats(*named: Named) -> Unmet | None:
    """float32 or float64, each of them."""
    for name, each in _tensors(named):
        if each.dtype not in WIDE:
            return dtype_unmet(name, each, "float32", "{op} takes float32 or float64")
    return None


def some_float(*named: Named) -> Unmet | None:
    """A float among them, for the others to become floats with."""
    given = _tensors(named)
    dtype: str | None = given[0][1].dtype if given else None
    for _, each in given[1:]:
        dtype = result_type(given[0][1], each) if dtype is not None else None
    if dtype is None or KIND.get(dtype, 2) >= 2:
        return None
    return dtype_unmet(*given[0], "float32", "{op} takes floats")


KINDS = ("bool", "int64", "float32", "complex64")
WORDS = {
    (2,): "floats",
    (1,): "whole numbers",
    (0, 1): "whole numbers or bools",
    (1, 2): "real numbers",
    (0, 1, 2): "real numbers or bools",
    (2, 3): "floats or complex numbers",
    (1, 2, 3): "numbers",
}
"""What is taken, by kinds: bools, whole numbers, floats, complex numbers."""
INSTEAD = {
    0: ("int64", "float32"),
    1: ("float32", "bool"),
    2: ("bool", "int64", "float32"),
    3: ("float32", "int64"),
}
"""The dtypes that are meant instead of one of another kind, the likeliest first."""


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
"""Kinds that torch takes, where the rule leaves the others to torch."""


class _Cast:
    """Metadata as it is but for its dtype."""

    def __init__(self, meta: Meta, dtype: str) -> None:
        self.shape, self.stride, self.dtype = meta.shape, meta.stride, dtype
        self.device, self.requires_grad = meta.device, meta.requires_grad


def _refuses(rule: Rule, args: Any, options: Any = None) -> bool | None:
    """Whether a rule refuses the call; None where it does not cover it."""
    try:
        made = rule.metadata(*args, **(options or {}))
    except Misfit:
        return True
    return None if made is NotImplemented else False


def of_dtype(rule: Rule, input: Meta, rest: Any, options: Any) -> Unmet | None:
    """The dtypes that a rule takes, where the one that came in is not among them."""
    own = KIND.get(input.dtype, 2)
    refused = _refuses(rule, (input, *rest), options)
    kinds = TAKEN.get(rule.names[0].rpartition(".")[2]) if refused is None else None
    if refused is False or (kinds is None and not refused) or own in (kinds or ()):
        return None
    fine = [
        each
        for kind, each in enumerate(KINDS)
        if kind in (kinds or ())
        or _refuses(rule, (_Cast(input, each), *rest), options) is False
    ]
    wide = ("float32",) if input.dtype in ("float16", "bfloat16") else ()
    wanted = next((each for each in (*wide, *INSTEAD[own]) if each in fine), None)
    if wanted is None:
        return None
    words = WORDS.get(tuple(KINDS.index(each) for each in fine), wanted)
    mask = "; `~` inverts a mask" if rule.names[0].endswith("neg") and not own else ""
    return Unmet(
        "dtype-mismatch",
        f"{{op}} takes {words}, but {{input}} is {input.dtype}{mask}",
        Place("input"),
        None,
        input.dtype,
        wanted,
        (Grant("input", cast(input, wanted)),),
    )


def of_dtypes(rule: Rule, *named: tuple[str, Any]) -> Unmet | None:
    """The same of two operands: a kind that is not taken, of either of them."""
    if _refuses(rule, [each for _, each in named]) is not True:
        return None
    for name, each in named:
        if not is_tensor(each):
            continue
        for wanted in INSTEAD[KIND.get(each.dtype, 2)]:
            tried = [_Cast(e, wanted) if n == name else e for n, e in named]
            both = [_Cast(e, wanted) if is_tensor(e) else e for _, e in named]
            if _refuses(rule, tried) is False and _refuses(rule, both) is False:
                word = WORDS.get((KIND[wanted],), wanted)
                return dtype_unmet(name, each, wanted, f"{{op}} takes {word} here")
    for wanted in ("float32", "int64"):
        both = [_Cast(e, wanted) if is_tensor(e) else e for _, e in named]
        if _refuses(rule, both) is False:
            tensors = [(name, each) for name, each in named if is_tensor(each)]
            name, each = tensors[0]
            word = WORDS[(KIND[wanted],)]
            return Unmet(
                "dtype-mismatch",
                f"{{op}} takes {word}, but {{{name}}} is {each.dtype}",
                Place(name),
                None,
                each.dtype,
                wanted,
                tuple(Grant(n, cast(e, wanted)) for n, e in tensors),
            )
    return None
