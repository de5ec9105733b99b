"""Elementwise functions of one tensor: abs, exp, sqrt, floor, isnan and others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shapewright.operators.metadata_rules import Metadata, Misfit, rule, setting
from shapewright.operators.promotion_and_broadcasting import (
    KIND,
    KNOWN,
    LETTER,
    TO_REAL,
    likened,
    no_overlap,
    not_implemented,
    pointwise,
    unary,
    written,
)

Refusals = dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Family:
    """The dtypes that a function accepts and returns.

    `takes` are letters of `LETTER`. `gives` is `same`, `float` (integers become the
    default dtype), `bool`, or `real` (complex becomes real). A dtype not taken is
    refused by `kernel`'s usual message, or by the message that `refuses` has for its
    letter; with neither, the call is left to torch.
    """

    takes: str
    gives: str = "same"
    kernel: str = ""
    refuses: Refusals = field(default_factory=dict)

    def table(self) -> dict[str, str | Misfit]:
        """Return the result for each dtype; "" represents the default dtype."""
        answers: dict[str, str | Misfit] = {}
        for dtype in KNOWN:
            letter = LETTER[dtype]
            if letter in self.takes:
                answers[dtype] = self._given(dtype)
            elif letter in self.refuses:
                answers[dtype] = Misfit(*self.refuses[letter])
            elif self.kernel and letter != "x":
                answers[dtype] = not_implemented(self.kernel, dtype)
        return answers

    def _given(self, dtype: str) -> str:
        if self.gives == "bool":
            return "bool"
        if self.gives == "float":
            return dtype if KIND[dtype] >= 2 else ""
        return TO_REAL.get(dtype, dtype) if self.gives == "real" else dtype


def answer_of(table: dict[str, str | Misfit], dtype: str) -> str | None:
    """Return the result dtype, or None to leave it to torch; raise if rejected."""
    answer = table.get(dtype)
    if answer is None:
        return None
    if isinstance(answer, Misfit):
        raise Misfit(str(answer), answer.error)
    return answer or setting.default_dtype


def _out_of_place(family: Family, grad_fn: str) -> Metadata:
    """Return the rule of a function that returns a new tensor."""
    table, promoted = family.table(), family.gives == "float"

    def metadata(input: Any, *, out: Any = None) -> Any:
        dtype = answer_of(table, input.dtype)
        if dtype is None or out is not None:
            return NotImplemented
        return unary(input, dtype, grad_fn, promoted)

    return metadata


def _in_place(family: Family, grad_fn: str) -> Metadata:
    """Return the rule of a function that writes to its argument."""
    table, first = family.table(), "b" in family.refuses

    def metadata(input: Any) -> Any:
        if input.dtype not in KNOWN or KIND[input.dtype] == 3:
            return NotImplemented
        if input.dtype != "bool" or not first:
            no_overlap(input)
        dtype = answer_of(table, input.dtype)
        return NotImplemented if dtype is None else written(input, dtype, grad_fn)

    return metadata


def _register(family: Family, grad_fn: str, names: list[str], forms: str) -> None:
    """Register names in these `forms`: F torch.x, M method, I method x_, J torch.x_."""
    allocating = [f"torch.{name}" for name in names if "F" in forms]
    allocating += [f"torch.Tensor.{name}" for name in names if "M" in forms]
    wrote = [f"torch.Tensor.{name}_" for name in names if "I" in forms]
    wrote += [f"torch.{name}_" for name in names if "J" in forms]
    rule(*allocating)(_out_of_place(family, grad_fn))
    if wrote:
        rule(*wrote, writes=0)(_in_place(family, _OWN_IN_PLACE.get(grad_fn, grad_fn)))


_OWN_IN_PLACE = {
    f"{name}Backward0": f"{name}Backward1" for name in ("Asinh", "Acosh", "Atanh")
}
"""Functions whose in-place form has its own derivative."""


def _complex_refusal(name: str) -> Refusals:
    text = f"{name} is not supported for complex inputs"
    return {"c": (text, "NotImplementedError")}


_FLOAT = Family("bihfc", "float")
_TESTS = Family("bihfc", "bool")
_ONLY_INTEGERS = (
    "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
)
_NO_NEGATION = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
    "to invert a mask, use the `~` or `logical_not()` operator instead."
)


def _rounding(name: str) -> Family:
    return Family("ihf", "same", f"{name}_vml_cpu", _complex_refusal(name))


def _real_float(kernel: str) -> Family:
    return Family("bihf", "float", kernel)


_FLOAT_GRADS = {
    "exp": "Exp", "exp2": "Exp2", "expm1": "Expm1", "log": "Log", "log2": "Log2",
    "log10": "Log10", "log1p": "Log1P", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "asin arcsin": "Asin", "acos arccos": "Acos",
    "atan arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh",
    "asinh arcsinh": "Asinh", "acosh arccosh": "Acosh", "atanh arctanh": "Atanh",
    "sigmoid": "Sigmoid", "reciprocal": "Reciprocal", "sinc": "Sinc",
}  # fmt: skip
"""Functions that take every dtype and return floats, under all their names."""

_OTHERS: list[tuple[str, str, str, Family]] = [
    ("abs", "FMIJ", "Abs", Family("ihfc", "real", "abs_cpu")),
    ("absolute", "FMI", "Abs", Family("ihfc", "real", "abs_cpu")),
    ("neg negative", "FMIJ", "Neg",
     Family("ihfc", refuses={"b": (_NO_NEGATION, "RuntimeError")})),
    ("floor", "FMIJ", "Floor", _rounding("floor")),
    ("ceil", "FMIJ", "Ceil", _rounding("ceil")),
    ("trunc fix", "FMIJ", "Trunc", _rounding("trunc")),
    ("frac", "FMIJ", "Frac", Family("hf", "same", "frac_cpu")),
    ("sign", "FMI", "Sign", Family("bihf")),
    ("sgn", "FMI", "Sgn", Family("bihfc")),
    ("erf", "FMIJ", "Erf", _real_float("erf_vml_cpu")),
    ("erfc", "FMIJ", "Erfc", _real_float("erfc_vml_cpu")),
    ("erfinv", "FMI", "Erfinv", _real_float("erfinv_vml_cpu")),
    ("lgamma", "FMI", "Lgamma", _real_float("lgamma_vml_cpu")),
    ("digamma", "FMI", "Digamma", _real_float("digamma")),
    ("i0", "FMIJ", "I0", _real_float("i0_vml_cpu")),
    ("signbit", "FM", "", Family("bihf", "bool")),
    ("isposinf isneginf", "FM", "", Family("bihf", "bool")),
    ("isnan", "FM", "", _TESTS),
    ("logical_not", "FMI", "", _TESTS),
    ("bitwise_not", "FMI", "", Family("bi", "same", "bitwise_not_cpu")),
]  # fmt: skip

_SPECIAL = {
    "expit": ("Sigmoid", _FLOAT), "expm1": ("Expm1", _FLOAT), "exp2": ("Exp2", _FLOAT),
    "log1p": ("Log1P", _FLOAT), "sinc": ("Sinc", _FLOAT),
    "erf": ("Erf", _real_float("erf_vml_cpu")),
    "erfc": ("Erfc", _real_float("erfc_vml_cpu")),
    "erfinv": ("Erfinv", _real_float("erfinv_vml_cpu")),
    "gammaln": ("Lgamma", _real_float("lgamma_vml_cpu")),
    "digamma": ("Digamma", _real_float("digamma")),
    "psi": ("Digamma", _real_float("digamma")),
    "i0": ("I0", _real_float("i0_vml_cpu")),
    "i0e": ("SpecialI0E", _real_float("i0e_cpu")),
    "i1": ("SpecialI1", _real_float("i1_cpu")),
    "i1e": ("SpecialI1E", _real_float("i1e_cpu")),
    "entr": ("SpecialEntr", _real_float("entr_cpu")),
}  # fmt: skip


def _register_all() -> None:
    for names, grad in _FLOAT_GRADS.items():
        _register(_FLOAT, f"{grad}Backward0", names.split(), "FMIJ")
    for names, forms, grad, family in _OTHERS:
        _register(family, f"{grad}Backward0" if grad else "", names.split(), forms)
    for name, (grad, family) in _SPECIAL.items():
        rule(f"torch.special.{name}")(_out_of_place(family, f"{grad}Backward0"))
    refused = dict.fromkeys("hfc", (_ONLY_INTEGERS, "TypeError"))
    inverted = Family("bi", refuses=refused)
    rule("torch.Tensor.__invert__")(_out_of_place(inverted, ""))


_register_all()


_ROUND = Family("ihf", "same", "round_vml_cpu").table()
_ROUND_DECIMALS = Family("hf", "same", "round_cpu").table()


@rule("torch.round", "torch.Tensor.round")
def round_(input: Any, *, decimals: int | None = None, out: Any = None) -> Any:
    """Infer rounding to integers, or to `decimals` places, which only floats have."""
    table = _ROUND if decimals is None else _ROUND_DECIMALS
    if out is not None or decimals == 0:
        return NotImplemented
    dtype = answer_of(table, input.dtype)
    if dtype is None:
        return NotImplemented
    return unary(input, dtype, f"RoundBackward{0 if decimals is None else 1}")


@rule("torch.Tensor.round_", "torch.round_", writes=0)
def round_in_place(input: Any, *, decimals: int | None = None) -> Any:
    """Infer `round` written to its argument."""
    no_overlap(input)
    output = round_(input, decimals=decimals)
    return (
        output
        if output is NotImplemented
        else written(input, output.dtype, output.grad_fn)
    )


@rule("torch.square", "torch.Tensor.square")
def square(input: Any, *, out: Any = None) -> Any:
    """Infer `pow(x, 2)`: bools become int64."""
    if input.dtype not in KNOWN or input.dtype == "complex32" or out is not None:
        return NotImplemented
    dtype = "int64" if input.dtype == "bool" else input.dtype
    return unary(input, dtype, "PowBackward0")


@rule("torch.Tensor.square_", "torch.square_", writes=0)
def square_in_place(input: Any) -> Any:
    """Infer `square` written to its argument."""
    if input.dtype not in KNOWN or KIND[input.dtype] == 3:
        return NotImplemented
    dtype = "int64" if input.dtype == "bool" else input.dtype
    return written(input, dtype, "PowBackward0")


@rule("torch.logit", "torch.Tensor.logit", "torch.special.logit")
def logit(input: Any, eps: float | None = None, *, out: Any = None) -> Any:
    """Infer the inverse of `sigmoid`."""
    dtype = answer_of(_LOGIT, input.dtype)
    if dtype is None or out is not None:
        return NotImplemented
    return unary(input, dtype, "LogitBackward0")


_LOGIT = _real_float("logit_cpu").table()


@rule("torch.nan_to_num", "torch.Tensor.nan_to_num")
def nan_to_num(
    input: Any,
    nan: Any = None,
    posinf: Any = None,
    neginf: Any = None,
    *,
    out: Any = None,
) -> Any:
    """Infer a result with the dtype of the input, whatever the replacements are."""
    if out is not None or input.dtype not in KNOWN or KIND[input.dtype] == 3:
        return NotImplemented
    return likened(input, input.dtype, "NanToNumBackward0")


def _test_for_infinity(finite: bool) -> Metadata:
    def metadata(input: Any) -> Any:
        """Infer `abs(x) == inf` as torch does; `isfinite` multiplies by `x == x`."""
        kind = KIND.get(input.dtype, 3)
        if kind < 2:
            return likened(input, "bool", "")
        if kind == 3:
            return NotImplemented
        size = unary(input, input.dtype, "")
        infinite = pointwise("bool", "", size, 1.0, common="")
        if not finite:
            return infinite
        return pointwise("bool", "", pointwise("bool", "", input, common=""), infinite)

    return metadata


rule("torch.isinf", "torch.Tensor.isinf")(_test_for_infinity(False))
rule("torch.isfinite", "torch.Tensor.isfinite")(_test_for_infinity(True))


def _degrees(name: str, grad_fn: str) -> None:
    def metadata(input: Any) -> Any:
        if KIND.get(input.dtype, 3) == 3:
            return NotImplemented
        dtype = input.dtype if KIND[input.dtype] == 2 else setting.default_dtype
        return likened(input, dtype, grad_fn)

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_degrees("deg2rad", "Deg2RadBackward0")
_degrees("rad2deg", "Rad2DegBackward0")
