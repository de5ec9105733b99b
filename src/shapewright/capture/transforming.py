"""Transforms of `torch.func` wrap tensors in C++ that no mode sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
import torch._functorch.eager_transforms
import torch._functorch.vmap
import torch.autograd.forward_ad

from shapewright.capture import nests
from shapewright.capture.functions import stand_in
from shapewright.capture.replacement import resembling

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

ENTRIES = (
    (torch._functorch.vmap, "_add_batch_dim"),
    (torch._functorch.eager_transforms, "_wrap_for_grad"),
    (torch.autograd.forward_ad, "make_dual"),
)
"""Where a transform takes hold of a tensor."""


@contextmanager
def transforms_seen(engine: Engine) -> Iterator[None]:
    """Transforms wrap data-free tensors."""
    with ExitStack() as stack:
        for module, name in ENTRIES:
            stack.enter_context(replaced(module, name, entry(engine)))
        for module, name in EXITS:
            stack.enter_context(replaced(module, name, left(engine)))
        yield


EXITS = ((torch._functorch.vmap, "_remove_batch_dim"),)
"""Where it gives one back."""


Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@contextmanager
def replaced(module: Any, name: str, wrap: Wrap) -> Iterator[None]:
    """A function of torch's, wrapped for the time of the run."""
    original = vars(module)[name]
    wrapped = resembling(original, wrap)
    setattr(module, name, wrapped)
    try:
        yield
    finally:
        if vars(module)[name] is wrapped:
            setattr(module, name, original)


def left(engine: Engine) -> Wrap:
    """What a transform gives back claims the device of what was wrapped."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(wrapped: Any, *args: Any, **kwargs: Any) -> Any:
            out = original(wrapped, *args, **kwargs)
            if get_ident() in engine.threads and isinstance(wrapped, torch.Tensor):
                claim = engine.info(wrapped).meta.device
                if claim != engine.home and not engine.known(out):
                    engine.adopt(out, claim)
            return out

        return leave

    return wrap


def entry(engine: Engine) -> Wrap:
    """What a transform wraps is data-free, and has torch's own graph below."""
    from shapewright.capture.engine import NeedsGraph

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(*args: Any, **kwargs: Any) -> Any:
            if get_ident() not in engine.threads:
                return original(*args, **kwargs)
            if not engine.graph:
                raise NeedsGraph(original.__name__)
            with torch._C.DisableTorchFunction():
                args, kwargs = nests.swap(
                    (args, kwargs), lambda value: stand_in(engine, value)
                )
            return original(*args, **kwargs)

        return enter

    return wrap
