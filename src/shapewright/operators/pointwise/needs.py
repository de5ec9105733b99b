"""Checks of operators that broadcast their operands, aligned from the right, and of
`clamp`, `lerp`, `addcmul`, string formatting and other pointwise functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    CHANNEL_MISMATCH,
    DTYPE_MISMATCH,
    IN_PLACE_TOO_SMALL,
    WRONG_RANK,
)
from shapewright.operators.dtype_needs import (
    no_bools,
    no_complex,
    of_dtypes,
    real_floats,
    some_float,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import RULES, Made, Meta, Rule
from shapewright.operators.need_checks import (
    Shape,
    cast,
    dtype_unmet,
    is_tensor,
    lined_up,
    same_dtype,
    text,
    word,
)
from shapewright.operators.needs_registry import NEEDS, both, named, needs
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    KIND,
    KNOWN,
    result_type,
)

FAMILIES = ("arithmetic_shapes",)
SUBTRACTIONS = frozenset("sub subtract __sub__ rsub __rsub__ sub_ __isub__".split())
BITWISE = frozenset(
    f"{before}{name}{after}"
    for name in ("and", "or", "xor")
    for before, after in (
        ("bitwise_", ""),
        ("bitwise_", "_"),
        ("__", "__"),
        ("__r", "__"),
        ("__i", "__"),
    )
)


def _register() -> None:
    """Register a check for each rule of two operands: `+`, `torch.maximum`, `lt_`."""
    for rule in {id(rule): rule for rule in RULES.values()}.values():
        family = rule.metadata.__module__.rpartition(".")[2]
        names = list(inspect.signature(rule.metadata).parameters)[:2]
        if family not in FAMILIES or names[1:] not in (["other"], ["exponent"]):
            continue
        word = rule.names[0].rpartition(".")[2]
        left = [name for name in rule.names if name not in NEEDS]
        if left:
            needs(*left)(_of_two(word, rule, *names))


def _of_two(word: str, rule: Rule, first: str, second: str) -> Any:
    """Return the check of an operator of two operands."""
    writes = rule.writes is not None

    def asked(left: Any, right: Any) -> Unmet | None:
        named = [(first, left), (second, right)]
        wrong = broadcast(named)
        if wrong is None and writes:
            wrong = into(left, right, first, second)
        return wrong or _of_kinds(word, named, writes) or of_dtypes(rule, *named)

    def binary(input: Any, other: Any, **options: Any) -> Unmet | None:
        return asked(input, other)

    def reflected(self: Any, other: Any, **options: Any) -> Unmet | None:
        return asked(self, other)

    def power(input: Any, exponent: Any, **options: Any) -> Unmet | None:
        return asked(input, exponent)

    if second == "exponent":
        return power
    return binary if first == "input" else reflected


def broadcast(named: Sequence[tuple[str, Any]]) -> Unmet | None:
    """Check that sizes aligned from the right are equal or that one of them is 1."""
    tensors = [(name, operand) for name, operand in named if is_tensor(operand)]
    for at, (other, second) in enumerate(tensors):
        for name, first in tensors[:at]:
            if clash(first.shape, second.shape) is not None:
                return _unlined(name, first, other, second)
    return None


def clash(shape: Shape, other_shape: Shape) -> int | None:
    """Return the first dim, counted from the right, that cannot broadcast, or None."""
    for back in range(1, min(len(shape), len(other_shape)) + 1):
        if shape[-back] != other_shape[-back] and 1 not in (
            shape[-back],
            other_shape[-back],
        ):
            return back
    return None


def _unlined(name: str, first: Meta, other: str, second: Meta) -> Unmet:
    """Return the `Unmet` of two operands that cannot be broadcast."""
    back = clash(first.shape, second.shape)
    assert back is not None
    x, y = first.shape[-back], second.shape[-back]
    message = (
        f"{{op}} cannot line up {word(name)} {text(first.shape)} with {word(other)}"
        f" {text(second.shape)}: {x} against {y}"
    )
    at, grant, sure = other, _fitted(first.shape, second), False
    for here, small, large in ((other, second, first), (name, first, second)):
        size = len(small.shape)
        if size < len(large.shape) and large.shape[:size] == small.shape:
            fitting = (*small.shape, *(1,) * (len(large.shape) - size))
            at, grant, sure = here, Made(fitting, small.dtype), True
            message += f"; {word(here)} is missing trailing dims"
            break
    return Unmet(
        BROADCAST_MISMATCH,
        message,
        Place(other, len(second.shape) - back),
        Place(name, len(first.shape) - back),
        y,
        x,
        (Grant(at, grant),),
        guessed=not sure,
        lines=lined_up([(name, first.shape), (other, second.shape)]),
    )


def _fitted(shape: Shape, meta: Meta) -> Made:
    """Return a tensor with sizes that do not broadcast replaced by those of `shape`."""
    sizes = list(meta.shape)
    for back in range(1, min(len(shape), len(sizes)) + 1):
        if sizes[-back] != shape[-back] and 1 not in (sizes[-back], shape[-back]):
            sizes[-back] = shape[-back]
    return Made(tuple(sizes), meta.dtype)


def into(
    input: Meta, other: Any, first: str = "input", name: str = "other"
) -> Unmet | None:
    """Check that a tensor written in place keeps its shape."""
    if not is_tensor(other):
        return None
    mine, theirs = input.shape, other.shape
    extra = len(theirs) - len(mine)
    for back in range(1, len(theirs) + 1):
        size = theirs[-back]
        own = mine[-back] if back <= len(mine) else None
        if own == size or (size == 1 and own is not None):
            continue
        if own is None and extra > 0:
            what = f"{{{name}}} has {extra} more"
            what += " dim" if extra == 1 else " dims"
        else:
            what = f"{size} into {own}"
        return Unmet(
            IN_PLACE_TOO_SMALL,
            f"{{op}} writes into {{{first}}} {text(mine)}, which cannot grow to the"
            f" result with {{{name}}} {text(theirs)}: {what}",
            Place(name, len(theirs) - back),
            Place(first, len(mine) - back) if own is not None else None,
            size,
            own,
            (Grant(name, Made(mine, other.dtype)),),
            guessed=True,
            lines=lined_up([(first, mine), (name, theirs)]),
        )
    return None


def _of_kinds(word: str, named: list[tuple[str, Any]], writes: bool) -> Unmet | None:
    """Check that the dtypes allow the operator, and the result an in-place write."""
    tensors = [(name, operand) for name, operand in named if is_tensor(operand)]
    if any(tensor.dtype not in KNOWN for _, tensor in tensors):
        return None
    if word in SUBTRACTIONS:
        wrong = _subtraction(named, tensors)
        if wrong is not None:
            return wrong
    if word in BITWISE:
        for name, tensor in tensors:
            if KIND[tensor.dtype] > 1:
                why = "{op} expects integers or bools"
                return dtype_unmet(name, tensor, "bool", why)
    if writes and word in WRITTEN:
        return _kept(word, named)
    return None


WRITTEN = frozenset(
    "add_ sub_ subtract_ mul_ multiply_ __iadd__ __isub__ __imul__ __itruediv__ div_"
    " divide_ true_divide_ __idiv__".split()
)


def _subtraction(
    named: list[tuple[str, Any]], tensor_operands: list[tuple[str, Any]]
) -> Unmet | None:
    """Check that no operand of a subtraction is bool, as in `1 - mask`."""
    values = [value for _, value in named]
    bools = [pair for pair in tensor_operands if pair[1].dtype == "bool"]
    plain = any(type(value) is bool for value in values)
    if not bools:
        return None
    tensors = [tensor.dtype for _, tensor in tensor_operands]
    floats = any(dtype in FLOATING for dtype in tensors) or any(
        type(value) is float for value in values
    )
    wanted = "float32" if floats else "int64"
    name, meta = bools[0]
    return (
        Unmet(
            DTYPE_MISMATCH,
            f"{{op}} does not support bools, but {{{name}}} is bool; `~` inverts a "
            f"mask",
            Place(name),
            None,
            "bool",
            wanted,
            tuple(Grant(n, cast(m, wanted)) for n, m in bools),
        )
        if not plain
        else dtype_unmet(name, meta, wanted, "{op} does not support bools")
    )


def _kept(word: str, named: list[tuple[str, Any]]) -> Unmet | None:
    """Check that the result fits the dtype of the tensor that is written in place."""
    (name, input), (other, second) = named
    result = result_type(input, second)
    divides = word in ("__itruediv__", "div_", "divide_", "true_divide_", "__idiv__")
    if divides and result is not None and KIND[result] < 2:
        result = "float32"
    if result is None or KIND[result] <= KIND[input.dtype]:
        return None
    return Unmet(
        DTYPE_MISMATCH,
        f"{{op}} writes {result} into {{{name}}}, which stays {input.dtype}",
        Place(name),
        Place(other) if is_tensor(second) else None,
        input.dtype,
        result,
        (Grant(name, cast(input, result)),),
    )


_register()


@needs("torch.where")
def where(condition: Any, input: Any = None, other: Any = None) -> Unmet | None:
    """Check that the three operands broadcast and that the condition is bool."""
    return _of_where([("condition", condition), ("input", input), ("other", other)])


@needs("torch.Tensor.where")
def tensor_where(self: Any, condition: Any, other: Any) -> Unmet | None:
    """Check `self.where(condition, other)`: all broadcast and the condition is bool."""
    return _of_where([("condition", condition), ("self", self), ("other", other)])


def _of_where(named: list[tuple[str, Any]]) -> Unmet | None:
    """Check that the operands broadcast and that the condition is bool or uint8."""
    wrong = broadcast(named)
    condition = named[0][1]
    if wrong is None and condition.dtype not in ("bool", "uint8"):
        why = "{op} expects a bool condition"
        return dtype_unmet("condition", condition, "bool", why)
    return wrong


@needs("torch.masked_fill", "torch.Tensor.masked_fill_")
def masked_fill(input: Meta, mask: Meta, value: Any) -> Unmet | None:
    """Check that the mask is bool and broadcasts to the input."""
    if mask.dtype != "bool":
        return dtype_unmet("mask", mask, "bool", "{op} expects a bool mask")
    if is_tensor(value) and value.shape:
        return Unmet(
            WRONG_RANK,
            f"{{op}} fills with one value, got {{value}} {text(value.shape)}:"
            " `torch.where` chooses between tensors",
            Place("value"),
            has=len(value.shape),
            needs=0,
            grants=(Grant("value", Made((), value.dtype)),),
        )
    return broadcast([("input", input), ("mask", mask)])


@needs("torch.masked_select")
def masked_select(input: Meta, mask: Meta, **options: Any) -> Unmet | None:
    """Check that the mask is bool and broadcasts with the input."""
    if mask.dtype != "bool":
        return dtype_unmet("mask", mask, "bool", "{op} expects a bool mask")
    return broadcast([("input", input), ("mask", mask)])


@needs("torch.Tensor.copy_")
def copy_(self: Meta, src: Meta, non_blocking: bool = False) -> Unmet | None:
    """Check that `src` broadcasts to `self`."""
    return into(self, src, "self", "src")


@needs("torch.functional.broadcast_tensors", "torch.broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> Unmet | None:
    """Check that all tensors broadcast with each other."""
    return broadcast([(f"tensors.{n}", tensor) for n, tensor in enumerate(tensors)])


@needs("torch.prelu")
def prelu(input: Meta, weight: Meta) -> Unmet | None:
    """Check that there is a single slope, or one for each channel in dim 1."""
    if len(weight.shape) != 1 or weight.shape[0] == 1 or not input.shape:
        return None
    at = 1 if len(input.shape) > 1 else 0
    have = input.shape[at] if len(input.shape) > 1 else 1
    if have == weight.shape[0] or len(input.shape) < 2:
        return None
    return Unmet(
        CHANNEL_MISMATCH,
        f"{{op}} has {weight.shape[0]} slopes, one a channel, got {have} channels"
        f" in dim 1 of {{input}} {text(input.shape)}",
        Place("input", at),
        Place("weight", 0),
        have,
        weight.shape[0],
        (
            Grant(
                "input",
                Made((input.shape[0], weight.shape[0], *input.shape[2:]), input.dtype),
            ),
        ),
    )


# -- clamp, lerp, addcmul and others ---------------------------------------------------


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
    """Accept all dtypes."""
    return None


def _real(*named: Any) -> Unmet | None:
    """Check that the dtypes are real and that at least one is a float."""
    return no_complex(*named) or some_float(*named)


def _one_real(*named: Any) -> Unmet | None:
    """Check that the tensors are real and have the same dtype."""
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
        operands = ("input", input), ("other", other)
        return broadcast(operands) or check(*(p for p in operands if is_tensor(p[1])))

    names = (f"torch.{word}",) if "." in word else both(word)
    needs(*named(*names))(aligned)


for _word, _check in PAIRS.items():
    _pair(_word, _check)


@needs("torch.complex", "torch.polar")
def complex_parts(real: Meta, imag: Any, **options: Any) -> Unmet | None:
    """Check that both operands broadcast and have the same float dtype."""
    operands = ("real", real), ("imag", imag)
    return broadcast(operands) or real_floats(*operands) or same_dtype(*operands)


@needs("torch.lerp")
def lerp(input: Meta, end: Meta, weight: Any) -> Unmet | None:
    """Check that both ends and the weight broadcast and share a float dtype."""
    operands = [("input", input), ("end", end), ("weight", weight)]
    tensors = [pair for pair in operands if is_tensor(pair[1])]
    return broadcast(operands) or some_float(*tensors) or same_dtype(*tensors)


@needs("torch.Tensor.lerp_")
def lerp_(input: Meta, end: Meta, weight: Any) -> Unmet | None:
    """Check `lerp` written to `input`."""
    wrong = broadcast([("input", input), ("end", end), ("weight", weight)])
    wrong = wrong or into(input, end, "input", "end")
    return wrong or into(input, weight, "input", "weight") or lerp(input, end, weight)


@needs("torch.addcmul")
def addcmul(input: Meta, tensor1: Any, tensor2: Any, **options: Any) -> Unmet | None:
    """Check that the three operands broadcast and are not all bool."""
    operands = ("input", input), ("tensor1", tensor1), ("tensor2", tensor2)
    wrong = broadcast(operands)
    if wrong is None and all(tensor.dtype == "bool" for _, tensor in operands):
        return no_bools(operands[0])
    return wrong


@needs("torch.addcdiv")
def addcdiv(input: Meta, tensor1: Any, tensor2: Any, **options: Any) -> Unmet | None:
    """Check that the three operands broadcast and that the division is of floats."""
    operands = ("tensor1", tensor1), ("tensor2", tensor2)
    return broadcast((("input", input), *operands)) or some_float(*operands)


def _added_in_place(check: Check) -> Check:
    """Return the in-place form of a check of addcmul or addcdiv."""

    def written(
        input: Meta, tensor1: Any, tensor2: Any, **options: Any
    ) -> Unmet | None:
        wrong = check(input, tensor1, tensor2)
        for name, tensor in (("tensor1", tensor1), ("tensor2", tensor2)):
            wrong = wrong or into(input, tensor, "input", name)
        for name, tensor in (("tensor1", tensor1), ("tensor2", tensor2)):
            wrong = wrong or _kept("", [("input", input), (name, tensor)])
        return wrong

    return written


needs("torch.Tensor.addcmul_")(_added_in_place(addcmul))
needs("torch.Tensor.addcdiv_")(_added_in_place(addcdiv))


@needs("torch.clamp")
def clamp(
    input: Meta, min: Any = None, max: Any = None, **options: Any
) -> Unmet | None:
    """Check that the bounds are real and broadcast with the input."""
    operands = [("input", input), ("min", min), ("max", max)]
    wrong = broadcast(operands) or no_complex(*operands)
    tensors = [operand for _, operand in operands if is_tensor(operand)]
    if wrong is None and all(tensor.dtype == "bool" for tensor in tensors):
        return no_bools(operands[0])
    return wrong


@needs("torch.clamp_")
def clamp_(input: Meta, min: Any = None, max: Any = None) -> Unmet | None:
    """Check `clamp` written to the input."""
    wrong = clamp(input, min, max)
    for name, bound in (("min", min), ("max", max)):
        wrong = wrong or into(input, bound, "input", name)
        if is_tensor(bound):
            wrong = wrong or _kept("", [("input", input), (name, bound)])
    return wrong
