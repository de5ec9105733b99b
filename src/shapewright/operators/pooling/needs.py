"""Checks of the arguments of pooling, unpooling and sampling along a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    GRID_SHAPE,
    INDICES_OF_ANOTHER_POOLING,
    KERNEL_TOO_LARGE,
    POOL_PADDING,
    THETA_SHAPE,
    UNPOOLED_SIZE,
    WRONG_RANK,
)
from shapewright.operators.dtype_needs import (
    no_bools,
    no_complex,
    real_floats,
    wide_floats,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    axis,
    differs,
    dtype_unmet,
    each,
    of_positive,
    of_settings,
    of_spatial_rank,
    resized,
    same_dtype,
    text,
)
from shapewright.operators.needs_registry import needs


def _pooling(spatial: int, dilated: bool) -> None:
    """Register the checks of pooling over `spatial` dims."""
    name = f"{'max' if dilated else 'avg'}_pool{spatial}d"

    def maximum(
        input: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Unmet | None:
        wrong = _pooled(
            input, spatial, kernel_size, stride, padding, dilation, ceil_mode
        )
        if wrong is None and spatial == 1 and not return_indices:
            return real_floats(("input", input))
        return wrong or no_bools(("input", input)) or no_complex(("input", input))

    def average(
        input: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Unmet | None:
        wrong = _pooled(input, spatial, kernel_size, stride, padding, 1, ceil_mode)
        if wrong is None and spatial == 3:  # this one compares before it pads
            kernel = each(kernel_size, 3)
            wrong = of_room(input, kernel, (1, 1, 1), (0, 0, 0), (1, 1, 1), False)
        if wrong is not None or input.dtype == "int64":
            return wrong
        return (wide_floats if spatial == 3 else real_floats)(("input", input))

    if dilated:
        indexed = f"torch.nn.functional.{name}_with_indices"
        needs(f"torch.{name}", indexed)(maximum)
    else:
        needs(f"torch.nn.functional.{name}")(average)


for _spatial in (1, 2, 3):
    _pooling(_spatial, True)
    _pooling(_spatial, False)


def _pooled(
    input: Meta,
    spatial: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Unmet | None:
    """Check the rank, that padding is at most half a kernel, and that a window fits."""
    has_stride = stride is not None and stride not in ((), [])
    wrong = of_spatial_rank(input, spatial) or of_settings(
        spatial, kernel_size=kernel_size, padding=padding, dilation=dilation
    )
    if wrong is None and has_stride:
        wrong = of_settings(spatial, stride=stride)
    if wrong is not None:
        return wrong
    kernel, pads = each(kernel_size, spatial), each(padding, spatial)
    steps = each(stride, spatial) if has_stride else kernel
    reach = each(dilation, spatial)
    for pad, width in zip(pads, kernel, strict=True):
        if pad * 2 > width:
            fits = tuple(min(p, w // 2) for p, w in zip(pads, kernel, strict=True))
            return Unmet(
                POOL_PADDING,
                f"{{op}} expects a padding of at most {width // 2}, half the kernel "
                f"size, got {pad}",
                has=pad,
                needs=width // 2,
                grants=(Grant("padding", fits),),
            )
    return of_room(input, kernel, steps, pads, reach, ceil_mode)


def of_room(
    input: Meta,
    kernel: Sequence[int],
    steps: Sequence[int],
    pads: Sequence[int],
    reach: Sequence[int],
    ceil_mode: bool,
) -> Unmet | None:
    """Check that at least one window fits into each dim."""
    spatial = len(kernel)
    first = len(input.shape) - spatial
    for at in range(spatial):
        size = input.shape[first + at]
        want = reach[at] * (kernel[at] - 1) + 1
        room = size + 2 * pads[at] - want + (steps[at] - 1 if ceil_mode else 0)
        if room // steps[at] + 1 >= 1:
            continue
        shape = list(input.shape)
        for d in range(spatial):
            least = reach[d] * (kernel[d] - 1) + 1 - 2 * pads[d]
            shape[first + d] = max(shape[first + d], least, 1)
        has = (
            f"{size} + 2·{pads[at]} = {size + 2 * pads[at]}" if pads[at] else f"{size}"
        )
        return Unmet(
            KERNEL_TOO_LARGE,
            f"{{op}} needs room for a kernel of {want}, got {has} in"
            f" {axis(at, spatial)}",
            Place("input", first + at),
            has=size,
            needs=want - 2 * pads[at],
            grants=(Grant("input", Made(tuple(shape), input.dtype)),),
            guessed=True,
        )
    return None


def _adaptive(spatial: int, kind: str) -> None:
    """Register the check of adaptive pooling over `spatial` dims."""

    def pool(
        input: Meta, output_size: Any, return_indices: bool = False
    ) -> Unmet | None:
        wrong = of_spatial_rank(input, spatial) or _of_sizes(output_size, spatial)
        return wrong or real_floats(("input", input))

    name = f"torch.nn.functional.adaptive_{kind}_pool{spatial}d"
    names = (name, f"{name}_with_indices") if kind == "max" else (name,)
    needs(*names)(pool)


def _of_sizes(output_size: Any, spatial: int) -> Unmet | None:
    """Check that each dim has a size of at least 0; None keeps the size of a dim."""
    listed = isinstance(output_size, tuple | list)
    sizes = list(output_size) if listed else [output_size]
    known = [0 if size is None else size for size in sizes]
    if listed and len(sizes) not in (1, spatial):
        return of_settings(spatial, output_size=known)
    return of_positive("output_size", known, 0)


for _spatial in (1, 2, 3):
    _adaptive(_spatial, "avg")
    _adaptive(_spatial, "max")


def _unpooling(spatial: int) -> None:
    """Register the check of unpooling over `spatial` dims."""

    def unpool(
        input: Meta,
        indices: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Unmet | None:
        wrong = of_spatial_rank(input, spatial) or _of_indices(input, indices)
        if wrong is not None:
            return wrong
        kernel, pads = each(kernel_size, spatial), each(padding, spatial)
        steps = kernel if stride is None else each(stride, spatial)
        usual = tuple(
            (size - 1) * step + width - 2 * pad
            for size, step, width, pad in zip(
                input.shape[-spatial:], steps, kernel, pads, strict=True
            )
        )
        wrong = _of_output(usual, steps, output_size)
        if wrong is None and min(usual) < 0:
            wrong = of_positive("kernel_size", kernel_size)
        output_sizes = usual if output_size is None else tuple(output_size)[-spatial:]
        wrong = wrong or _of_places(indices, output_sizes)
        return wrong or no_bools(("input", input)) or no_complex(("input", input))

    needs(f"torch.nn.functional.max_unpool{spatial}d")(unpool)


for _spatial in (1, 2, 3):
    _unpooling(_spatial)


def _of_indices(input: Meta, indices: Meta) -> Unmet | None:
    """Check that the indices are int64 and have the shape of the input."""
    if indices.dtype != "int64":
        why = "{op} expects the indices that pooling returned, int64"
        return dtype_unmet("indices", indices, "int64", why)
    if indices.shape == input.shape:
        return None
    dim = differs(indices.shape, input.shape)
    return Unmet(
        INDICES_OF_ANOTHER_POOLING,
        f"{{op}} needs an index for each element: {{input}} is {text(input.shape)},"
        f" {{indices}} is {text(indices.shape)}",
        Place("indices", dim),
        Place("input", dim),
        text(indices.shape),
        text(input.shape),
        (Grant("indices", Made(input.shape, "int64")),),
        guessed=True,
    )


def _of_output(
    usual: Sequence[int], steps: Sequence[int], output_size: Any
) -> Unmet | None:
    """Check that pooling an input of size `output_size` could return this input."""
    spatial = len(usual)
    if output_size is None:
        return None
    numbers = tuple(output_size)
    wanted = numbers[2:] if len(numbers) == spatial + 2 else numbers
    if len(wanted) != spatial:
        return Unmet(
            UNPOOLED_SIZE,
            f"{{op}} expects {spatial} numbers as `output_size`, or {spatial + 2}, got"
            f" {len(numbers)}: {text(numbers)}",
            has=len(numbers),
            needs=spatial,
            grants=(Grant("output_size", list(usual)),),
        )
    for at, (size, middle, step) in enumerate(zip(wanted, usual, steps, strict=True)):
        low, high = max(middle - step + 1, 0), middle + step - 1
        if low <= size <= high:
            continue
        return Unmet(
            UNPOOLED_SIZE,
            f"{{op}} gives {axis(at, spatial)} {low} to {high} with this kernel and"
            f" stride, got {size} in `output_size`",
            has=size,
            needs=middle,
            grants=(Grant("output_size", list(usual)),) if middle >= 0 else (),
        )
    return None


def _of_places(indices: Meta, size: Sequence[int]) -> Unmet | None:
    """Check that known indices lie within the output."""
    values: tuple[int, ...] = getattr(indices, "values", None) or ()
    count = 1
    for length in size:
        count *= length
    bad = next((value for value in values if not 0 <= value < count), None)
    if bad is None or not count:
        return None
    return Unmet(
        INDICES_OF_ANOTHER_POOLING,
        f"{{op}} puts elements at 0 to {count - 1} of {text(size)}, but {{indices}} has"
        f" {bad}",
        Place("indices"),
        has=bad,
        needs=count,
        grants=(Grant("indices", Made(indices.shape, "int64")),),
    )


# -- sampling along a grid -------------------------------------------------------------


@needs("torch.nn.functional.grid_sample", "torch.grid_sampler")
def grid_sample(input: Meta, grid: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that there is a position of 2 (or 3) coordinates for each output pixel."""
    wrong = _of_ranks(input, grid)
    if wrong is not None:
        return wrong
    rank = len(input.shape)
    wanted = rank - 2
    if grid.shape[-1] != wanted:
        fitting = resized(grid, rank - 1, wanted)
        more = ""
        if grid.shape[1] == wanted:
            fitting = Made((grid.shape[0], *grid.shape[2:], wanted), grid.dtype)
            more = ": the coordinates are in dim 1; `permute` moves them to the end"
        return Unmet(
            GRID_SHAPE,
            f"{{op}} expects {wanted} coordinates in the last dim of {{grid}}"
            f" {text(grid.shape)}, got {grid.shape[-1]}{more}",
            Place("grid", rank - 1),
            has=grid.shape[-1],
            needs=wanted,
            grants=(Grant("grid", fitting),),
        )
    if grid.shape[0] != input.shape[0]:
        return Unmet(
            BATCH_DIM_MISMATCH,
            f"{{op}} needs a grid for each image: {{input}} has {input.shape[0]},"
            f" {{grid}} has {grid.shape[0]}",
            Place("grid", 0),
            Place("input", 0),
            grid.shape[0],
            input.shape[0],
            (Grant("grid", resized(grid, 0, input.shape[0])),),
        )
    named = ("grid", grid), ("input", input)
    return real_floats(*reversed(named)) or same_dtype(*named)


def _of_ranks(input: Meta, grid: Meta) -> Unmet | None:
    """Check that images and grid have the same number of dims, which is 4 or 5."""
    have, rank = len(grid.shape), len(input.shape)
    if rank not in (4, 5):
        whole = rank in (2, 3) and have in (4, 5)
        fitting = (*(1,) * (4 - rank), *input.shape) if whole else None
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 4 dims (batch, channels, height, width), or 5, got {rank}:"
            f" {{input}} is {text(input.shape)}",
            Place("input"),
            has=rank,
            needs=4,
            grants=()
            if fitting is None
            else (Grant("input", Made(fitting, input.dtype)),),
            guessed=True,
        )
    if have == rank:
        return None
    last = rank - 2
    size: tuple[int, ...] = (input.shape[0], *input.shape[2:], last)
    if have == rank - 1 and grid.shape[-1] == last:
        size = (input.shape[0], *grid.shape)
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects a grid of {rank} dims, as {{input}} {text(input.shape)} has:"
        f" {{grid}} is {text(grid.shape)}",
        Place("grid"),
        Place("input"),
        have,
        rank,
        (Grant("grid", Made(size, grid.dtype)),),
    )


@needs("torch.nn.functional.affine_grid", "torch.affine_grid_generator")
def affine_grid(theta: Meta, size: Any, align_corners: Any = None) -> Unmet | None:
    """Check that there is a 2x3 matrix for each image, or 3x4 for each volume."""
    sizes = tuple(size)
    if len(sizes) not in (4, 5):
        return Unmet(
            THETA_SHAPE,
            f"{{op}} expects the size of images, (batch, channels, height, width), got"
            f" {text(sizes)}",
            has=len(sizes),
            needs=4,
        )
    wrong = of_positive("size", sizes)
    rows = len(sizes) - 2
    wanted = (sizes[0], rows, rows + 1)
    if wrong is None and theta.shape == wanted:
        return real_floats(("theta", theta))
    return wrong or Unmet(
        THETA_SHAPE,
        f"{{op}} expects a matrix for each image, {text(wanted)}, got {{theta}}"
        f" {text(theta.shape)}",
        Place("theta"),
        has=text(theta.shape),
        needs=text(wanted),
        grants=(Grant("theta", Made(wanted, theta.dtype)),),
    )
