"""Random small tensors in every layout that programs meet."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

DTYPES = (torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16,
          torch.bfloat16, torch.float32, torch.float64)  # fmt: skip


def random_shape(chance: random.Random) -> list[int]:
    """Up to five dims, mostly small, some 1 and few 0."""
    sizes = [1, 1, 2, 3, 4, 2, 3, 5] + ([0] if chance.random() < 0.3 else [])
    ndim = chance.choice([0, 1, 2, 2, 3, 3, 4, 4, 5])
    return [chance.choice(sizes) for _ in range(ndim)]


def filled(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Ones: no division by zero, within the domain of nearly every function."""
    return torch.ones(tuple(shape), dtype=dtype)


def laid_out(
    shape: Sequence[int], dtype: torch.dtype, chance: random.Random
) -> torch.Tensor:
    """A tensor of that shape: permuted, cut out, expanded or channels-last."""
    order = list(range(len(shape)))
    if chance.random() < 0.5:
        chance.shuffle(order)
    made = filled([shape[dim] for dim in order], dtype)
    made = made.permute([order.index(dim) for dim in range(len(shape))])
    if len(shape) in (4, 5) and chance.random() < 0.3:
        last = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
        made = made.contiguous(memory_format=last)
    for dim, size in enumerate(shape):
        roll = chance.random()
        if roll < 0.07:
            made = torch.cat([made, made], dim).narrow(dim, 0, size)
        elif roll < 0.14 and size:
            made = made.narrow(dim, 0, 1).expand(shape)
        elif roll < 0.2 and size:
            wide = torch.repeat_interleave(made, 2, dim)
            made = wide[(slice(None),) * dim + (slice(None, None, 2),)]
    return made


def partner(shape: Sequence[int], chance: random.Random) -> list[int]:
    """A shape that broadcasts with the given one, seldom one that does not."""
    if chance.random() < 0.4:
        return list(shape)
    sizes = [chance.choice([size, size, 1]) for size in shape]
    if chance.random() < 0.05 and sizes:
        sizes[chance.randrange(len(sizes))] = 7
    return sizes[chance.choice([0, 0, 0, 1, 2]) :]
