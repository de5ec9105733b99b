"""Metadata rules for arithmetic, comparison, logical and bitwise operators of two
operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shapewright.operators.metadata_rules import Metadata, Misfit, rule
from shapewright.operators.pointwise.shapes import Family, answer_of
from shapewright.operators.promotion_and_broadcasting import (
    KIND,
    NUMBERS,
    common,
    floated,
    new,
    pointwise,
    unary,
    written,
)
from shapewright.sizes.strides import contiguous


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator of two operands.

    `grads` are the names of grad_fn for (tensor, tensor), (tensor, number) and (number,
    tensor); "-" where torch takes no number there.
    """

    family: Family
    grads: tuple[str, str, str]
    divides: bool = False


def _grad_of(grads: tuple[str, str, str], input: Any, other: Any) -> str:
    """Return the grad_fn name for these operands, or "-" if the call is not covered."""
    if type(other) in NUMBERS:
        return "-" if type(input) in NUMBERS else grads[1]
    return grads[2] if type(input) in NUMBERS else grads[0]


def out_of_place(kind: Binary) -> Metadata:
    """Return the rule of an operator that returns a new tensor."""
    table, grads, divides = kind.family.table(), kind.grads, kind.divides
    same = kind.family.gives == "same" and "f" in kind.family.takes

    def metadata(input: Any, other: Any, *, out: Any = None) -> Any:
        grad_fn = _grad_of(grads, input, other)
        inner = common(input, other)
        if inner is None or grad_fn == "-" or out is not None:
            return NotImplemented
        if divides and other == 0 and KIND[inner] < 2:
            return NotImplemented
        if same and KIND[inner] == 2:
            return pointwise(inner, grad_fn, input, other)
        dtype = table.get(inner)
        if isinstance(dtype, str):
            dtype = dtype or answer_of(table, inner) or ""
            return pointwise(dtype, grad_fn, input, other, common=_inner(inner, dtype))
        if dtype is not None:
            pointwise(inner, grad_fn, input, other)
            answer_of(table, inner)
        return NotImplemented

    return metadata


def _inner(inner: str, dtype: str) -> str:
    """Return the dtype to which operands are converted; `inner` replaces bool."""
    return inner if dtype == "bool" else dtype


def _in_place(kind: Binary) -> Metadata:
    """Return the rule of an operator that writes to its first operand."""
    table, grads, divides = kind.family.table(), kind.grads, kind.divides

    def metadata(input: Any, other: Any) -> Any:
        grad_fn = _grad_of(grads, input, other)
        inner = common(input, other)
        if inner is None or grad_fn == "-" or KIND.get(input.dtype, 3) == 3:
            return NotImplemented
        if divides and other == 0 and KIND[inner] < 2:
            return NotImplemented
        dtype = table.get(inner)
        if dtype is None:
            return NotImplemented
        if isinstance(dtype, Misfit):
            written(input, inner, grad_fn, other)
        return written(input, answer_of(table, inner) or "", grad_fn, other)

    return metadata


_ALL = Family("bihfc")
_NO_BOOL = "ihf"


def _three(name: str, *numbers: int) -> tuple[str, str, str]:
    """Return three grad_fn names with these numbers, as "DivBackward0"; "-" for -1."""
    first, second, third = (
        "-" if number < 0 else f"{name}Backward{number}" for number in numbers
    )
    return first, second, third


_MUL = Binary(_ALL, _three("Mul", 0, 0, 0))
_TRUE_DIV = Binary(Family("bihfc", "float"), _three("Div", 0, 0, 0))
_FLOOR_DIV = Binary(
    Family(_NO_BOOL, "same", "div_floor_cpu"), ("NotImplemented",) * 3, True
)
_REMAINDER = Binary(
    Family(_NO_BOOL, "same", "remainder_cpu"),
    ("RemainderBackward1", "RemainderBackward0", "NotImplemented"),
    True,
)
_FMOD = Binary(Family(_NO_BOOL, "same", "fmod_cpu"), _three("Fmod", 1, 0, -1), True)


def _float_only(name: str, grad: str) -> Binary:
    return Binary(Family("hf", "same", f"{name}_cpu"), _three(grad, 0, -1, -1))


def _extreme(name: str) -> Binary:
    text = f"{name} not implemented for complex tensors."
    refuses = {"c": (text, "RuntimeError")}
    return Binary(Family("bihf", refuses=refuses), _three(name.capitalize(), 0, -1, -1))


def _to_float(name: str, grads: tuple[str, str, str]) -> Binary:
    return Binary(Family("bihf", "float", f"{name}_cpu"), grads)


_TABLE: list[tuple[str, str, Binary]] = [
    ("mul multiply", "FMI", _MUL),
    ("true_divide", "FMI", _TRUE_DIV),
    ("floor_divide", "FMI", _FLOOR_DIV),
    ("remainder", "FMI", _REMAINDER),
    ("fmod", "FMI", _FMOD),
    ("maximum", "FM", _extreme("maximum")),
    ("minimum", "FM", _extreme("minimum")),
    ("fmax", "FM", _extreme("fmax")),
    ("fmin", "FM", _extreme("fmin")),
    ("atan2 arctan2", "FMI", _to_float("atan2", _three("Atan2", 0, -1, -1))),
    ("copysign", "FMI", _to_float("copysign", _three("Copysign", 0, 1, -1))),
    ("hypot", "FMI", _float_only("hypot", "Hypot")),
    (
        "logaddexp",
        "FM",
        Binary(Family("hfc", "same", "logaddexp_cpu"), _three("Logaddexp", 0, -1, -1)),
    ),
    ("logaddexp2", "FM", _float_only("logaddexp2", "Logaddexp2")),
    ("gcd", "FMI", Binary(Family("i", "same", "gcd_cpu"), _three("Gcd", 0, -1, -1))),
    ("lcm", "FMI", Binary(Family("i", "same", "lcm_cpu"), _three("Lcm", 0, -1, -1))),
]

_OPERATORS: list[tuple[str, Binary]] = [
    ("torch.Tensor.__mul__ torch.Tensor.__rmul__", _MUL),
    ("torch.Tensor.__truediv__ torch.Tensor.__div__", _TRUE_DIV),
    ("torch.Tensor.__mod__", _REMAINDER),
    ("torch.Tensor.__floordiv__", _FLOOR_DIV),
    ("torch.xlogy torch.Tensor.xlogy torch.special.xlogy",
     _to_float("xlogy", ("XlogyBackward0", "XlogyBackward2", "XlogyBackward1"))),
]  # fmt: skip

_WRITING_OPERATORS: list[tuple[str, Binary]] = [
    ("torch.Tensor.__imul__", _MUL),
    ("torch.Tensor.__itruediv__ torch.Tensor.__idiv__", _TRUE_DIV),
    ("torch.Tensor.__imod__", _REMAINDER),
    ("torch.Tensor.__ifloordiv__", _FLOOR_DIV),
]


def _register(names: list[str], forms: str, kind: Binary) -> None:
    """Register each name in the `forms` F (torch.x), M (method) and I (method x_)."""
    rule(
        *[f"torch.{name}" for name in names if "F" in forms],
        *[f"torch.Tensor.{name}" for name in names],
    )(out_of_place(kind))
    if "I" in forms:
        rule(*[f"torch.Tensor.{name}_" for name in names], writes=0)(_in_place(kind))


for _names, _forms, _kind in _TABLE:
    _register(_names.split(), _forms, _kind)
for _names, _kind in _OPERATORS:
    rule(*_names.split())(out_of_place(_kind))
for _names, _kind in _WRITING_OPERATORS:
    rule(*_names.split(), writes=0)(_in_place(_kind))


def _reflected(kind: Binary) -> Metadata:
    """Return the rule of an operator that expects its operands in reverse order."""
    metadata = out_of_place(kind)
    return lambda self, other: metadata(other, self)


rule("torch.Tensor.__rfloordiv__")(_reflected(_FLOOR_DIV))
rule("torch.Tensor.__rmod__")(_reflected(_REMAINDER))

_ADD = Binary(_ALL, _three("Add", 0, 0, 0))
_SUB = Binary(_ALL, _three("Sub", 0, 0, 0))


def _check_alpha(alpha: Any, dtype: str) -> None:
    if type(alpha) is bool and dtype != "bool":
        raise Misfit("Boolean alpha only supported for Boolean results.")
    if type(alpha) is float and KIND[dtype] < 2:
        raise Misfit(
            "For integral input tensors, argument alpha must not be a floating point "
            "number."
        )


def _is_bool(value: Any) -> bool:
    kind = type(value)
    return kind is bool if kind in NUMBERS else value.dtype == "bool"


def _check_not_bools(input: Any, other: Any) -> None:
    """Raise `Misfit` for subtraction with bool tensors or numbers."""
    first, second = _is_bool(input), _is_bool(other)
    if not first and not second:
        return
    if first and second:
        raise Misfit(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    raise Misfit(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you "
        "are trying to invert a mask, use the `~` or `logical_not()` operator instead."
    )


def _scaled(kind: Binary, checked: bool, writes: bool) -> Metadata:
    """Return the rule of `input + alpha * other` or `input - alpha * other`."""
    plain = _in_place(kind) if writes else out_of_place(kind)

    def metadata(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        if checked:
            _check_not_bools(input, other)
        output = plain(input, other)
        if output is NotImplemented or out is not None or type(alpha) is complex:
            return NotImplemented
        if alpha != 1 or type(alpha) is not int:
            _check_alpha(alpha, common(input, other) or "")
        return output

    return metadata


rule("torch.add", "torch.Tensor.add", "torch.Tensor.__add__", "torch.Tensor.__radd__")(
    _scaled(_ADD, False, False)
)
rule("torch.Tensor.add_", "torch.Tensor.__iadd__", writes=0)(_scaled(_ADD, False, True))
rule(
    "torch.sub", "torch.Tensor.sub", "torch.subtract", "torch.Tensor.subtract",
    "torch.Tensor.__sub__",
)(_scaled(_SUB, True, False))  # fmt: skip
rule("torch.Tensor.sub_", "torch.Tensor.subtract_", "torch.Tensor.__isub__", writes=0)(
    _scaled(_SUB, True, True)
)
_SUB_REFLECTED = _scaled(
    Binary(_ALL, ("RsubBackward0", "-", "RsubBackward1")), True, False
)


@rule("torch.rsub", "torch.Tensor.__rsub__")
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`."""
    output = _SUB_REFLECTED(other, input, alpha=alpha)
    return output


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
    rule(*[f"{name}_" for name in methods], writes=0)(_differentiable(_in_place(own)))


def _differentiable(metadata: Metadata) -> Metadata:
    """Leave integers written from floats to torch, where autograd is irregular."""

    def leaving(input: Any, other: Any) -> Any:
        if KIND.get(input.dtype, 0) < 2 <= KIND.get(getattr(other, "dtype", "bool"), 0):
            return NotImplemented
        return metadata(input, other)

    return leaving


def _logic(name: str) -> None:
    kind = Binary(Family("bihfc", "bool"), ("", "-", "-"))
    rule(f"torch.{name}", f"torch.Tensor.{name}")(out_of_place(kind))
    rule(f"torch.Tensor.{name}_", writes=0)(_in_place(kind))


def _bits(short: str, name: str, kernel: str, takes: str) -> None:
    kind = Binary(Family(takes, "same", kernel), ("", "", ""))
    forms = [f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.__{short}__"]
    if "shift" not in short:
        forms.append(f"torch.Tensor.__r{short}__")
    rule(*forms)(out_of_place(kind))
    writing = [f"torch.Tensor.{name}_", f"torch.Tensor.__i{short}__"]
    rule(*writing, writes=0)(_in_place(kind))
    if "shift" in short:
        rule(f"torch.Tensor.__r{short}__")(_reflected(kind))


for _names, _kernel in _COMPARISONS.items():
    _compare(_names.split(), _kernel)
for _name in ("logical_and", "logical_or", "logical_xor"):
    _logic(_name)
for _short, _spec in _BITS.items():
    _bits(_short, *_spec)


_TRUE = Binary(Family("bihfc", "float"), ("DivBackward0",) * 3)
_FLOOR = Binary(Family("ihf", "same", "div_floor_cpu"), ("DivBackward2",) * 3, True)
_TRUNC = Binary(Family("ihf", "same", "div_trunc_cpu"), ("DivBackward2",) * 3, True)

_NEW = {
    None: out_of_place(_TRUE), "floor": out_of_place(_FLOOR),
    "trunc": out_of_place(_TRUNC),
}  # fmt: skip
_WRITTEN = {
    None: _in_place(_TRUE), "floor": _in_place(_FLOOR), "trunc": _in_place(_TRUNC)
}  # fmt: skip


def _check_mode(mode: Any) -> None:
    if mode not in _NEW:
        raise Misfit(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
            f"found '{mode}'"
        )


@rule("torch.div", "torch.Tensor.div", "torch.divide", "torch.Tensor.divide")
def div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None
) -> Any:
    """Infer division: true division gives floats, a rounding mode keeps integers."""
    _check_mode(rounding_mode)
    output = _NEW[rounding_mode](input, other, out=out)
    return output


@rule("torch.Tensor.div_", "torch.Tensor.divide_", writes=0)
def div_in_place(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """Infer `div` written into the dividend."""
    _check_mode(rounding_mode)
    output = _WRITTEN[rounding_mode](input, other)
    return output


@rule("torch.Tensor.__rdiv__", "torch.Tensor.__rtruediv__")
def divided_by(self: Any, other: Any) -> Any:
    """Infer `2 / x`, which torch computes as `x.reciprocal() * 2`."""
    if KIND.get(self.dtype, 3) == 3:
        return NotImplemented
    first = unary(self, floated(self.dtype), "ReciprocalBackward0")
    dtype = common(first, other)
    if dtype is None:
        return NotImplemented
    return pointwise(dtype, "MulBackward0", first, other)


def _pow_dtype(base: Any, exponent: Any) -> str | None:
    dtype = common(base, exponent)
    if dtype is None or dtype == "complex32":
        return None
    return dtype


def _check_power(base: Any, exponent: Any) -> None:
    if type(exponent) in (int, bool) and exponent < 0 and KIND[base.dtype] < 2:
        raise Misfit("Integers to negative integer powers are not allowed.")


@rule("torch.pow", "torch.Tensor.pow", "torch.Tensor.__pow__")
def power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """Infer `pow`; with a number as exponent it is an operator of one tensor."""
    if type(exponent) in NUMBERS and type(input) in NUMBERS:
        return NotImplemented
    dtype = _pow_dtype(input, exponent)
    if dtype is None or dtype == "bool" or out is not None:
        return NotImplemented
    if type(exponent) in NUMBERS:
        _check_power(input, exponent)
        return unary(input, dtype, "PowBackward0")
    if type(input) in NUMBERS:
        shape = exponent.shape
        return new(shape, dtype, contiguous(shape), "PowBackward2")
    return pointwise(dtype, "PowBackward1", input, exponent)


@rule("torch.Tensor.__rpow__")
def power_of(self: Any, other: Any) -> Any:
    """`2 ** x`."""
    return power(other, self)


@rule("torch.Tensor.pow_", "torch.Tensor.__ipow__", writes=0)
def power_in_place(input: Any, exponent: Any) -> Any:
    """Infer `pow` written into the base."""
    dtype = _pow_dtype(input, exponent)
    if dtype is None or dtype == "bool" or KIND.get(input.dtype, 3) == 3:
        return NotImplemented
    if type(exponent) in NUMBERS:
        _check_power(input, exponent)
        return written(input, dtype, "PowBackward0")
    return written(input, dtype, "PowBackward1", exponent)
