"""Index maps of pointwise functions of one, two or three tensors."""

from __future__ import annotations

from typing import Any

from shapewright.index_maps.index_expressions import (
    MOST,
    build_broadcast_index,
    operand,
)
from shapewright.index_maps.index_map import (
    Element,
    Equal,
    IndexMap,
    NotDrawn,
    Read,
    Then,
    constant,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.promotion_and_broadcasting import broadcast
from shapewright.sizes.expressions import Expression, number

FUNCTIONS = """
abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan
atanh arctanh bitwise_not ceil conj conj_physical cos cosh deg2rad digamma erf
erfc erfinv exp exp2 expm1 fix floor frac i0 imag isfinite isinf isnan isneginf
isposinf isreal lgamma log log10 log1p log2 logical_not logit mvlgamma nan_to_num neg
negative rad2deg real reciprocal resolve_conj resolve_neg round rsqrt sgn
sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc relu selu celu
hardshrink
"""
"""Functions that exist as `torch.x`, and mostly as methods and in place too."""

SPECIAL = """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv
exp2 expit expm1 gammaln i0 i0e i1 i1e log1p log_ndtr logit modified_bessel_i0
modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri psi
round scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0
"""

ACTIVATIONS = """
celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu
relu6 selu sigmoid silu softplus softshrink softsign tanh tanhshrink threshold
"""

WORDS = {
    "abs": "its value without the sign",
    "neg": "its negative",
    "relu": "itself where it is positive, else 0",
    "sigmoid": "1 / (1 + exp(-x))",
    "square": "its square",
    "reciprocal": "1 / x",
    "silu": "x * sigmoid(x)",
    "isnan": "whether it is NaN",
}


def _names_of(name: str) -> list[str]:
    """Return all names of `torch.x`; some of them may not exist in torch."""
    return [f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.{name}_",
            f"torch.{name}_"]  # fmt: skip


def _of_one(function: str) -> Any:
    """Return the map maker of a function of one tensor, with numbers after `input`."""

    def make(input: Meta, *numbers: Any, **options: Any) -> Any:
        options.pop("inplace", None)
        options.pop("out", None)
        plain_numbers = [number for number in numbers if type(number) is not bool]
        return _mapped(function, input, plain_numbers, options)

    return make


def _mapped(
    function: str, input: Meta, numbers: list[Any], options: dict[str, Any]
) -> Any:
    """Return the map of `function(input[i, j], *numbers, **options)`."""
    if not hasattr(input, "shape"):
        return NotDrawn("its first argument is a number")
    shape = tuple(input.shape)
    values = (*numbers, *options.values())
    if any(hasattr(value, "shape") or isinstance(value, list) for value in values):
        return NotDrawn("a tensor stands where a number is usual")
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    reads = (Read("input", out_letters(len(shape))), *map(constant, numbers))
    description = WORDS.get(function, f"`{function}` of it")
    return IndexMap(
        shape,
        reads,
        term=function,
        options=tuple(options.items()),
        sentence=f"Each output element reads the one at its own place: {description}.",
    )


def _register_unary_maps() -> None:
    """Register the map of each function of one tensor once, under all its names."""
    functional = [f"torch.nn.functional.{name}" for name in ACTIVATIONS.split()]
    taken: dict[str, str] = {}
    for name in FUNCTIONS.split():
        taken |= dict.fromkeys(_names_of(name), name)
    for name in SPECIAL.split():
        taken[f"torch.special.{name}"] = name
    for full in functional:
        name = full.rpartition(".")[2]
        taken |= dict.fromkeys((full, f"{full}_", f"torch._C._nn.{name}"), name)
    taken["torch.Tensor.__neg__"] = "neg"
    taken["torch.Tensor.__abs__"] = "abs"
    taken["torch.Tensor.__invert__"] = "bitwise_not"
    taken["torch._C._nn.log_sigmoid"] = "logsigmoid"
    taken["torch.nn.functional._threshold"] = "threshold"
    for full, name in taken.items():
        index_map(full)(_of_one(name))


_register_unary_maps()


@index_map("torch.polygamma", "torch.special.polygamma")
def polygamma(n: int, input: Meta, *, out: Any = None) -> Any:
    shape = tuple(input.shape)
    reads = (constant(n), Read("input", out_letters(len(shape))))
    words = f"Each output element is the derivative {n} of digamma at its own place."
    return IndexMap(shape, reads, term="polygamma", sentence=words)


@index_map(
    "torch.clamp", "torch.Tensor.clamp", "torch.Tensor.clamp_", "torch.clamp_",
    "torch.clip", "torch.Tensor.clip", "torch.Tensor.clip_", "torch.clip_",
)  # fmt: skip
def clamp(input: Meta, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    bounds = {"min": min, "max": max}
    bounds_set = {name: bound for name, bound in bounds.items() if bound is not None}
    shape = tuple(input.shape)
    for bound in bounds_set.values():
        if hasattr(bound, "shape") and tuple(bound.shape) != shape:
            shape = broadcast(shape, tuple(bound.shape))
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    reads = [operand("input", input, shape)]
    reads += [operand(name, bound, shape) for name, bound in bounds_set.items()]
    function = "clamp" if len(bounds_set) == 2 else f"clamp_{next(iter(bounds_set))}"
    limits = " and ".join(
        f"{'at least' if name == 'min' else 'at most'} "
        f"{'`' + name + '`' if hasattr(bound, 'shape') else bound}"
        for name, bound in bounds_set.items()
    )
    words = f"Each output element is the input's at its own place, but {limits}."
    return IndexMap(shape, tuple(reads), term=function, sentence=words)


@index_map(
    "torch.clamp_min", "torch.Tensor.clamp_min", "torch.Tensor.clamp_min_",
    "torch.clamp_min_",
)  # fmt: skip
def clamp_min(input: Meta, min: Any, *, out: Any = None) -> Any:
    return clamp(input, min)


@index_map(
    "torch.clamp_max", "torch.Tensor.clamp_max", "torch.Tensor.clamp_max_",
    "torch.clamp_max_",
)  # fmt: skip
def clamp_max(input: Meta, max: Any, *, out: Any = None) -> Any:
    return clamp(input, None, max)


@index_map("torch.nn.functional.glu", "torch._C._nn.glu")
def glu(input: Meta, dim: int = -1) -> Any:
    shape = list(input.shape)
    dim %= len(shape)
    shape[dim] //= 2
    letters = out_letters(len(shape))
    gate: list[Expression] = list(letters)
    gate[dim] = letters[dim] + shape[dim]
    words = (
        f"Dim {dim} is cut in two: each element of the first half is multiplied by "
        f"`sigmoid` of the one {shape[dim]} further."
    )
    return IndexMap(
        tuple(shape),
        (Read("input", tuple(gate)),),
        then=(Then("sigmoid"), Then("mul", (Read("input", letters),))),
        sentence=words,
    )


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
"""Names of `torch.x` and `torch.Tensor.x`, mapped to their function."""

OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "div": "div",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift", "pow": "pow",
}  # fmt: skip
"""Operator names, as in `__add__`, `__radd__` and `__iadd__`."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SPECIAL_OF_TWO = """xlogy xlog1py zeta gammainc gammaincc chebyshev_polynomial_t
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
    function: str,
    operands: dict[str, Any],
    options: dict[str, Any],
    description: str = "",
) -> Any:
    """Return the map of a function of broadcast operands."""
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
        sentence=f"{description or f'`{function}`'} {_lined_up(shapes, shape)}",
    )


def _lined_up(shapes: list[tuple[int, ...]], shape: tuple[int, ...]) -> str:
    if all(operand_shape == shape for operand_shape in shapes):
        return "of the elements at the same place."
    sizes = " and ".join(map(str, shapes))
    return (
        f"of elements lined up from the last dim: {sizes} give {shape}, sizes of "
        "1 being read again and again."
    )


def _of_two(function: str, reflected: bool = False) -> Any:
    """Return the map maker of two operands, which `reflected` exchanges."""

    def make(input: Any, other: Any, **options: Any) -> Any:
        options.pop("out", None)
        sign = f"`{SIGNS[function]}`" if function in SIGNS and not options else ""
        operands = {"input": input, "other": other}
        if reflected:
            operands = {"other": other, "input": input}
        return spread(function, operands, options, sign)

    return make


def _register_binary_maps() -> None:
    """Register the functions of two operands under all their names."""
    for names, function in PLAIN.items():
        for name in names.split():
            forms = (f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.{name}_")
            index_map(*forms)(_of_two(function))
    for name in SPECIAL_OF_TWO.split():
        index_map(f"torch.special.{name}")(_of_two(name))
    for name, function in OPERATORS.items():
        index_map(f"torch.Tensor.__{name}__", f"torch.Tensor.__i{name}__")(
            _of_two(function)
        )
        reflected = function not in ("add", "mul")
        index_map(f"torch.Tensor.__r{name}__")(_of_two(function, reflected))
    for name in COMPARISONS:
        index_map(f"torch.Tensor.__{name}__")(_of_two(name))


_register_binary_maps()


def _power(function: str) -> Any:
    """Return the map maker of `input ** exponent`."""

    def make(input: Any, exponent: Any, *, out: Any = None) -> Any:
        operands = {"input": input, "exponent": exponent}
        return spread(function, operands, {}, "`**`")

    return make


for _name in ("pow", "float_power"):
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}", f"torch.Tensor.{_name}_")(
        _power(_name)
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
    description = "input + weight * (end - input)"
    return spread(
        "lerp", {"input": input, "end": end, "weight": weight}, {}, description
    )


def _of_three(name: str, sign: str) -> Any:
    """Return the map maker of addcmul or addcdiv."""

    def make(
        input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None
    ) -> Any:
        operands = {"input": input, "tensor1": tensor1, "tensor2": tensor2}
        times = "" if value == 1 else f"{value} * "
        description = f"input + {times}tensor1 {sign} tensor2"
        return spread(
            name, operands, {"value": value} if value != 1 else {}, description
        )

    return make


for _name, _sign in (("addcmul", "*"), ("addcdiv", "/")):
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}", f"torch.Tensor.{_name}_")(
        _of_three(_name, _sign)
    )


@index_map("torch.where")
def where(condition: Meta, input: Any = None, other: Any = None) -> Any:
    if input is None or other is None:
        return NotDrawn("its output's size depends on the values")
    return _chosen("condition", condition, ("input", input), ("other", other))


@index_map("torch.Tensor.where")
def where_method(self: Any, condition: Meta, other: Any) -> Any:
    return _chosen("condition", condition, ("self", self), ("other", other))


@index_map("torch.masked_fill", "torch.Tensor.masked_fill", "torch.Tensor.masked_fill_")
def masked_fill(input: Meta, mask: Meta, value: Any) -> Any:
    return _chosen("mask", mask, ("value", value), ("input", input))


def _chosen(
    name: str, condition: Meta, chosen: tuple[str, Any], otherwise: tuple[str, Any]
) -> Any:
    """Map the element of `chosen` where the condition holds, else the other's."""
    if condition.dtype != "bool":
        return NotDrawn(f"its {name} is not a bool tensor")
    operands = [condition, chosen[1], otherwise[1]]
    shape = broadcast(*(tuple(x.shape) for x in operands if hasattr(x, "shape")))
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    asked = Element(name, build_broadcast_index(tuple(condition.shape), shape))
    first = operand(*chosen, shape)
    when = (Equal(asked, number(1)),)
    if hasattr(chosen[1], "shape"):
        first = Read(first.tensor, first.indices, when)
    else:
        first = constant(chosen[1], when)
    words = [x if hasattr(v, "shape") else str(v) for x, v in (chosen, otherwise)]
    sentence = (
        f"`{words[0]}` where `{name}` is true, else `{words[1]}`, place by place."
    )
    return IndexMap(shape, (first, operand(*otherwise, shape)), sentence=sentence)
