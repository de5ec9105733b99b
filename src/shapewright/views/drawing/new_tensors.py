"""New tensors: the origin of their dtype and device, and the same call in C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shapewright.index_maps.drawn_calls import Drawn
from shapewright.operators.facts import operators_with

SIZED = operators_with("has_default_dtype") & operators_with("takes_sizes")
TRIANGLES = operators_with("keeps_triangle")
CPP_DTYPES = {
    "bool": "kBool", "uint8": "kUInt8", "int8": "kInt8", "int16": "kInt16",
    "int32": "kInt32", "int64": "kInt64", "float16": "kFloat16",
    "bfloat16": "kBFloat16", "float32": "kFloat32", "float64": "kFloat64",
    "complex64": "kComplexFloat", "complex128": "kComplexDouble",
}  # fmt: skip
BY_DEFAULT = operators_with("has_default_dtype")
WHOLE = operators_with("has_integer_dtype")
BY_VALUE = operators_with("has_dtype_of_values")
LIKE = operators_with("ignores_given_values")
RANDOM = operators_with("is_random")


def _get_base(drawn: Drawn) -> tuple[str, bool]:
    """Return the plain name of the factory, and whether it is a `_like` function."""
    owner, _, last = drawn.name.rpartition(".")
    like = last.endswith("_like") and last in LIKE
    if owner != "torch":
        return "", False
    return (last.removesuffix("_like") if like else last), like


def format_making_lines(drawn: Drawn) -> list[str]:
    """Return the notes on a call that creates a tensor, or nothing for other calls."""
    name, like = _get_base(drawn)
    if drawn.error or not drawn.outputs or drawn.beside is None:
        return []
    if name == "meshgrid" or name in TRIANGLES:
        return _describe_taken_over(drawn, name)
    if name not in BY_DEFAULT | WHOLE | BY_VALUE:
        return []
    out = drawn.outputs[0]
    lines = [
        f"dtype {out.dtype}: {_explain_dtype(drawn, name, like)}",
        f"device {drawn.beside.device}: {_explain_device(drawn, like)}",
    ]
    if name in RANDOM:
        lines.append("`torch.manual_seed(0)` before it gives the same numbers again")
    written = _format_cpp(drawn, name, like)
    return [*lines, *([f"C++: {written}"] if written else [])]


def _describe_taken_over(drawn: Drawn, name: str) -> list[str]:
    """Return notes on functions whose dtype and device come from their inputs."""
    out = drawn.outputs[0]
    lines = [f"dtype {out.dtype}, device {_get_device(drawn)}: those of its inputs"]
    if name == "meshgrid":
        many = ", ".join(side.name.replace("tensors.", "x") for side in drawn.inputs)
        how = drawn.arguments.get("indexing") or "ij"
        if not drawn.arguments.get("indexing"):
            lines.append('indexing "ij", torch\'s default: numpy\'s is "xy"')
        return [*lines, f'C++: torch::meshgrid({{{many}}}, "{how}")']
    diagonal = drawn.arguments.get("diagonal", 0)
    return [*lines, f"C++: torch::{name}(input, /*diagonal=*/{diagonal})"]


def _get_device(drawn: Drawn) -> str:
    """Return the device of the output."""
    return drawn.beside.device if drawn.beside else "cpu"


def _explain_dtype(drawn: Drawn, name: str, like: bool) -> str:
    """Return the origin of the dtype."""
    default = drawn.beside.default if drawn.beside else "float32"
    if drawn.arguments.get("dtype") is not None:
        return "the call specifies it"
    if like:
        return "that of `input`"
    if name in WHOLE:
        return f"`{name}` returns integers unless `dtype` is given"
    if name in BY_VALUE:
        return _explain_by_value(drawn, name, default)
    if str(drawn.outputs[0].dtype).startswith("complex"):
        return "an end is complex, and the parts are of the default dtype"
    return f"no dtype is given, and `torch.get_default_dtype()` is {default}"


def _explain_by_value(drawn: Drawn, name: str, default: str) -> str:
    """Return how values decide the dtype: integers, floats, complex or bools."""
    values = list(_iter_numbers(drawn, name))
    if any(isinstance(value, complex) for value in values):
        return f"a complex number, its parts of the default dtype {default}"
    point = next((value for value in values if isinstance(value, float)), None)
    if point is not None:
        return f"`{point}` is a float, and `torch.get_default_dtype()` is {default}"
    if values and all(isinstance(value, bool) for value in values):
        return "bools, and no dtype is given"
    if not values:
        return f"no values, and `torch.get_default_dtype()` is {default}"
    whole = "is a whole number" if len(values) == 1 else "are whole numbers"
    shown = ", ".join(f"`{value}`" for value in values[:3])
    return f"{shown}{', ...' if values[3:] else ''} {whole}, and no dtype is given"


def _iter_numbers(drawn: Drawn, name: str) -> Any:
    """Yield the numbers of the call that decide the dtype."""
    arguments = drawn.arguments
    if name == "full":
        yield arguments.get("fill_value")
    elif name in ("arange", "range"):
        keys = ("start", "end", "step")
        yield from (arguments[key] for key in keys if arguments.get(key) is not None)
    else:
        yield from _iter_flat(next(iter(arguments.values()), ()))


def _iter_flat(nest: Any) -> Any:
    """Yield the numbers in nested lists."""
    if isinstance(nest, list | tuple):
        for item in nest:
            yield from _iter_flat(item)
    elif isinstance(nest, bool | int | float | complex):
        yield nest


def _explain_device(drawn: Drawn, like: bool) -> str:
    """Return the origin of the device."""
    if drawn.arguments.get("device") is not None:
        return "the call specifies it"
    return "that of `input`" if like else "no device is given: the default device"


# -- C++ -------------------------------------------------------------------------------


def _format_cpp(drawn: Drawn, name: str, like: bool) -> str:
    """Return the call with torch::TensorOptions, or "" if C++ has no such call."""
    dtype = CPP_DTYPES.get(drawn.outputs[0].dtype)
    make = ARGUMENTS.get(name)
    arguments = make(drawn) if make is not None else None
    if like:
        fill = drawn.arguments.get("fill_value")
        arguments = ["input", *([_format_literal(fill)] if name == "full" else [])]
        if name == "randint":
            arguments = None
    if dtype is None or arguments is None or None in arguments:
        return ""
    options = f"torch::TensorOptions().dtype(torch::{dtype}){_format_cpp_device(drawn)}"
    if drawn.arguments.get("requires_grad"):
        options += ".requires_grad(true)"
    suffix = "_like" if like else ""
    return f"torch::{name}{suffix}({', '.join([*arguments, options])})"


def _format_cpp_device(drawn: Drawn) -> str:
    """Return `.device(torch::kCUDA, 1)`."""
    kind, _, index = _get_device(drawn).partition(":")
    known = {"cpu": "kCPU", "cuda": "kCUDA", "meta": "kMeta", "mps": "kMPS"}
    if kind not in known:
        return f'.device("{_get_device(drawn)}")'
    place = f", {index}" if index and kind == "cuda" else ""
    return f".device(torch::{known[kind]}{place})"


def _format_sizes(drawn: Drawn) -> str:
    """Return `{2, 3}`."""
    return f"{{{', '.join(map(str, drawn.outputs[0].shape))}}}"


def _format_literal(value: Any) -> Any:
    """Return a number in C++ syntax, or None for other values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(1 << 31) < value < 1 << 31 else f"int64_t({value}LL)"
    if isinstance(value, float):
        if value != value:
            return "std::numeric_limits<double>::quiet_NaN()"
        if value in (float("inf"), -float("inf")):
            sign = "-" if value < 0 else ""
            return f"{sign}std::numeric_limits<double>::infinity()"
        return repr(value)
    return None


def _format_range(drawn: Drawn) -> list[Any]:
    """Return the start, the end and any step of `arange` or `range`."""
    arguments = drawn.arguments
    start, end = arguments.get("start", 0), arguments.get("end")
    if end is None:
        start, end = 0, start
    step = (
        [_format_literal(arguments["step"])]
        if arguments.get("step") is not None
        else []
    )
    return [_format_literal(start), _format_literal(end), *step]


def _format_ends(drawn: Drawn) -> list[Any]:
    """Return the arguments of `linspace` and `logspace`."""
    arguments = drawn.arguments
    ends = [_format_literal(arguments.get(key)) for key in ("start", "end", "steps")]
    if drawn.name.endswith("logspace"):
        ends.append(_format_literal(arguments.get("base", 10.0)))
    return ends


def _format_bounds(drawn: Drawn) -> list[Any]:
    """Return the arguments of `randint`: an optional low and high before the size."""
    arguments = drawn.arguments
    every = [*arguments.get("args", ()), arguments.get("low"), arguments.get("high")]
    bounds = [value for value in every if type(value) is int]
    if not 1 <= len(bounds) <= 2:
        return [None]
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    return [_format_literal(low), _format_literal(high), _format_sizes(drawn)]


def _format_shape(drawn: Drawn) -> list[Any]:
    """Return the size, for factories whose first argument is the size."""
    return [_format_sizes(drawn)]


def _format_eye(drawn: Drawn) -> list[Any]:
    """Return the number of rows, and of columns if it differs."""
    rows, columns = drawn.outputs[0].shape
    return [str(rows), *([str(columns)] if columns != rows else [])]


def _format_indices(drawn: Drawn) -> list[Any]:
    """Return the rows, columns and offset of `tril_indices`."""
    values = [v for v in drawn.arguments.values() if type(v) is int]
    return [_format_literal(v) for v in (*values, 0)[:3]] if len(values) > 1 else [None]


ARGUMENTS: dict[str, Callable[[Drawn], Any]] = {
    **dict.fromkeys(SIZED, _format_shape),
    "full": lambda drawn: [
        _format_sizes(drawn), _format_literal(drawn.arguments.get("fill_value"))
    ],
    "arange": _format_range,
    "linspace": _format_ends,
    "logspace": _format_ends,
    "randint": _format_bounds,
    "randperm": lambda drawn: [str(drawn.outputs[0].shape[0])],
    "eye": _format_eye,
    "tril_indices": _format_indices,
    "triu_indices": _format_indices,
}  # fmt: skip
