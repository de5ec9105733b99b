"""A model as torch's fake tensors see it, for the time of one symbolic run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from shapewright.engine import nests
from shapewright.engine.private import UninitializedTensor


def shape_of(tensor: torch.Tensor) -> Any:
    """A leaf of a nest of results."""
    return Leaf(tuple(tensor.shape))


@dataclass(frozen=True, slots=True)
class Leaf:
    sizes: tuple[Any, ...]


@contextmanager
def quiet() -> Iterator[None]:
    """Torch logs each call that it refuses; here that is an answer."""
    names = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolicshape_ofs")
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Convolutions choose a CPU kernel by the batch (`B < 16`), which is no demand.

    The public switch of oneDNN warns about other flags, so its private one is used.
    """
    kinds = [kind for kind in ("mkldnn", "nnpack") if hasattr(torch._C, _switch(kind))]
    before = {kind: getattr(torch._C, f"_get_{kind}_enabled")() for kind in kinds}
    for kind in kinds:
        getattr(torch._C, _switch(kind))(False)
    try:
        yield
    finally:
        for kind, enabled in before.items():
            getattr(torch._C, _switch(kind))(enabled)


def _switch(kind: str) -> str:
    return f"_set_{kind}_enabled"


@contextmanager
def faked(modules: list[nn.Module]) -> Iterator[None]:
    """Parameters and buffers stand as fake tensors, where the program claims them."""
    made: dict[int, Any] = {}
    before: list[tuple[dict[str, Any], dict[str, Any]]] = []
    try:
        for module in modules:
            for states in (module._parameters, module._buffers):
                before.append((states, dict(states)))
                for name, tensor in states.items():
                    if tensor is not None and id(tensor) not in made:
                        made[id(tensor)] = _fake(tensor)
                    if tensor is not None:
                        states[name] = made[id(tensor)]
            if isinstance(module, nn.RNNBase):  # it holds its weights twice
                held = vars(module)
                before.append((held, {"_flat_weights": held["_flat_weights"]}))
                held["_flat_weights"] = [
                    getattr(module, name, None) for name in module._flat_weights_names
                ]
        yield
    finally:
        for states, tensors in before:
            states.update(tensors)


def _fake(tensor: torch.Tensor) -> torch.Tensor:
    """A fake tensor as another; what is on no device stands on the CPU."""
    if tensor.layout is not torch.strided or isinstance(tensor, UninitializedTensor):
        return tensor
    info = getattr(tensor, "_sw", None)
    device = info.meta.device if info is not None else str(tensor.device)
    fake = torch.empty_strided(
        tuple(tensor.shape),
        tensor.stride(),
        dtype=tensor.dtype,
        device="cpu" if device == "meta" else device,
    )
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(fake, requires_grad=tensor.requires_grad)
    return fake


@contextmanager
def watched(
    modules: list[tuple[str, nn.Module]], seen: dict[tuple[str, int], Any]
) -> Iterator[None]:
    """Note what each call of a module returns, by its path and count."""
    paths = {id(module): path for path, module in reversed(modules)}
    counts: dict[str, int] = {}
    running: list[tuple[str, int]] = []

    def begin(module: nn.Module, args: Any) -> None:
        path = paths.get(id(module))
        if path is not None:
            counts[path] = counts.get(path, 0) + 1
            running.append((path, counts[path]))

    def end(module: nn.Module, args: Any, output: Any) -> None:
        path = paths.get(id(module))
        while path is not None and running:
            key = running.pop()
            if key[0] == path:
                seen[key] = nests.snapshot(output, shape_of)
                return

    hooks = [register_module_forward_pre_hook(begin)]
    hooks.append(register_module_forward_hook(end))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def fed(shape: list[Any], dtype: str, device: str) -> torch.Tensor:
    """An input of a symbolic run, some of its sizes symbols."""
    claimed = "cpu" if device == "meta" else device
    return torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=claimed)
