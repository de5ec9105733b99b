"""Run and draw an operator call that was only typed, with made-up tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Protocol

import torch

from shapewright.engine.identity import DTYPES
from shapewright.index_maps.drawn_calls import Drawn, with_letters
from shapewright.runtime.operator_calls.call_context import draw_with
from shapewright.runtime.operator_calls.described_calls import (
    describe_call,
    is_described,
)
from shapewright.runtime.operator_calls.drawing import (
    RUNNABLE,
    TOO_LARGE,
    draw_call,
    iter_named_tensors,
    make_typed_tensor,
    name_arguments,
)
from shapewright.runtime.operator_calls.live_tensors import describe_chosen, run_on_meta
from shapewright.runtime.operator_calls.operator_names import (
    Unknown,
    build_layer,
    find_function,
    find_layer_class,
    find_layer_operator,
    get_identities,
)
from shapewright.runtime.operator_calls.recurrent_layers import (
    RECURRENT,
    describe_recurrent,
)


class _Typed(Protocol):
    """A tensor as the user typed it, like `f32[4, 6]`."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def letters(self) -> tuple[str | None, ...]: ...


class _TypedCall(Protocol):
    """A call as the user typed it, with `_Typed` tensors and calls as arguments."""

    @property
    def name(self) -> str: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def kwargs(self) -> dict[str, Any]: ...
    @property
    def text(self) -> str: ...
    def leaves(self) -> Iterator[_Typed]: ...
    @property
    def built(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None: ...
    @property
    def letters(self) -> dict[str, int]: ...
    @property
    def chosen(self) -> dict[str, int]: ...


SOFT = ("attention", "Attention", "attention_forward")
"""Endings of calls for which floats that count up would give a one-hot softmax."""


@dataclass(slots=True)
class _Making:
    """How tensors are made up: integers lie below `high`, and `seed` differs for each.

    With `blank` they have no values, with `soft` floats are near 0; with `tame` floats
    lie between 0 and 1, and square matrices can be inverted. `letters` are those with
    which a tensor was typed.
    """

    high: int
    seed: int = 0
    blank: bool = False
    soft: bool = False
    tame: bool = False
    letters: list[tuple[Any, tuple[str | None, ...]]] = field(default_factory=list)

    def value(self, argument: Any) -> Any:
        """Return a typed argument as a value that torch accepts."""
        if hasattr(argument, "kwargs"):
            func = find_function(argument.name)
            args = [self.value(item) for item in argument.args]
            return func(*args, **{k: self.value(v) for k, v in argument.kwargs.items()})
        if isinstance(argument, tuple | list):
            return type(argument)([self.value(item) for item in argument])
        if isinstance(argument, slice):
            ends = (argument.start, argument.stop, argument.step)
            return slice(*(self.value(end) for end in ends))
        if hasattr(argument, "fill") and hasattr(argument, "shape"):
            self.seed += 1
            if self.blank:
                dtype = DTYPES[argument.dtype]
                tensor = torch.empty(argument.shape, dtype=dtype, device="meta")
            elif (stated := _make_stated(argument)) is not None:
                tensor = stated
            else:
                more = (self.seed, self.high, self.soft)
                tensor = make_typed_tensor(argument.shape, argument.dtype, *more)
                tensor = _tame_values(tensor) if self.tame else tensor
            self.letters.append((tensor, argument.letters))
            return tensor
        name = getattr(argument, "name", None)
        return find_function(name, values=True) if isinstance(name, str) else argument


def _make_stated(argument: Any) -> torch.Tensor | None:
    """Return the values that a typed tensor states, or None if it states none."""
    make = getattr(argument, "make_values", None)
    values: torch.Tensor | None = None if make is None else make()
    return values


def perform_call(call: _TypedCall) -> Drawn:
    """Run a call that the user typed on made-up values, and draw it.

    Whole numbers are taken for indices: they lie below the size that they index, if
    that is known, else they are 0. Raises `Unknown` for a name that is no operator.
    """
    find: Any = find_function if call.built is None else find_layer_class
    func = find(call.name)
    if func is None:
        raise Unknown(call.name)
    if _count_elements(call) > RUNNABLE:
        return _draw_shapes(call)
    if _compute_upper_bound(call) > RUNNABLE:  # what comes out may be large
        shapes = _draw_shapes(call)
        if sum(side.size for side in shapes.outputs) > RUNNABLE:
            return shapes
    state = torch.get_rng_state()
    try:
        drawn = None
        for high in _iter_bounds(call):
            soft = call.name.endswith(SOFT)
            drawn = _attempt_call(call, func, _Making(high, soft=soft))
            if not drawn.error:
                return drawn
        assert drawn is not None
        # Torch may have refused the values that we made up, not the call.
        tame = _attempt_call(call, func, _Making(1, tame=True))
        return drawn if tame.error else tame
    finally:
        torch.set_rng_state(state)


def _tame_values(tensor: torch.Tensor) -> torch.Tensor:
    """Replace floats by values from 0 to 1, and square matrices by the identity."""
    if not tensor.is_floating_point() or not tensor.numel():
        return tensor
    if tensor.ndim > 1 and tensor.shape[-1] == tensor.shape[-2]:
        return (
            torch.eye(tensor.shape[-1], dtype=tensor.dtype).expand(tensor.shape).clone()
        )
    return torch.linspace(0, 1, tensor.numel()).reshape(tensor.shape).to(tensor.dtype)


def _attempt_call(call: _TypedCall, func: Any, making: _Making) -> Drawn:
    """Try the call once, with values made up in one way."""
    torch.manual_seed(0)
    args = tuple(making.value(item) for item in call.args)
    kwargs = {name: making.value(item) for name, item in call.kwargs.items()}
    if is_described(call.name):
        return describe_call(call.name, args, kwargs, call.text)
    if call.built is None:
        drawn = draw_with(func, call.name, args, kwargs, call.text)
        return _add_letters(drawn, call, making, (call.name, args, kwargs))
    try:
        layer = build_layer(func, *call.built)
        inner = find_layer_operator(layer, args, kwargs)
    except Exception as error:  # the layer refuses; it is drawn
        return draw_call(_make_raising(error), call.name, args, kwargs, call.text)
    if inner.func is None:
        drawn = draw_call(layer, call.name, args, kwargs, call.text)
        if type(layer) in RECURRENT and not drawn.error:
            return describe_recurrent(layer, drawn)
        return replace(drawn, reason=inner.reason or drawn.reason)
    named = inner.name, inner.args, inner.kwargs or {}
    drawn = draw_with(inner.func, *named, call.text)
    if drawn.error and not get_identities((args, kwargs)) <= get_identities(named):
        note = f"`{inner.name}` gets what the layer computes from its inputs"
        drawn = replace(drawn, notes=(*drawn.notes, note))
    return _add_letters(drawn, call, making, named)


def _add_letters(
    drawn: Drawn,
    call: _TypedCall,
    making: _Making,
    named: tuple[str, tuple[Any, ...], dict[str, Any]],
) -> Drawn:
    """Return the drawing with the letters that the user typed for sizes."""
    if not call.letters:
        return drawn
    letters = {
        name: typed
        for name, tensor in iter_named_tensors(name_arguments(*named))
        for lettered_tensor, typed in making.letters
        if lettered_tensor is tensor and any(typed)
    }
    lettered = with_letters(drawn, letters, call.letters)
    return replace(lettered, notes=(*lettered.notes, *describe_chosen(call.chosen)))


def _make_raising(error: Exception) -> Callable[..., Any]:
    """Return a function that raises a given error."""

    def again(*args: Any, **kwargs: Any) -> Any:
        raise error

    return again


def _iter_bounds(call: _TypedCall) -> Iterator[int]:
    """Yield upper bounds to try for the integers of a call, the likeliest first."""
    floats = [
        leaf.shape
        for leaf in call.leaves()
        if not leaf.dtype.startswith(("int", "uint", "bool")) and leaf.shape
    ]
    dim = call.kwargs.get("dim")
    if dim is None:
        dim = next((item for item in call.args if type(item) is int), None)
    constructor_args = call.built[0] if call.built is not None else ()
    named = [
        n
        for n in (*call.args, *call.kwargs.values(), *constructor_args)
        if type(n) is int
    ]
    counts = [n for n in named if n > 1]  # `num_classes`, the rows of an embedding
    yield from iter_likely_bounds(floats, dim, call.name, counts)


def iter_likely_bounds(
    floats: Sequence[tuple[int, ...]],
    dim: int | None,
    name: str,
    counts: Sequence[int] = (),
) -> Iterator[int]:
    """Yield likely upper bounds for indices, given shapes that they may index and
    `counts`.
    """
    if name.endswith(("embedding", "embedding_bag")):
        dim = 0
    tried: list[int] = []
    for shape in floats:
        if dim is not None and -len(shape) <= dim < len(shape):
            tried.append(shape[dim])
        tried.append(min(shape))
    yield from dict.fromkeys([*(tried or [10]), *counts, 1])


def _draw_shapes(call: _TypedCall) -> Drawn:
    """Draw the shapes of a call that is too large to run."""
    making = _Making(1, blank=True)
    with torch.device("meta"):
        args = tuple(making.value(item) for item in call.args)
        kwargs = {name: making.value(item) for name, item in call.kwargs.items()}
    name, func = call.name, None
    if call.built is None:
        func = find_function(name)
    else:
        layer = _build_on_meta(name, call.built)
        inner = find_layer_operator(layer, args, kwargs)
        func = layer
        if inner.func is not None:
            func, name = inner.func, inner.name
            args, kwargs = inner.args, inner.kwargs or {}
    drawn = replace(run_on_meta(func, name, args, kwargs, TOO_LARGE), text=call.text)
    return _add_letters(drawn, call, making, (name, args, kwargs))


def _count_elements(call: _TypedCall) -> int:
    """Return the number of elements in a call's inputs and in a layer's weights."""
    count = sum(prod(leaf.shape) for leaf in call.leaves())
    if call.built is not None:
        try:
            layer = _build_on_meta(call.name, call.built)
        except Exception:  # a real try tells what is wrong
            return count
        count += sum(parameter.numel() for parameter in layer.parameters())
    return count


def _compute_upper_bound(nest: Any) -> int:
    """Return the product of all sizes and integers in a call, as an upper bound."""
    if hasattr(nest, "kwargs"):
        return _compute_upper_bound((*nest.args, *nest.kwargs.values()))
    if isinstance(nest, tuple | list):
        return prod(map(_compute_upper_bound, nest))
    if hasattr(nest, "fill") and hasattr(nest, "shape"):
        return max(1, int(prod(nest.shape)))
    return max(1, abs(nest)) if type(nest) is int else 1


def _build_on_meta(name: str, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """Return a layer on the meta device, in evaluation mode."""
    kind: Any = find_layer_class(name)
    with torch.device("meta"):
        return kind(*arguments[0], **arguments[1]).eval()
