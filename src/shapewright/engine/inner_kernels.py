"""The kernels that torch runs inside a call, with their shapes, on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from shapewright.engine import nests
from shapewright.engine.identity import DTYPE_NAMES
from shapewright.engine.memo import READ, Answer
from shapewright.engine.private import is_in_transform
from shapewright.record.ops import SHORT

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine, Plan

Tensor = torch.Tensor
MOST = 200
"""Largest number of kernels listed for a call; further ones are only counted."""


class _Seen(TorchDispatchMode):
    """Dispatch mode that lists the kernels below a call: name, shapes in and out."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lines: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        inputs = [
            _format_tensor(tensor)
            for tensor in nests.collect_tensors((args, kwargs or {}))
        ]
        place = len(self.lines)
        out = func(*args, **(kwargs or {}))
        outputs = [_format_tensor(tensor) for tensor in nests.collect_tensors((out,))]
        name = str(func._overloadpacket)
        text = f"inside: {name} {', '.join(inputs)} -> {', '.join(outputs)}"
        self.lines.insert(place, text)
        return out


def _format_tensor(tensor: Tensor) -> str:
    """Return a tensor as text: `f32[8, 4]`."""
    dtype = DTYPE_NAMES[tensor.dtype]
    return f"{SHORT.get(dtype, dtype)}[{', '.join(map(str, tensor.shape))}]"


def note_kernels(plan: Plan) -> Plan:
    """Wrap a plan so that every recorded call includes a note of its kernels."""

    def looked(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
        before = len(engine.events)
        copies = None
        if engine.recording and not is_in_transform():
            copies = nests.swap_tensors(
                (args, kwargs or {}), lambda t: _copy_tensor(engine, t)
            )
        out = plan(engine, func, args, kwargs)
        if copies is not None and len(engine.events) == before + 1:
            answer, *rest = engine.events[-1]
            if answer.kind != READ and answer.raised is None:
                lines = tuple(_iter_kernels(func, *nests.replace_devices(copies)))
                engine.events[-1] = (_add_notes(answer, lines), *rest)
        return out

    return looked


def _copy_tensor(engine: Engine, tensor: Tensor) -> Tensor:
    """Return a private data-free tensor with the same metadata."""
    meta = engine.info(tensor).meta
    if meta.layout != "strided":
        return engine.blank_of(tensor)
    last = sum((n - 1) * step for n, step in zip(meta.shape, meta.stride, strict=True))
    size = meta.offset + last + 1 if 0 not in meta.shape else 0
    with torch._C.DisableTorchFunction(), torch.no_grad():
        whole = torch.empty(size, dtype=meta.torch_dtype, device="meta")
        copy = whole.as_strided(meta.shape, meta.stride, meta.offset if size else 0)
        return copy.requires_grad_() if meta.requires_grad else copy


def _iter_kernels(func: Any, args: Any, kwargs: Any) -> Iterator[str]:
    """Yield a line of text for every kernel of a call on data-free tensors."""
    seen = _Seen()
    try:
        with torch._C.DisableTorchFunction(), torch.no_grad(), seen:
            func(*args, **kwargs)
    except Exception as error:  # torch refuses
        yield f"inside: not known ({type(error).__name__})"
        return
    yield from seen.lines[:MOST]
    if len(seen.lines) > MOST:
        yield f"inside: {len(seen.lines) - MOST} more kernels"


def _add_notes(answer: Answer, lines: tuple[str, ...]) -> Answer:
    """Return a copy of an answer with more notes; the memoized answer is unchanged."""
    copy = Answer(
        answer.func,
        answer.arguments,
        answer.kind,
        answer.metas,
        answer.grad_fns,
        answer.template,
        answer.flops,
        (*answer.notes, *lines),
        answer.written,
    )
    copy.hidden = answer.hidden
    return copy
