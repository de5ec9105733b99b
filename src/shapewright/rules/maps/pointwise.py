"""Index maps of functions of one tensor, element by element: exp, relu, clamp."""

from __future__ import annotations

from typing import Any

from shapewright.dims.expression import Expression
from shapewright.rules.broadcasting import broadcast
from shapewright.rules.maps.index_map import (
    IndexMap,
    NotDrawn,
    Read,
    Then,
    constant,
    index_map,
    out_letters,
)
from shapewright.rules.maps.lettering import MOST, operand
from shapewright.rules.meta import Meta

FUNCTIONS = """
abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan
atanh arctanh bitwise_not ceil conj conj_physical cos cosh deg2rad digamma erf
erfc erfinv exp exp2 expm1 fix floor frac i0 imag isfinite isinf isnan isneginf
isposinf isreal lgamma log log10 log1p log2 logical_not logit mvlgamma nan_to_num neg
negative rad2deg real reciprocal resolve_conj resolve_neg round rsqrt sgn
sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc relu selu celu
hardshrink
"""
"""Functions that are there as `torch.x`, and most as methods and in place too."""

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


def names_of(name: str) -> list[str]:
    """All names under which `torch.x` is met; torch need not have each of them."""
    return [f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.{name}_",
            f"torch.{name}_"]  # fmt: skip


def of_one(function: str) -> Any:
    """The maker of a function's map; it takes the numbers of the call after `input`."""

    def make(input: Meta, *numbers: Any, **options: Any) -> Any:
        options.pop("inplace", None)
        options.pop("out", None)
        given = [number for number in numbers if type(number) is not bool]
        return mapped(function, input, given, options)

    return make


def mapped(
    function: str, input: Meta, numbers: list[Any], options: dict[str, Any]
) -> Any:
    """The map of `function(input[i, j], *numbers, **options)`."""
    if not hasattr(input, "shape"):
        return NotDrawn("its first argument is a number")
    shape = tuple(input.shape)
    given = (*numbers, *options.values())
    if any(hasattr(value, "shape") or isinstance(value, list) for value in given):
        return NotDrawn("a tensor stands where a number is usual")
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    reads = (Read("input", out_letters(len(shape))), *map(constant, numbers))
    said = WORDS.get(function, f"`{function}` of it")
    return IndexMap(
        shape,
        reads,
        term=function,
        options=tuple(options.items()),
        sentence=f"Each output element reads the one at its own place: {said}.",
    )


def register() -> None:
    """Register each function under its names, once."""
    functional = [f"torch.nn.functional.{name}" for name in ACTIVATIONS.split()]
    taken: dict[str, str] = {}
    for name in FUNCTIONS.split():
        taken |= dict.fromkeys(names_of(name), name)
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
        index_map(full)(of_one(name))


register()


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
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    shape = tuple(input.shape)
    for bound in given.values():
        if hasattr(bound, "shape") and tuple(bound.shape) != shape:
            shape = broadcast(shape, tuple(bound.shape))
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    reads = [operand("input", input, shape)]
    reads += [operand(name, bound, shape) for name, bound in given.items()]
    function = "clamp" if len(given) == 2 else f"clamp_{next(iter(given))}"
    said = " and ".join(
        f"{'at least' if name == 'min' else 'at most'} "
        f"{'`' + name + '`' if hasattr(bound, 'shape') else bound}"
        for name, bound in given.items()
    )
    words = f"Each output element is the input's at its own place, but {said}."
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
