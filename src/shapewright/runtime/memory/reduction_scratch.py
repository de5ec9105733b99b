"""The partial sums of a reduction on a GPU, whose blocks share one output.

Where an output has many inputs, and outputs are few, several blocks of threads work on
one output and meet in global memory. How many there are follows from the shape, the
strides and the GPU, as `setReduceConfig` in ATen/native/cuda/Reduce.cuh says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

from shapewright.analysis.memory.device_memory import Processors

MOST_THREADS = 512
WARP = 32
VECTOR = 4
"""Elements that a thread reads at once."""

FEWEST_VALUES, MOST_VALUES = 16, 256
"""Inputs that a thread sums, at least and at most, before blocks share an output."""

LAST = 1 << 30

MOST_BYTES = (1 << 31) - 1
"""Of a tensor that one kernel reads; a larger one is read in halves."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Bytes that live together while a kernel runs, from after one of its outputs.

    `place` is that of the output; a kernel has its scratch after all of them where it
    is large. What `is_kept` stays when the kernel has returned; what `is_whole` is
    given back when all its outputs are there.
    """

    sizes: Sequence[int]
    place: int = LAST
    is_kept: bool = False
    is_whole: bool = False


Dim = tuple[int, int, bool]
"""Size, stride in elements, and whether it is reduced."""


def count_partial_sums(
    x: torch.Tensor,
    dims: Sequence[int] | int | None,
    outputs: int,
    carried: int,
    processors: Processors,
) -> list[int]:
    """Return the bytes of the partial sums, and of the locks on them.

    `outputs` is how many numbers come out, and `carried` the bytes of what each sum
    carries along. Example: 4096 rows of 768 numbers in float32, summed to 768 on an
    H100, take 24 MiB and 24 bytes.
    """
    inputs = x.numel()
    if not inputs or not outputs:
        return []
    walked = _list_dims(x, dims)
    while sum((n - 1) * stride for n, stride, _ in walked) * x.itemsize > MOST_BYTES:
        place = max(range(len(walked)), key=lambda i: (walked[i][0] - 1) * walked[i][1])
        size, stride, is_reduced = walked[place]
        walked[place] = (size // 2, stride, is_reduced)
    reduced = [dim for dim in walked if dim[2]]
    kept = [dim for dim in walked if not dim[2]]
    outputs = prod(size for size, _, _ in kept)
    inputs = prod(size for size, _, _ in reduced)
    along = not kept or not reduced or reduced[0][1] < kept[0][1]
    width, height = (inputs, outputs) if along else (outputs, inputs)
    fastest = (reduced or kept or [(1, 1, True)])[0][1] if along else kept[0][1]
    vector = 1
    if fastest == 1 and along and width > 128 and len(walked) == 1:
        width //= VECTOR
    elif fastest == 1 and not along:
        vector = _find_vector(walked, kept[0])
        width //= vector
    columns, lines = _find_block(width, height, MOST_THREADS // vector)
    taken, produced = 1, 1  # inputs and outputs of a block
    if along:
        taken *= columns
    else:
        produced *= columns
    values = -(-inputs // taken)
    shares_lines = values >= lines * FEWEST_VALUES or values >= MOST_VALUES
    if shares_lines:
        taken *= lines
    else:
        produced *= lines
    values = -(-inputs // taken)
    grid = -(-(outputs // vector) // produced)
    target = processors.count * (processors.threads // (columns * lines))
    if not shares_lines or values < MOST_VALUES or grid > target:
        return []
    blocks = min(-(-target // grid), -(-values // FEWEST_VALUES))
    blocks = max(blocks, -(-values // MOST_VALUES))
    if blocks <= 1:
        return []
    size = carried * outputs * blocks
    return [size if along else size * columns * vector, 4 * grid]


def _list_dims(x: torch.Tensor, dims: Sequence[int] | int | None) -> list[Dim]:
    """Return the dims that are reduced, then the others, the fastest first, those
    that follow one another as one.
    """
    if isinstance(dims, int):
        dims = (dims,)
    places = {d % x.dim() for d in dims} if dims else set(range(x.dim()))
    walked = [
        (size, stride, place in places)
        for place, (size, stride) in enumerate(zip(x.shape, x.stride(), strict=True))
        if size > 1
    ]
    walked.sort(key=lambda dim: (not dim[2], dim[1]))
    merged: list[Dim] = []
    for size, stride, is_reduced in walked:
        if merged:
            last, before, was_reduced = merged[-1]
            if was_reduced == is_reduced and stride == before * last:
                merged[-1] = (last * size, before, is_reduced)
                continue
        merged.append((size, stride, is_reduced))
    return merged


def _find_vector(walked: list[Dim], fastest: Dim) -> int:
    """Return how many outputs a thread has: what divides their number and strides."""
    vector = VECTOR
    for number in (fastest[0], *(dim[1] for dim in walked if dim is not fastest)):
        while number % vector:
            vector //= 2
    return vector


def _find_block(width: int, height: int, most: int) -> tuple[int, int]:
    """Return columns and lines of threads in a block."""
    across = (
        1 << (width.bit_length() - 1) if 0 < width < most else max(1, min(most, width))
    )
    down = (
        1 << (height.bit_length() - 1)
        if 0 < height < most
        else max(1, min(most, height))
    )
    columns = min(across, WARP)
    lines = min(down, most // columns)
    return min(across, most // lines), lines
