"""A call drawn, with what stands beside the picture: autograd, dispatch, its device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from shapewright.capture.identity import DTYPE_NAMES
from shapewright.capture.lab import dispatcher
from shapewright.capture.lab.copying import Copies, spans
from shapewright.capture.lab.dispatching import way
from shapewright.capture.lab.drawing import MetaOf, draw_call, tensors_of
from shapewright.capture.lab.gradients import Fresh, gradients
from shapewright.rules.maps.beside import Autograd, Beside
from shapewright.rules.maps.drawn import Drawn
from shapewright.rules.registry import RULES

Tensor = torch.Tensor


def draw_with(
    func: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    text: str,
) -> Drawn:
    """`draw_call`, and what stands beside its picture.

    The arguments are copies already; the call runs a few times more, on copies of them.
    """
    with torch.inference_mode(False):
        kept = Copies(spans(list(tensors_of((*args, *kwargs.values())))))
        args_kept, kwargs_kept = kept.of(args), kept.of(kwargs)
    drawn = draw_call(func, name, args, kwargs, text)
    if drawn.error or not drawn.outputs:
        return drawn

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = list(tensors_of((*args_kept, *kwargs_kept.values())))
        copies = Copies(spans(given))
        return copies.of(args_kept), copies.of(kwargs_kept)

    with warnings.catch_warnings(action="ignore"), torch.inference_mode(False):
        return replace(drawn, beside=beside(func, name, fresh))


def beside(func: Callable[..., Any], name: str, fresh: Fresh) -> Beside:
    """What there is to say beside a call that torch takes."""
    args, kwargs = fresh()
    given = [t for t in tensors_of((*args, *kwargs.values())) if isinstance(t, Tensor)]
    try:
        found, called = gradients(func, name, fresh)
    except Exception as error:  # a picture does not fail for want of a gradient
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        found, called = Autograd(reason=f"torch: {said}"), None
    try:
        args_new, kwargs_new = fresh()
        with torch.no_grad():
            seen = dispatcher.overloads(lambda: func(*args_new, **kwargs_new))
    except Exception:  # an operator that no dispatch mode takes
        seen = {}
    dispatch = way(called, seen, given)
    default = DTYPE_NAMES[torch.get_default_dtype()]
    counted, at = flops(name, args, kwargs), device(given, kwargs)
    return Beside(found, dispatch, counted, at, default)


def device(given: list[Tensor], kwargs: dict[str, Any]) -> str:
    """The device that the call asks for, else that of its tensors, else of new ones."""
    asked = kwargs.get("device")
    if asked is not None:
        return str(asked)
    return str(given[0].device if given else torch.get_default_device())


def flops(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """What the record of a trace counts for the call."""
    one = RULES.get(name)
    if one is None or one.flops is None:
        return None

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            return MetaOf.of(value)
        if type(value) in (tuple, list):
            return type(value)(plain(item) for item in value)
        return value

    try:
        return one.flops(
            *map(plain, args), **{key: plain(value) for key, value in kwargs.items()}
        )
    except Exception:  # arguments that the formula does not know
        return None
