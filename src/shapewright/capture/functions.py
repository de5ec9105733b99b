"""Custom `autograd.Function`: its `apply` is C++ that no mode sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture import nests
from shapewright.capture.identity import BLANK, Info, intern_meta
from shapewright.capture.replacement import resemble

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine


@contextmanager
def applied(engine: Engine) -> Iterator[None]:
    """`Function.apply` hands stand-ins to autograd, and its results keep their node."""
    kind = torch.autograd.Function
    original = kind.__dict__["apply"]

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        from shapewright.capture.engine import NeedsGraph

        called = original.__get__(None, cls)
        if (
            getattr(cls, "of_ours", False)
            or get_ident() not in engine.threads
            or not torch.is_grad_enabled()
            or not any(
                engine.info(value).meta.requires_grad for value in nests.tensors(args)
            )
        ):
            return called(*args, **kwargs)
        if not engine.graph:
            raise NeedsGraph(cls.__name__)
        with torch._C.DisableTorchFunction():
            ready = nests.swap(args, lambda value: stand_in(engine, value))
        out = called(*ready, **kwargs)
        with torch._C.DisableTorchFunction():
            nests.visit(out, lambda value: refresh(engine, value))
        return out

    kind.apply = resemble(classmethod(apply), original)  # type: ignore[assignment]
    try:
        yield
    finally:
        kind.apply = original  # type: ignore[method-assign]


def stand_in(engine: Engine, value: torch.Tensor) -> torch.Tensor:
    """Data-free, and known as the same tensor; whole numbers keep their values.

    The user's own tensors must not enter the graph, and in it no device may mix.
    """
    info = engine.info(value)
    whole = not (value.is_floating_point() or value.is_complex())
    if info.kind == BLANK or (whole and info.storage.known):
        return value
    twin = engine.blank_of(value)
    new = Info(info.meta, info.storage, BLANK, info.grad_fn, info.number)
    return engine.tell(twin, new)


def refresh(engine: Engine, value: torch.Tensor) -> None:
    """Read the metadata of a result again: autograd has given it a node."""
    if not value.requires_grad:
        return
    info = engine.info(value)
    name = value.grad_fn.name() if value.grad_fn is not None else None
    meta = intern_meta(engine.memo.metas, value, info.meta.device, True)
    engine.retell(value, Info(meta, info.storage, info.kind, name, info.number))
