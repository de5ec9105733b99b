"""An operator call that was only typed: its tensors made up, the call run and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

import shapewright.rules.all  # noqa: F401  (every name that is known)
from shapewright.capture.identity import DTYPES
from shapewright.capture.lab.drawing import RUNNABLE, MetaOf, draw_call, typed_tensor
from shapewright.capture.lab.layers import built, inside, layer_class
from shapewright.capture.lab.operators import Unknown, function_of
from shapewright.rules.maps.drawn import Drawn, Side


class Typed(Protocol):
    """A tensor as typed: `f32[4, 6]`."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...


class TypedCall(Protocol):
    """A call as typed, with `Typed` and other calls among its arguments."""

    @property
    def name(self) -> str: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def kwargs(self) -> dict[str, Any]: ...
    @property
    def text(self) -> str: ...
    @property
    def built(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None: ...


@dataclass(slots=True)
class Making:
    """How tensors are made up: `high` bounds whole numbers, `seed` differs for each."""

    high: int
    seed: int = 0

    def value(self, given: Any) -> Any:
        """An argument as torch takes it."""
        if hasattr(given, "kwargs"):
            func = function_of(given.name)
            args = [self.value(item) for item in given.args]
            return func(*args, **{k: self.value(v) for k, v in given.kwargs.items()})
        if isinstance(given, tuple | list):
            return type(given)([self.value(item) for item in given])
        if isinstance(given, slice):
            ends = (given.start, given.stop, given.step)
            return slice(*(self.value(end) for end in ends))
        if hasattr(given, "fill") and hasattr(given, "shape"):
            self.seed += 1
            return typed_tensor(given.shape, given.dtype, self.seed, self.high)
        name = getattr(given, "name", None)
        return function_of(name, values=True) if isinstance(name, str) else given


def perform(call: TypedCall) -> Drawn:
    """Run a typed call on made-up values, and draw it.

    Whole numbers are taken for indices: they lie below the size that they index, where
    that can be told, else they are 0. Raises `Unknown` for a name that is no operator.
    """
    find: Any = function_of if call.built is None else layer_class
    func = find(call.name)
    if func is None:
        raise Unknown(call.name)
    if call.built is None and sum(
        size_of(leaf) for leaf in leaves((call.args, *call.kwargs.values()))
    ) > (RUNNABLE):
        return on_meta(call, func)
    state = torch.get_rng_state()
    try:
        drawn = None
        for high in bounds(call):
            drawn = attempt(call, func, high)
            if not drawn.error:
                return drawn
        assert drawn is not None
        return drawn
    finally:
        torch.set_rng_state(state)


def attempt(call: TypedCall, func: Any, high: int) -> Drawn:
    """One try, with whole numbers below `high`."""
    torch.manual_seed(0)
    making = Making(high)
    args = tuple(making.value(item) for item in call.args)
    kwargs = {name: making.value(item) for name, item in call.kwargs.items()}
    if call.built is None:
        return draw_call(func, call.name, args, kwargs, call.text)
    try:
        layer = built(func, *call.built)
        inner = inside(layer, args, kwargs)
    except Exception as error:
        return draw_call(raising(error), call.name, args, kwargs, call.text)
    if inner.func is None:
        return draw_call(layer, call.name, args, kwargs, call.text)
    return draw_call(inner.func, inner.name, inner.args, inner.kwargs or {}, call.text)


def raising(error: Exception) -> Callable[..., Any]:
    """A function that raises what was raised."""

    def again(*args: Any, **kwargs: Any) -> Any:
        raise error

    return again


def bounds(call: TypedCall) -> Iterator[int]:
    """Sizes that whole numbers of the call may index, the likeliest first."""
    floats = [
        leaf.shape
        for leaf in leaves((call.args, *call.kwargs.values()))
        if not leaf.dtype.startswith(("int", "uint", "bool")) and leaf.shape
    ]
    dim = call.kwargs.get("dim")
    if dim is None:
        dim = next((item for item in call.args if type(item) is int), None)
    if call.name.endswith(("embedding", "embedding_bag")):
        dim = 0
    tried: list[int] = []
    for shape in floats:
        if dim is not None and -len(shape) <= dim < len(shape):
            tried.append(shape[dim])
        tried.append(min(shape))
    yield from dict.fromkeys([*tried, 10, 1] if not tried else [*tried, 1])


def leaves(nest: Any) -> Iterator[Typed]:
    """The typed tensors of a nest."""
    if hasattr(nest, "kwargs"):
        yield from leaves((*nest.args, *nest.kwargs.values()))
    elif isinstance(nest, tuple | list):
        for item in nest:
            yield from leaves(item)
    elif hasattr(nest, "fill") and hasattr(nest, "shape"):
        yield nest


def size_of(leaf: Typed) -> int:
    """How many elements a typed tensor has."""
    count = 1
    for size in leaf.shape:
        count *= size
    return count


def on_meta(call: TypedCall, func: Callable[..., Any]) -> Drawn:
    """A call too large to run: shapes only, said so."""

    class Blank(Making):
        def value(self, given: Any) -> Any:
            if hasattr(given, "fill") and hasattr(given, "shape"):
                dtype = DTYPES[given.dtype]
                return torch.empty(given.shape, dtype=dtype, device="meta")
            return Making.value(self, given)

    making = Blank(1)
    args = tuple(making.value(item) for item in call.args)
    kwargs = {name: making.value(item) for name, item in call.kwargs.items()}
    sides = tuple(
        Side(str(n), leaf.shape, leaf.dtype)
        for n, leaf in enumerate(leaves((call.args, *call.kwargs.values())))
    )
    try:
        made = func(*args, **kwargs)
    except Exception as error:
        return Drawn(call.text, call.name, sides, error=str(error).split("\n")[0])
    outs = [made] if isinstance(made, torch.Tensor) else list(made)
    out_sides = []
    for n, out in enumerate(outs):
        meta = MetaOf.of(out)
        name = "out" if len(outs) == 1 else f"out.{n}"
        out_sides.append(Side(name, meta.shape, meta.dtype, meta.stride))
    reason = "too large to run and to check against torch; smaller sizes are drawn"
    return Drawn(call.text, call.name, sides, tuple(out_sides), reason=reason)
