"""The user's own Python in a backward pass: hooks, custom functions, recomputation.

torch takes all modes off while `backward` runs, so without this a checkpoint would
compute its forward again for real, on the user's weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import saved_tensors_hooks

from shapewright.engine.replacement import resemble

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


def under(engine: Engine, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the run's mode on while it runs."""

    def called(*args: Any, **kwargs: Any) -> Any:
        modes = torch.overrides._get_current_function_mode_stack()
        if engine in modes or get_ident() not in engine.threads:
            return function(*args, **kwargs)
        with engine:
            return function(*args, **kwargs)

    return called


@contextmanager
def backward_seen(engine: Engine) -> Iterator[None]:
    """Backward methods of custom functions, and hooks on saved tensors, are seen."""
    node: Any = BackwardCFunction
    hooks: Any = saved_tensors_hooks
    apply, start = node.apply, hooks.__init__

    def applied(self: Any, *args: Any) -> Any:
        if getattr(self._forward_cls, "of_ours", False):
            return apply(self, *args)
        return under(engine, apply)(self, *args)

    def started(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        start(self, under(engine, pack_hook), under(engine, unpack_hook))

    node.apply, hooks.__init__ = resemble(applied, apply), resemble(started, start)
    try:
        yield
    finally:
        node.apply, hooks.__init__ = apply, start
