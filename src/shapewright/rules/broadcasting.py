"""The shape that comes out when shapes are broadcast together."""

from __future__ import annotations

from functools import lru_cache

from shapewright.rules.meta import Misfit

Shape = tuple[int, ...]


@lru_cache(4096)
def broadcast(*shapes: Shape) -> Shape:
    """The common shape: `broadcast((8, 1, 5), (3, 5)) == (8, 3, 5)`.

    Raises `Misfit` in torch's words where two sizes differ and neither is 1.
    """
    result = shapes[0]
    for shape in shapes[1:]:
        if shape != result and shape:
            result = _pair(result, shape)
    return result


def _pair(a: Shape, b: Shape) -> Shape:
    ndim = max(len(a), len(b))
    long_a = (1,) * (ndim - len(a)) + a
    long_b = (1,) * (ndim - len(b)) + b
    sizes = [y if x == 1 else x for x, y in zip(long_a, long_b, strict=True)]
    for dim in range(ndim - 1, -1, -1):
        x, y = long_a[dim], long_b[dim]
        if x != y and x != 1 and y != 1:
            raise Misfit(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) "
                f"at non-singleton dimension {dim}"
            )
    return tuple(sizes)


def fits(target: Shape, shape: Shape) -> bool:
    """Whether `shape` can be expanded to `target`: (3, 1) to (2, 3, 4)."""
    if len(shape) > len(target):
        return False
    ends = target[len(target) - len(shape) :]
    return all(size in (1, want) for size, want in zip(shape, ends, strict=True))
