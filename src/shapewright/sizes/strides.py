"""The strides that torch gives to new tensors.

Mirrors `aten/src/ATen/TensorIterator.cpp` (elementwise outputs), `MemoryFormat.h` in
`c10/core`, and `infer_dense_strides` in `ATen/ExpandUtils.cpp` (`empty_like`). All
strides count elements. Every function here is pure, and remembers its last answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

Shape = tuple[int, ...]
Stride = tuple[int, ...]
Strided = tuple[Shape, Stride]

_REMEMBERED = 4096


@lru_cache(_REMEMBERED)
def contiguous(shape: Shape) -> Stride:
    """Return row-major strides: `contiguous((2, 3, 4)) == (12, 4, 1)`.

    A dim of size 0 counts as 1, as torch has it: `contiguous((2, 0, 4)) == (4, 4, 1)`.
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size or 1
    return tuple(reversed(strides))


@lru_cache(_REMEMBERED)
def channels_last(shape: Shape) -> Stride:
    """Return the strides of NHWC (4 dims) or NDHWC (5 dims) in NCHW order.

    Example: `channels_last((2, 3, 4, 5)) == (60, 1, 15, 3)`.
    """
    order = (1, *range(len(shape) - 1, 1, -1), 0)
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


@lru_cache(_REMEMBERED)
def is_contiguous(shape: Shape, stride: Stride) -> bool:
    """Whether elements lie in row-major order without gaps; dims of size 1 are free."""
    if 0 in shape:
        return True
    step = 1
    for size, have in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1:
            if have != step:
                return False
            step *= size
    return True


@lru_cache(_REMEMBERED)
def is_channels_last(shape: Shape, stride: Stride) -> bool:
    """Whether elements lie in NHWC (NDHWC) order without gaps; only 4 or 5 dims can."""
    if len(shape) not in (4, 5):
        return False
    step = 1
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[dim] != 1:
            if stride[dim] != step:
                return False
            step *= shape[dim]
    return True


@lru_cache(_REMEMBERED)
def is_dense(shape: Shape, stride: Stride) -> bool:
    """Whether some order of the dims makes it contiguous ("non-overlapping and dense").

    Example: a transposed matrix is dense, `x[:, ::2]` and `x.expand(...)` are not.
    """
    if is_contiguous(shape, stride):
        return True
    if len(shape) == 1:
        return shape[0] < 2 or stride[0] == 1
    step = 1
    for have, size in sorted(
        (have, size) for have, size in zip(stride, shape, strict=True) if size >= 2
    ):
        if have != step:
            return False
        step *= size
    return True


def suggest_format(shape: Shape, stride: Stride) -> str:
    """`contiguous_format`, `channels_last` or `channels_last_3d`, as the strides hint.

    Mirrors `is_channels_last_strides_2d/3d`: unlike `is_channels_last`, gaps are
    allowed, and ambiguous strides (one channel, one pixel) count as contiguous.
    """
    if len(shape) not in (4, 5) or not _is_channels_last_hint(shape, stride):
        return "contiguous_format"
    return "channels_last" if len(shape) == 4 else "channels_last_3d"


def compute_hinted_strides(
    output_shape: Shape, shape: Shape, stride: Stride
) -> Stride | None:
    """Return the strides of an output that keeps a channels-last input's format, or
    None.
    """
    if len(output_shape) < 4 or len(output_shape) != len(shape):
        return None
    if suggest_format(shape, stride) == "contiguous_format":
        return None
    return channels_last(output_shape)


@lru_cache(_REMEMBERED)
def _is_channels_last_hint(shape: Shape, stride: Stride) -> bool:
    if stride[1] == 0:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[dim] == 0 or stride[dim] < least:
            return False
        if dim == 0 and least == stride[1]:
            return False
        least = stride[dim] * max(shape[dim], 1)
    return True


def compute_format_strides(shape: Shape, memory_format: str) -> Stride:
    """Return the strides of a new tensor in a memory format (not `preserve_format`)."""
    if memory_format == "contiguous_format":
        return contiguous(shape)
    return channels_last(shape)


@lru_cache(_REMEMBERED)
def compute_strides_like(shape: Shape, stride: Stride) -> Stride:
    """Return the strides of `empty_like` with `preserve_format`.

    A dense tensor's own strides, else dense strides in the same order of dims:
    `compute_like((2, 3), (1, 2)) == (1, 2)`, `compute_like((2, 3), (0, 1)) == (3, 1)`.
    """
    if is_dense(shape, stride):
        return stride

    def after(a: int, b: int) -> int:
        if stride[a] == 0 or stride[b] == 0:
            return 0
        if stride[a] != stride[b]:
            return -1 if stride[a] < stride[b] else 1
        return 1 if shape[a] > shape[b] else 0

    strides, step = [0] * len(shape), 1
    for dim in _sort_dims(len(shape), after):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def compute_elementwise_strides(shape: Shape, operands: Sequence[Strided]) -> Stride:
    """Return the strides of the output that TensorIterator allocates for an
    elementwise op.

    `shape` is the broadcast shape; `operands` are (shape, stride) of the tensor
    arguments in the order in which the kernel adds them, a Python number being
    `((), ())`. Example: adding a row to a transposed matrix keeps the matrix's order,
    `compute_iterated((2, 3), [((2, 3), (1, 2)), ((3,), (1,))]) == (1, 2)`.
    """
    return _compute_iterated(shape, tuple(operands))


@lru_cache(_REMEMBERED)
def _compute_iterated(shape: Shape, operands: tuple[Strided, ...]) -> Stride:
    if 0 not in shape and not [
        own for own, stride in operands if stride != contiguous(own)
    ]:
        return contiguous(shape)  # no stride asks for another order
    if all(own == shape for own, _ in operands):
        fast = _compute_fast(shape, operands)
        if fast is not None:
            return fast
    if len(shape) < 2:
        return contiguous(shape)
    return _permute_strides(shape, _find_iteration_order(shape, operands))


def _compute_fast(shape: Shape, operands: tuple[Strided, ...]) -> Stride | None:
    """`fast_set_up`: all operands have the same shape and an easy layout."""
    if all(is_contiguous(own, stride) for own, stride in operands):
        return contiguous(shape)
    if len(shape) == 4 and all(is_channels_last(own, s) for own, s in operands):
        return channels_last(shape)
    first = operands[0][1]
    if all(stride == first and is_dense(own, stride) for own, stride in operands):
        return first
    return None


def _find_iteration_order(shape: Shape, operands: tuple[Strided, ...]) -> list[int]:
    """`reorder_dimensions`: the dims from fastest to slowest."""
    rows = [_compute_broadcast_stride(shape, own, stride) for own, stride in operands]

    def after(a: int, b: int) -> int:
        for row in rows:
            if row[a] == 0 or row[b] == 0:
                continue
            if row[a] != row[b]:
                return -1 if row[a] < row[b] else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    return _sort_dims(len(shape), after)


def _compute_broadcast_stride(shape: Shape, own: Shape, stride: Stride) -> Stride:
    missing = len(shape) - len(own)
    return (0,) * missing + tuple(
        0 if size == 1 and shape[missing + dim] != 1 else have
        for dim, (size, have) in enumerate(zip(own, stride, strict=True))
    )


def _sort_dims(ndim: int, after: Callable[[int, int], int]) -> list[int]:
    """Insertion sort from the last dim on, where a comparison may be undecided (0)."""
    order = list(range(ndim - 1, -1, -1))
    for end in range(1, ndim):
        late = end
        for early in range(end - 1, -1, -1):
            compared = after(order[early], order[late])
            if compared > 0:
                order[early], order[late] = order[late], order[early]
                late = early
            elif compared < 0:
                break
    return order


def _permute_strides(shape: Shape, order: list[int]) -> Stride:
    """`allocate_or_resize_outputs`: dense strides in that order of dims.

    In the usual order the tensor is made as contiguous; else a dim of size 0 makes all
    slower strides 0.
    """
    if order == list(range(len(shape) - 1, -1, -1)):
        return contiguous(shape)
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


@lru_cache(_REMEMBERED)
def compute_viewed(shape: Shape, stride: Stride, wanted: Shape) -> Stride | None:
    """Return the strides of `x.view(wanted)`, or None if no view has that shape.

    Mirrors `computeStride` in `ATen/TensorUtils.cpp`. `wanted` has no -1 and as many
    elements. Example: `compute_viewed((2, 1, 3), (3, 9, 1), (2, 3)) == (3, 1)`.
    """
    if not shape:
        return (1,) * len(wanted)
    if 0 in shape:
        return stride if shape == wanted else contiguous(wanted)
    strides = [0] * len(wanted)
    at, base, had, reached = len(wanted) - 1, stride[-1], 1, 1
    for dim in range(len(shape) - 1, -1, -1):
        had *= shape[dim]
        if dim and (shape[dim - 1] == 1 or stride[dim - 1] == had * base):
            continue  # the next dim goes on where this one ends
        while at >= 0 and (reached < had or wanted[at] == 1):
            strides[at] = reached * base
            reached *= wanted[at]
            at -= 1
        if reached != had:
            return None
        if dim:
            base, had, reached = stride[dim - 1], 1, 1
    return tuple(strides) if at == -1 else None
