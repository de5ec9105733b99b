"""Products by group: one matrix for each run of rows, as mixtures of experts use them.

Mirrors `aten/src/ATen/native/GroupedMMUtils.h`. torch's data-free kernel takes bfloat16
only; the CPU takes more. Rows of the result begin at multiples of 16 bytes.
"""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.registry import rule

SIZES = {"float32": 4, "bfloat16": 2, "float16": 2}
NAMES = {"float32": "float", "bfloat16": "c10::BFloat16", "float16": "c10::Half"}


def _flops(self: Meta, mat2: Meta, offs: Meta | None = None, *_: Any, **__: Any) -> int:
    """Multiply-adds times 2: every row or column meets one matrix."""
    one, two = self.shape, mat2.shape
    if len(one) == 2 and len(two) == 2:
        return 2 * one[0] * one[1] * two[1]
    batch = one[0] if len(one) == 3 and len(two) == 3 else 1
    return 2 * batch * one[-2] * one[-1] * two[-1]


@rule("torch._grouped_mm", "torch.nn.functional.grouped_mm", flops=_flops)
def grouped_mm(
    self: Meta,
    mat2: Meta,
    offs: Meta | None = None,
    bias: Meta | None = None,
    out_dtype: str | None = None,
) -> Any:
    """``(S, K) x (E, K, N)`` with offsets is ``(S, N)``; see the table in the test."""
    one, two = self.shape, mat2.shape
    if self.dtype not in SIZES or mat2.dtype not in SIZES or bias is not None:
        return NotImplemented
    if len(one) not in (2, 3) or len(two) not in (2, 3):
        return NotImplemented
    if not (len(one) == 2 and len(two) == 2) and one[-1] != two[-2]:
        raise Misfit("contraction dimension of mat_a and mat_b must match")
    for matrix in (self, mat2):
        _check_strides(matrix)
    flat = len(one) == 2 or len(two) == 2
    if flat != (offs is not None):
        raise Misfit(
            "Have to provide offsets if there is a 2d matrix, or no offset if both "
            "matrices are 3d"
        )
    if offs is not None and (len(offs.shape) != 1 or offs.dtype != "int32"):
        return NotImplemented
    if self.dtype != mat2.dtype:
        raise Misfit(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{NAMES[self.dtype]} != {NAMES[mat2.dtype]}"
        )
    dtype = out_dtype or self.dtype
    if dtype not in SIZES:
        return NotImplemented
    return _made(one, two, offs, dtype)


def _check_strides(matrix: Meta) -> None:
    """Rows, or columns of a transposed matrix, begin at multiples of 16 bytes."""
    stride = matrix.stride[-2:]
    leading = stride[0] if stride[1] == 1 else stride[1]
    if leading * SIZES[matrix.dtype] % 16:
        raise Misfit("strides should be multiple of 16 bytes")


def _made(
    one: tuple[int, ...], two: tuple[int, ...], offs: Meta | None, dtype: str
) -> Any:
    rows, columns = one[-2], two[-1]
    if len(one) == 3 and len(two) == 3 and one[0] != two[0]:
        raise Misfit("batched dimension has to match")
    if offs is not None and len(one) == 3 and offs.shape[0] != one[0]:
        raise Misfit("matrix batch sizes have to match")
    if offs is not None and len(two) == 3 and offs.shape[0] != two[0]:
        raise Misfit("matrix batch sizes have to match")
    step = 16 // SIZES[dtype]
    padded = (columns + step - 1) // step * step
    if len(one) == len(two):
        groups = one[0] if offs is None else offs.shape[0]
        shape: tuple[int, ...] = (groups, rows, columns)
        stride: tuple[int, ...] = (rows * padded, padded, 1)
    else:
        shape, stride = (rows, columns), (padded, 1)
    return Made(shape, dtype, stride, "GroupedMmBackward0")
