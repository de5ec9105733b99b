"""Index maps of einsum: its letters are the map's letters."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.index_maps.index_map import IndexMap, Loop, Read, index_map
from shapewright.operators.einsum import shapes as einsum_equation
from shapewright.sizes.expressions import Expression, Letter, number


@index_map("torch.einsum")
def einsum(equation: Any, *operands: Any) -> Any:
    text, given = _call(equation, operands)
    shapes = [tuple(tensor.shape) for _, tensor in given]
    axes = einsum_equation.read(text, shapes)
    used = {name for name in axes.sizes if len(name) == 1}
    spare = (x for x in "bcdefghijklmnopqrstuvwxyzaABCDEFGHIJKL" if x not in used)
    letters = {name: name if name in used else next(spare) for name in axes.sizes}

    def place(name: str, size: int) -> Expression:
        return Letter(letters[name]) if size == axes.sizes[name] else number(0)

    reads = tuple(
        Read(key, tuple(map(place, names, tensor.shape)))
        for (key, tensor), names in zip(given, axes.operands, strict=True)
    )
    summed = [axes.sizes[name] for name in axes.summed]
    over = " and ".join(letters[name] for name in axes.summed)
    words = f"For every {', '.join(letters[name] for name in axes.output)}: "
    term = f"the product of {len(reads)} elements" if len(reads) > 1 else "the element"
    if summed:
        words += f"the sum over {over} of {term}, {prod(summed)} of them."
    return IndexMap(
        tuple(axes.sizes[name] for name in axes.output),
        reads,
        tuple(Loop(letters[name], axes.sizes[name]) for name in axes.summed),
        term="product",
        combine="sum",
        letters=tuple(letters[name] for name in axes.output),
        sentence=words if summed else f"{words}{term}.",
    )


def _call(equation: Any, operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation as text, and the operands by their names in the call."""
    if isinstance(equation, str):
        if len(operands) == 1 and isinstance(operands[0], tuple | list):
            items = operands[0]
            return equation, [(f"operands.0.{n}", one) for n, one in enumerate(items)]
        return equation, [(f"operands.{n}", one) for n, one in enumerate(operands)]
    given = [("equation", equation)]
    given += [
        (f"operands.{n}", operands[n]) for n in range(1, len(operands), 2)
        if hasattr(operands[n], "shape")
    ]  # fmt: skip
    lists = [operands[n] for n in range(0, len(operands), 2)][: len(given)]
    output = operands[-1] if len(operands) == 2 * len(given) else None
    return einsum_equation.written(lists, output), given
