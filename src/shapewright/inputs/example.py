"""Specs and declared examples as the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shapewright.inputs.spec import Spec, mapped, parse
from shapewright.inputs.tensor import Range, TensorSpec

if TYPE_CHECKING:
    import torch

Make = Callable[[TensorSpec], Any]

MOST_VALUES = 1 << 20
"""A tensor with more elements than this is made without values, whatever its fill."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Inputs that a target may take, and in words where they come from.

    `inputs` is a spec, or a function that makes what the model's author declared:
    a tensor, a tuple or list of positional inputs, a dict of keyword inputs, a pair of
    both, or a spec as text. `chosen`: nobody gave or declared them, they were looked
    for until the target ran.
    """

    reason: str
    inputs: Spec | Callable[[], Any]
    chosen: bool = False

    def arguments(
        self, make: Make | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """`(args, kwargs)` of the call; a declared example runs the user's code."""
        if isinstance(self.inputs, Spec):
            return materialize(self.inputs, make)
        return declared(self.inputs(), make)


def declared(
    value: Any, make: Make | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What an author's example stands for, as `(args, kwargs)`.

    Example: a tensor ``x`` is ``((x,), {})``, ``(x, y)`` is ``((x, y), {})``,
    ``{"x": x}`` is ``((), {"x": x})``, ``((x,), {"y": y})`` is itself.
    """
    if isinstance(value, str):
        return materialize(parse(value), make)
    if isinstance(value, Spec):
        return materialize(value, make)
    if isinstance(value, Mapping):
        return (), {str(name): item for name, item in value.items()}
    if not isinstance(value, list | tuple) or hasattr(value, "_fields"):
        return (value,), {}
    if len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict):
        return value[0], dict(value[1])
    return tuple(value), {}


def materialize(
    spec: Spec, make: Make | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that a spec describes, each tensor made by `make`.

    Example: ``materialize(parse("f32[2, 3], mask=None"))`` is
    ``((<meta tensor of shape (2, 3)>,), {"mask": None})``.
    """
    making = make or data_free

    def leaf(value: Any, name: str) -> Any:
        return making(value) if isinstance(value, TensorSpec) else value

    args = tuple(mapped(value, leaf) for value in spec.args)
    return args, {name: mapped(value, leaf) for name, value in spec.kwargs.items()}


def data_free(leaf: TensorSpec) -> torch.Tensor:
    """A meta tensor, without data; the default of `materialize`."""
    import torch

    return torch.empty(
        leaf.shape,
        dtype=getattr(torch, leaf.dtype),
        device="meta",
        requires_grad=leaf.requires_grad,
    )


def filled(leaf: TensorSpec) -> torch.Tensor | None:
    """The values that a spec states, on the CPU; None where it states none.

    Example: for ``i64[3]=[3, 2, 1]`` a tensor of 3, 2, 1. Random integers come from a
    generator of their own, the same in every run. A tensor of more than `MOST_VALUES`
    elements gets no values.
    """
    import torch

    dtype = getattr(torch, leaf.dtype)
    fill, count = leaf.fill, 1
    for size in leaf.shape:
        count *= size
    if fill is None or count > MOST_VALUES:
        return None
    if fill == "arange":
        return torch.arange(count, device="cpu").to(dtype).reshape(leaf.shape)
    if isinstance(fill, Range):
        generator = torch.Generator(device="cpu").manual_seed(0)
        drawn = torch.randint(
            fill.low, fill.high, leaf.shape, generator=generator, device="cpu"
        )
        return drawn.to(dtype)
    if isinstance(fill, tuple):
        return torch.tensor(fill, dtype=dtype, device="cpu")
    number = {"zeros": 0, "ones": 1}[fill] if isinstance(fill, str) else fill
    return torch.full(leaf.shape, number, dtype=dtype, device="cpu")
