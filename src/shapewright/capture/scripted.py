"""Scripted and traced modules: no Python inside, so one opaque op with its kernels."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from shapewright.capture import nests
from shapewright.capture.identity import Info
from shapewright.capture.memo import OPAQUE, Answer
from shapewright.capture.settling import arguments_of
from shapewright.capture.tracers import FEW, Real

if TYPE_CHECKING:
    from shapewright.capture.calls import Call
    from shapewright.capture.engine import Engine


class _Below(TorchDispatchMode):
    """Sees the kernels of a scripted module and stands in for its real tensors."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.engine = engine
        self.kernels: dict[str, int] = {}
        self.real = False  # the module computes on real tensors

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is torch.ops.aten.equal.default:  # of constants, to join equal ones
            return args[0] is args[1] or (type(args[0]) is int and args[0] == args[1])
        name = str(func._overloadpacket)
        self.kernels[name] = self.kernels.get(name, 0) + 1
        if self.real:
            return func(*args, **(kwargs or {}))
        physical = nests.on_meta(nests.swap((args, kwargs or {}), self.engine.blank_of))
        return func(*physical[0], **physical[1])


def run(
    engine: Engine,
    call: Call,
    module: torch.nn.Module,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Run a scripted module on data-free tensors and record it as one op."""
    tensors = nests.tensors((args, kwargs))
    infos = [engine.info(value) for value in tensors]
    below = _Below(engine)
    try:
        out = without_data(engine, below, module, original, args, kwargs)
    except Exception as error:
        engine.error = error
        raise
    outs: list[Info] = []

    def look(value: torch.Tensor) -> torch.Tensor:
        if not hasattr(value, "_sw"):
            with torch._C.DisableTorchFunction():
                engine.tell(value, engine.first_sight(value))
        outs.append(engine.info(value))
        return value

    out = nests.swap(out, look)
    kernels = ", ".join(f"{n} x {c}" if c > 1 else n for n, c in below.kernels.items())
    call.notes = ("scripted: seen from outside only",)
    answer = Answer(
        type(module).__name__,
        arguments_of(engine, args, kwargs),
        OPAQUE,
        tuple(info.meta for info in outs),
        notes=(f"kernels: {kernels}",),
    )
    engine.record(answer, infos, tuple(outs))
    return out


def without_data(
    engine: Engine,
    below: _Below,
    module: torch.nn.Module,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What the module gives for data-free tensors.

    What asks for devices above the kernels (`lstm`) meets real weights there: a copy of
    the module computes on real tensors then, where these are small.
    """
    with torch._C.DisableTorchFunction():
        physical = nests.swap((args, kwargs), engine.blank_of)
        try:
            with below:
                return original(module, *physical[0], **physical[1])
        except RuntimeError as error:
            sizes = [tensor.numel() for tensor in nests.tensors(physical)]
            if "same device" not in str(error) or sum(sizes) > FEW:
                raise
        below.kernels.clear()
        below.real = True
        real = Real(engine).of((args, kwargs))
        with torch.random.fork_rng(devices=()), below:
            out = original(copy.deepcopy(module), *real[0], **real[1])
        return nests.swap(out, bare)


def bare(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without its numbers, which mean nothing."""
    return tensor.detach().to("meta").requires_grad_(tensor.requires_grad)
