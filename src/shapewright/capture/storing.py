"""`x.set_(y)`: the one method that writes a tensor and that no mode sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture.identity import BLANK, THEIRS, VALUED, Info, intern_meta
from shapewright.capture.private import step_aside
from shapewright.capture.replacement import resemble

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine


@contextmanager
def storages_kept(engine: Engine) -> Iterator[None]:
    """A tensor of the user's keeps its storage; what it would get is claimed."""
    original = torch.Tensor.set_

    def set_(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        # Inside our own calls our mode is off, and torch's method is meant.
        if engine not in torch.overrides._get_current_function_mode_stack():
            return original(tensor, *args, **kwargs)
        with torch._C.DisableTorchFunction():
            return claim(engine, original, tensor, args, kwargs)

    resemble(set_, original)

    def patch() -> None:
        torch.Tensor.set_ = set_  # type: ignore[method-assign, assignment]

    def unpatch() -> None:
        del torch.Tensor.set_

    @contextmanager
    def unpatched() -> Iterator[None]:
        unpatch()
        try:
            yield
        finally:
            patch()

    patch()
    step_aside.append(unpatched)
    try:
        yield
    finally:
        step_aside.remove(unpatched)
        unpatch()


def claim(
    engine: Engine, original: Any, tensor: Any, args: Any, kwargs: Any
) -> torch.Tensor:
    """`set_` on a stand-in, and what is known of the tensor after it."""
    info = engine.info(tensor)
    source = kwargs.get("source", args[0] if args else None)
    given = engine.info(source) if isinstance(source, torch.Tensor) else None
    if given is None and info.kind != THEIRS:
        if isinstance(source, torch.UntypedStorage) and source.device != tensor.device:
            engine.note("`set_` to a storage: what shares it is not known")
            source = torch.UntypedStorage(source.nbytes(), device=tensor.device)
            args = (source, *args[1:])
            info.storage.known = False
        original(tensor, *args, **kwargs)
        meta = intern_meta(
            engine.memo.metas, tensor, info.meta.device, info.meta.requires_grad
        )
        engine.retell(tensor, Info(meta, info.storage, info.kind, None, info.number))
        return tensor  # type: ignore[no-any-return]
    if info.kind == VALUED and given is not None and given.kind == VALUED:
        original(tensor, source)
        meta = intern_meta(engine.memo.metas, tensor, info.meta.device, False)
        engine.retell(tensor, Info(meta, given.storage, VALUED, None, info.number))
        return tensor  # type: ignore[no-any-return]
    if given is None:
        shape = kwargs.get("size", args[2] if len(args) > 2 else info.meta.shape)
        blank = torch.empty(shape, dtype=tensor.dtype, device="meta")
        storage = info.storage
        storage.known = False
    else:
        blank, storage = engine.blank_of(source), given.storage
    meta = intern_meta(
        engine.memo.metas, blank, info.meta.device, info.meta.requires_grad
    )
    kind = BLANK if info.kind == BLANK else THEIRS  # stood in for, from now on
    new = Info(meta, storage, kind, info.grad_fn, info.number)
    new.twin = blank.detach()
    if engine.graph and info.meta.requires_grad:
        new.twin.requires_grad_()
    if kind == BLANK:
        tensor.data = blank.detach()
    engine.retell(tensor, new)
    return tensor  # type: ignore[no-any-return]
