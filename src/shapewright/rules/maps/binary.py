"""Index maps of operators of two or three tensors and numbers, which are broadcast."""

from __future__ import annotations

from typing import Any

from shapewright.dims.expression import number
from shapewright.rules.broadcasting import broadcast
from shapewright.rules.maps.index_map import (
    Element,
    Equal,
    IndexMap,
    NotDrawn,
    Read,
    constant,
    index_map,
)
from shapewright.rules.maps.lettering import MOST, operand, stretched
from shapewright.rules.meta import Meta

PLAIN = {
    "add": "add", "sub subtract": "sub", "mul multiply": "mul",
    "div divide": "div", "true_divide": "true_divide", "floor_divide": "floor_divide",
    "remainder": "remainder", "fmod": "fmod", "maximum": "maximum",
    "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "atan2 arctan2": "atan2",
    "copysign": "copysign", "hypot": "hypot", "logaddexp": "logaddexp",
    "logaddexp2": "logaddexp2", "gcd": "gcd", "lcm": "lcm", "eq": "eq",
    "ne not_equal": "ne", "lt less": "lt", "le less_equal": "le", "gt greater": "gt",
    "ge greater_equal": "ge", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift", "xlogy": "xlogy", "ldexp": "ldexp",
    "nextafter": "nextafter", "isclose": "isclose", "rsub": "rsub", "igamma": "igamma",
    "igammac": "igammac",
}  # fmt: skip
"""Names of `torch.x` and `torch.Tensor.x`, and the function that they stand for."""

OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "div": "div",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift", "pow": "pow",
}  # fmt: skip
"""`__add__`, `__radd__`, `__iadd__`."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SPECIAL = """xlogy xlog1py zeta gammainc gammaincc chebyshev_polynomial_t
chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w"""

SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "true_divide": "/",
    "floor_divide": "//", "remainder": "%", "pow": "**", "eq": "==", "ne": "!=",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "bitwise_and": "&",
    "bitwise_or": "|", "bitwise_xor": "^", "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>",
}  # fmt: skip


def spread(
    function: str, operands: dict[str, Any], options: dict[str, Any], said: str = ""
) -> Any:
    """The map of a function of operands that are broadcast."""
    shapes = [tuple(x.shape) for x in operands.values() if hasattr(x, "shape")]
    if not shapes:
        return NotDrawn("both of its operands are numbers")
    shape = broadcast(*shapes)
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    return IndexMap(
        shape,
        tuple(operand(name, value, shape) for name, value in operands.items()),
        term=function,
        options=tuple((key, value) for key, value in options.items()),
        sentence=f"{said or f'`{function}`'} {_lined_up(shapes, shape)}",
    )


def _lined_up(shapes: list[tuple[int, ...]], shape: tuple[int, ...]) -> str:
    if all(one == shape for one in shapes):
        return "of the elements at the same place."
    sizes = " and ".join(map(str, shapes))
    return (
        f"of elements lined up from the last dim: {sizes} give {shape}, sizes of "
        "1 being read again and again."
    )


def of_two(function: str, reflected: bool = False) -> Any:
    """The maker of a function of two operands; `reflected` has them exchanged."""

    def make(input: Any, other: Any, **options: Any) -> Any:
        options.pop("out", None)
        sign = f"`{SIGNS[function]}`" if function in SIGNS and not options else ""
        operands = {"input": input, "other": other}
        if reflected:
            operands = {"other": other, "input": input}
        return spread(function, operands, options, sign)

    return make


def register() -> None:
    """Register the functions of two under all their names."""
    for names, function in PLAIN.items():
        for name in names.split():
            forms = (f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.{name}_")
            index_map(*forms)(of_two(function))
    for name in SPECIAL.split():
        index_map(f"torch.special.{name}")(of_two(name))
    for name, function in OPERATORS.items():
        index_map(f"torch.Tensor.__{name}__", f"torch.Tensor.__i{name}__")(
            of_two(function)
        )
        reflected = function not in ("add", "mul")
        index_map(f"torch.Tensor.__r{name}__")(of_two(function, reflected))
    for name in COMPARISONS:
        index_map(f"torch.Tensor.__{name}__")(of_two(name))


register()


def power(function: str) -> Any:
    """The maker of the map of `input ** exponent`."""

    def make(input: Any, exponent: Any, *, out: Any = None) -> Any:
        operands = {"input": input, "exponent": exponent}
        return spread(function, operands, {}, "`**`")

    return make


for _name in ("pow", "float_power"):
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}", f"torch.Tensor.{_name}_")(
        power(_name)
    )


@index_map("torch.heaviside", "torch.Tensor.heaviside", "torch.Tensor.heaviside_")
def heaviside(input: Any, values: Any, *, out: Any = None) -> Any:
    return spread("heaviside", {"input": input, "values": values}, {})


@index_map("torch.polar")
def polar(abs: Any, angle: Any, *, out: Any = None) -> Any:
    return spread("polar", {"abs": abs, "angle": angle}, {})


@index_map("torch.complex")
def complex_(real: Any, imag: Any, *, out: Any = None) -> Any:
    return spread("complex", {"real": real, "imag": imag}, {})


@index_map("torch.lerp", "torch.Tensor.lerp", "torch.Tensor.lerp_")
def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    said = "input + weight * (end - input)"
    return spread("lerp", {"input": input, "end": end, "weight": weight}, {}, said)


def of_three(name: str, sign: str) -> Any:
    """The maker of addcmul's and addcdiv's map."""

    def make(
        input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None
    ) -> Any:
        operands = {"input": input, "tensor1": tensor1, "tensor2": tensor2}
        times = "" if value == 1 else f"{value} * "
        said = f"input + {times}tensor1 {sign} tensor2"
        return spread(name, operands, {"value": value} if value != 1 else {}, said)

    return make


for _name, _sign in (("addcmul", "*"), ("addcdiv", "/")):
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}", f"torch.Tensor.{_name}_")(
        of_three(_name, _sign)
    )


@index_map("torch.where")
def where(condition: Meta, input: Any = None, other: Any = None) -> Any:
    if input is None or other is None:
        return NotDrawn("its output's size depends on the values")
    return chosen("condition", condition, ("input", input), ("other", other))


@index_map("torch.Tensor.where")
def where_method(self: Any, condition: Meta, other: Any) -> Any:
    return chosen("condition", condition, ("self", self), ("other", other))


@index_map("torch.masked_fill", "torch.Tensor.masked_fill", "torch.Tensor.masked_fill_")
def masked_fill(input: Meta, mask: Meta, value: Any) -> Any:
    return chosen("mask", mask, ("value", value), ("input", input))


def chosen(
    name: str, condition: Meta, one: tuple[str, Any], other: tuple[str, Any]
) -> Any:
    """The element of `one` where the condition holds, else of `other`."""
    if condition.dtype != "bool":
        return NotDrawn(f"its {name} is not of bools")
    given = [condition, one[1], other[1]]
    shape = broadcast(*(tuple(x.shape) for x in given if hasattr(x, "shape")))
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    asked = Element(name, stretched(tuple(condition.shape), shape))
    first = operand(*one, shape)
    when = (Equal(asked, number(1)),)
    if hasattr(one[1], "shape"):
        first = Read(first.tensor, first.indices, when)
    else:
        first = constant(one[1], when)
    words = [x if hasattr(v, "shape") else str(v) for x, v in (one, other)]
    sentence = (
        f"`{words[0]}` where `{name}` is true, else `{words[1]}`, place by place."
    )
    return IndexMap(shape, (first, operand(*other, shape)), sentence=sentence)
