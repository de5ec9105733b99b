"""The dtype that comes out when dtypes meet: `torch.result_type`, by names.

Mirrors `c10/core/ScalarType.cpp` (`promoteTypes`) and `ATen/native/TypeProperties.cpp`
(`result_type`): tensors with dims outrank 0-dim tensors, those outrank Python numbers,
and a lower rank matters only if its kind is higher: bool < integer < float < complex.
"""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import setting

NUMBERS = frozenset({bool, int, float, complex})
"""The exact types of Python numbers, for quick tests: `type(x) in NUMBERS`."""

_INTEGERS = ("int8", "int16", "int32", "int64")
_FLOATS = ("float16", "float32", "float64")

NUMBER_KIND = {bool: 0, int: 1, float: 2, complex: 3}
"""The `KIND` of a Python number, by its type."""

INTEGRAL = frozenset({"uint8", *_INTEGERS})
FLOATING = frozenset({"bfloat16", *_FLOATS})
COMPLEX = frozenset({"complex32", "complex64", "complex128"})
KNOWN = INTEGRAL | FLOATING | COMPLEX | {"bool"}
"""The dtypes that the rules answer for; they leave float8, uint16, quantized ones."""

KIND = {
    **dict.fromkeys(COMPLEX, 3),
    **dict.fromkeys(FLOATING, 2),
    **dict.fromkeys(INTEGRAL, 1),
    "bool": 0,
}
"""0 for bool, 1 for integers, 2 for floats, 3 for complex."""

TO_COMPLEX = {"float16": "complex32", "bfloat16": "complex64", "float32": "complex64",
              "float64": "complex128"}  # fmt: skip
TO_REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def is_floating(dtype: str) -> bool:
    """Whether it is a real floating dtype."""
    return dtype in FLOATING


def is_complex(dtype: str) -> bool:
    """Whether it is a complex dtype."""
    return dtype in COMPLEX


def _promote(a: str, b: str) -> str:
    if a == b:
        return a
    if KIND[a] > KIND[b]:
        a, b = b, a
    if KIND[b] == 3:
        return _promote_complex(a, b)
    if KIND[a] != KIND[b]:
        return b
    if KIND[b] == 2:
        if {a, b} == {"float16", "bfloat16"}:
            return "float32"
        order: tuple[str, ...] = ("bfloat16", *_FLOATS)
    elif "uint8" in (a, b):
        signed = b if a == "uint8" else a
        return "int16" if signed == "int8" else signed
    else:
        order = _INTEGERS
    return max(a, b, key=order.index)


def _promote_complex(a: str, b: str) -> str:
    if KIND[a] < 2:
        return b
    if KIND[a] == 2:
        a = TO_COMPLEX[a]
    return max(a, b, key=lambda dtype: int(dtype.removeprefix("complex")))


_PROMOTED = {(a, b): _promote(a, b) for a in KNOWN for b in KNOWN}


def promote(a: str, b: str) -> str | None:
    """`torch.promote_types`: `promote("uint8", "int8") == "int16"`.

    None if a dtype is not one of `KNOWN`.
    """
    return _PROMOTED.get((a, b))


def number_dtype(number: bool | int | float | complex) -> str:
    """The dtype that a Python number counts as: int64, the default dtype, bool."""
    kind = type(number)
    if kind is bool:
        return "bool"
    if kind is int:
        return "int64"
    if kind is float:
        return setting.default_dtype
    return TO_COMPLEX[setting.default_dtype]


def common(a: Any, b: Any) -> str | None:
    """`result_type` of two operands, fast for the usual cases."""
    kind = type(b)
    if kind in NUMBERS:
        have: str = a.dtype
        if NUMBER_KIND[kind] <= KIND.get(have, -1):
            return have
    elif type(a) not in NUMBERS:
        have = a.dtype
        if have == b.dtype:
            return have if have in KNOWN else None
    return result_type(a, b)


def result_type(*operands: Any) -> str | None:
    """`torch.result_type` of tensors and Python numbers.

    Example: an int64 tensor of shape (2, 3) with 1.5 gives the default dtype; a float16
    tensor of shape (2,) with a float64 tensor of shape () gives float16. None if a
    dtype is not one of `KNOWN`, or something is neither tensor nor number.
    """
    ranks: list[str | None] = [None, None, None]
    for operand in operands:
        if type(operand) in NUMBERS:
            rank, dtype = 2, number_dtype(operand)
        else:
            dtype = getattr(operand, "dtype", "")
            if dtype not in KNOWN:
                return None
            rank = 0 if operand.shape else 1
        have = ranks[rank]
        ranks[rank] = dtype if have is None else _PROMOTED[have, dtype]
    return _combined(ranks[0], _combined(ranks[1], ranks[2]))


def _combined(higher: str | None, lower: str | None) -> str | None:
    """`combine_categories`: the lower rank counts only where its kind is higher."""
    if higher is None or lower is None:
        return higher or lower
    if KIND[higher] >= 3:
        return higher
    if KIND[higher] == 2:
        return TO_COMPLEX[higher] if KIND[lower] == 3 else higher
    if KIND[higher] == 0 or KIND[lower] >= 2:
        return _PROMOTED[higher, lower]
    return higher


def floated(dtype: str) -> str:
    """The dtype itself if float or complex, else the default dtype (`sqrt` of ints)."""
    return dtype if KIND[dtype] >= 2 else setting.default_dtype


def can_cast(source: str, target: str) -> bool:
    """`torch.can_cast`: never to a lower kind. Both must be `KNOWN`."""
    return KIND[source] <= KIND[target]
