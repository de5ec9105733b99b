"""How torch names dtypes in the texts of its exceptions."""

from __future__ import annotations

from shapewright.rules.meta import Misfit

SCALAR_TYPE = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
    "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32",
    "uint64": "UInt64",
}  # fmt: skip
"""`Float` for `float32`: how `c10::ScalarType` prints."""

C_TYPE = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char",
    "int16": "short int", "int32": "int", "int64": "long int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip
"""`float` for `float32`: how `caffe2::TypeMeta` prints."""


def unsupported(kernel: str, dtype: str) -> Misfit:
    """A kernel met a dtype that it has no code for, in torch's words."""
    return Misfit(
        f"\"{kernel}\" not implemented for '{SCALAR_TYPE.get(dtype, dtype)}'",
        "NotImplementedError",
    )


def wrap_dim(dim: int, ndim: int) -> int:
    """A dim counted from the front: `wrap_dim(-1, 3) == 2`; 0-dim tensors have one."""
    span = ndim or 1
    if -span <= dim < span:
        return dim + span if dim < 0 else dim
    raise Misfit(
        f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], "
        f"but got {dim})",
        "IndexError",
    )


def listed(sizes: tuple[int, ...]) -> str:
    """Sizes as torch prints them: `[2, 3]`."""
    return f"[{', '.join(map(str, sizes))}]"
