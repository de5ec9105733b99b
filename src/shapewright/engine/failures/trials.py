"""A call tried again with other arguments, and nothing of the try kept."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.identity import (
    BLANK,
    DTYPES,
    VALUED,
    Info,
    Storage,
    contiguous_stride,
    intern_meta,
)

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
FAILED = object()
"""What a try gives that torch refuses."""


@contextmanager
def unseen(engine: Engine) -> Iterator[None]:
    """Calls answered meanwhile leave nothing in the record."""
    kept = engine.recording, engine.error
    assumptions, findings = dict(engine.assumptions), dict(engine.findings)
    notes, events = dict(engine.notes), len(engine.events)
    failures, engine.failures = engine.failures, None
    engine.recording = False
    try:
        yield
    finally:
        engine.recording, engine.error = kept
        engine.assumptions, engine.findings = assumptions, findings
        engine.notes, engine.failures = notes, failures
        del engine.events[events:]


def tried(engine: Engine, plan: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """What the call gives, or `FAILED`."""
    with unseen(engine), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a call that the program does not make
        try:
            return plan(engine, func, args, kwargs)
        except Exception:
            return FAILED


def fresh(
    engine: Engine,
    info: Info,
    shape: tuple[int, ...] | None = None,
    stride: tuple[int, ...] | None = None,
    dtype: str | None = None,
) -> Tensor:
    """A tensor like this one that nobody else holds; changed where it is asked."""
    meta = info.meta
    if shape is None:
        shape, stride = meta.shape, stride or meta.stride
    kind = DTYPES[dtype] if dtype else meta.torch_dtype
    grad = meta.requires_grad and (kind.is_floating_point or kind.is_complex)
    with torch._C.DisableTorchFunction(), torch.no_grad():
        made = torch.empty_strided(
            shape, stride or contiguous_stride(shape), dtype=kind, device="meta"
        )
        made.requires_grad_(grad)
    known = intern_meta(engine.memo.metas, made, meta.device, grad)
    return engine.tell(made, Info(known, Storage(meta.device), BLANK, info.grad_fn))


def copies(engine: Engine, args: Any, kwargs: Any) -> list[Tensor]:
    """A copy of each tensor of a call, small known ones with their values."""
    found = []
    for tensor in nests.tensors((args, kwargs)):
        info = engine.info(tensor)
        if info.storage.known and info.kind != BLANK and info.meta.stride:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                copy = engine.value_of(tensor).detach().clone()
            storage = Storage(info.meta.device, known=True)
            meta = intern_meta(engine.memo.metas, copy, info.meta.device, False)
            found.append(engine.tell(copy, Info(meta, storage, VALUED)))
        else:
            found.append(fresh(engine, info))
    return found


def replaced(args: Any, kwargs: Any, tensors: list[Tensor]) -> tuple[Any, Any]:
    """The arguments with their tensors replaced, in order."""
    each = iter(tensors)
    changed = nests.swap((args, kwargs), lambda tensor: next(each))
    return changed  # type: ignore[no-any-return]
