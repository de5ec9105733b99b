"""What calls need, by dotted torch name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shapewright.rules.needs.unmet import Unmet

Needs = Callable[..., Unmet | None]
"""Mirrors the torch function's signature, with `Meta` where the call has a tensor, as a
metadata rule does. It is only asked of calls that torch refused, and answers the first
thing that does not fit, or None where it knows nothing to say."""

NEEDS: dict[str, Needs] = {}
"""Every registered need, by each of its names."""


LAYERS: dict[str, Callable[..., Unmet | None]] = {}
"""Needs of layers whose Python code refuses their input, by class name. The first
argument is a mapping of the layer's settings (`hidden_size`, `batch_first`), the others
are those of `forward`."""


def layer_needs(*names: str) -> Callable[[Needs], Needs]:
    """Register the decorated function for layers: ``@layer_needs("LSTM", "GRU")``."""

    def register(function: Needs) -> Needs:
        for name in names:
            assert name not in LAYERS, f"two needs for the layer {name}"
            LAYERS[name] = function
        return function

    return register


def needs(*names: str) -> Callable[[Needs], Needs]:
    """Register the decorated function for `names`, dotted names under `torch`.

    Example::

        @needs("torch.nn.functional.linear")
        def linear(input, weight, bias=None):
            return Unmet("linear-features", "{op} needs ...")
    """

    def register(function: Needs) -> Needs:
        for name in names:
            assert name not in NEEDS, f"two needs for {name}"
            NEEDS[name] = function
        return function

    return register


def unmet(function: Needs | None, args: Any, kwargs: Any) -> Unmet | None:
    """What does not fit; a need that is itself at fault says nothing."""
    if function is None:
        return None
    try:
        return function(*args, **kwargs)
    except Exception:  # torch's own words are shown instead
        return None
