"""Building a model whose parameters are never allocated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any

import torch

from shapewright.capture.defaults import claimed_defaults
from shapewright.capture.downloads import downloads_stood_for
from shapewright.capture.engine import Engine
from shapewright.capture.generators import generators_claimed
from shapewright.capture.guarding import guarded, patched
from shapewright.capture.identity import BLANK, Info, Storage, intern_meta
from shapewright.capture.nested_tensors import nested_tensors_refused
from shapewright.capture.private import UninitializedTensor, step_aside
from shapewright.capture.replacement import resemble
from shapewright.capture.threads import followed
from shapewright.capture.tracers import tracers_kept


@contextmanager
def building(
    *, put_back: bool = True, supposed: list[str] | None = None
) -> Iterator[Engine]:
    """Constructors run for real, but what they allocate holds no data.

    Without `put_back`, what the program sets in the process (a default dtype, a seed)
    stays for the run that follows. Weights are not downloaded; `supposed` is told so.

    Example: inside it, ``nn.Linear(16384, 53248)`` costs no memory and `nn.init` no
    time, while ``torch.linspace(0, 0.1, 12)[3].item()`` is a number as ever.
    """
    engine = Engine()
    engine.recording = False
    with ExitStack() as stack:
        stack.enter_context(guarded() if put_back else patched())
        stack.enter_context(blank_parameters(engine))
        stack.enter_context(claimed_defaults(engine))
        stack.enter_context(generators_claimed(engine))
        stack.enter_context(tracers_kept())
        stack.enter_context(nested_tensors_refused(engine))
        told = [] if supposed is None else supposed
        stack.enter_context(downloads_stood_for(told.append))
        stack.enter_context(followed(engine))
        stack.enter_context(engine)
        yield engine


@contextmanager
def blank_parameters(engine: Engine) -> Iterator[None]:
    """`nn.Parameter(x)` keeps what is claimed of x, and none of its data.

    `Parameter.__new__` ends in `Tensor._make_subclass`, which no mode sees.
    """
    original = torch.Tensor._make_subclass
    inherited = "_make_subclass" not in vars(torch.Tensor)

    def make_subclass(cls: Any, data: Any, *rest: Any, **named: Any) -> Any:
        if type(data) is not torch.Tensor and not isinstance(data, torch.nn.Parameter):
            return original(cls, data, *rest, **named)
        if get_ident() not in engine.threads:
            return original(cls, data, *rest, **named)
        info = engine.info(data)
        if info.meta.layout != "strided":
            return original(cls, data, *rest, **named)
        with torch._C.DisableTorchFunction():
            blank = engine.blank_of(data).detach()
            made = original(cls, blank, *rest, **named)
            # Read here, or the run would adopt it as yours.
            rg = made.requires_grad
            if isinstance(made, UninitializedTensor):
                return made  # without a shape: claimed once its first input gives one
            meta = intern_meta(engine.memo.metas, made, info.meta.device, rg)
        storage = info.storage if info.kind == BLANK else Storage(info.meta.device)
        new = Info(meta, storage, BLANK)
        if rg and not engine.graph:
            new.twin = blank
        engine.tell(made, new)
        return made

    resemble(make_subclass, original)

    def patch() -> None:
        torch.Tensor._make_subclass = staticmethod(make_subclass)  # type: ignore[method-assign]

    def unpatch() -> None:
        if inherited:
            del torch.Tensor._make_subclass
        else:
            torch.Tensor._make_subclass = original  # type: ignore[method-assign]

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
