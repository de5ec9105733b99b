"""Checks of functions that sample images along a grid."""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    GRID_SHAPE,
    THETA_SHAPE,
    WRONG_RANK,
)
from shapewright.operators.dtype_needs import real_floats
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import of_positive, resized, same_dtype, text
from shapewright.operators.needs_registry import needs


@needs("torch.nn.functional.grid_sample", "torch.grid_sampler")
def grid_sample(input: Meta, grid: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check for a position of 2 (or 3) coordinates for each output pixel."""
    wrong = _of_ranks(input, grid)
    if wrong is not None:
        return wrong
    rank = len(input.shape)
    wanted = rank - 2
    if grid.shape[-1] != wanted:
        made = resized(grid, rank - 1, wanted)
        more = ""
        if grid.shape[1] == wanted:
            made = Made((grid.shape[0], *grid.shape[2:], wanted), grid.dtype)
            more = ": the coordinates stand in dim 1, `permute` brings them to the end"
        return Unmet(
            GRID_SHAPE,
            f"{{op}} expects {wanted} coordinates in the last dim of {{grid}}"
            f" {text(grid.shape)}, got {grid.shape[-1]}{more}",
            Place("grid", rank - 1),
            has=grid.shape[-1],
            needs=wanted,
            grants=(Grant("grid", made),),
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
    """Check that images and grid have the same number of dims, 4 or 5."""
    have, rank = len(grid.shape), len(input.shape)
    if rank not in (4, 5):
        whole = rank in (2, 3) and have in (4, 5)
        made = (*(1,) * (4 - rank), *input.shape) if whole else None
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 4 dims (batch, channels, height, width), or 5, got {rank}:"
            f" {{input}} is {text(input.shape)}",
            Place("input"),
            has=rank,
            needs=4,
            grants=() if made is None else (Grant("input", Made(made, input.dtype)),),
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
    """Check for a 2x3 matrix for each image, 3x4 for volumes."""
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
