"""`DataParallel`: torch's own, over devices that are claimed, one after the other."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.capture.replacement import replaced

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage


@contextmanager
def replicas_stood_for(stage: Stage) -> Iterator[None]:
    """What torch does between devices is done on tensors that claim them."""
    parallel: Any = nn.parallel
    module = sys.modules["torch.nn.parallel.data_parallel"]  # a function has its name
    places = (
        (parallel.scatter_gather, "Scatter", Scatter),
        (parallel.scatter_gather, "Gather", Gather),
        (parallel._functions, "Broadcast", Broadcast),
        (parallel.comm, "broadcast_coalesced", broadcast_coalesced),
        (module, "parallel_apply", one_by_one),
    )
    with ExitStack() as stack:
        stack.enter_context(replaced(module, "replicate", partial(known, stage)))
        for owner, name, value in places:
            if name in vars(owner):
                stack.enter_context(replaced(owner, name, partial(instead, value)))
        yield


def instead(value: Any, original: Any) -> Any:
    """What stands for it."""
    return value


def known(stage: Stage, original: Any) -> Any:
    """Replicas have the names of the modules that they are copies of."""

    def replicate(network: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(network, *args, **kwargs)
        calls = stage.calls
        calls.path_of(network)
        for replica in made:
            for module, copy in zip(network.modules(), replica.modules(), strict=False):
                calls.paths[id(copy)] = calls.path_of(module)
                calls.alive[id(copy)] = copy
        return made

    return replicate


def named(device: Any) -> Any:
    """A device as `to` takes it."""
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return device


class Scatter:
    """A tensor in parts, one for each device."""

    @staticmethod
    def apply(devices: Sequence[Any], sizes: Any, dim: int, tensor: Any) -> Any:
        parts = (
            tensor.chunk(len(devices), dim)
            if sizes is None
            else tensor.split(sizes, dim)
        )
        return tuple(
            part.to(named(device)) for part, device in zip(parts, devices, strict=False)
        )


class Gather:
    """Parts joined on one device; scalars become a vector, with torch's warning."""

    @staticmethod
    def apply(device: Any, dim: int, *parts: Any) -> Any:
        if dim == 0 and all(part.dim() == 0 for part in parts):
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were "
                "scalars; will instead unsqueeze and return a vector.",
                stacklevel=2,
            )
            parts = tuple(part.view(1) for part in parts)
        return torch.cat([part.to(named(device)) for part in parts], dim)


class Broadcast:
    """Tensors on each device: those of the first, then those of the next."""

    @staticmethod
    def apply(devices: Sequence[Any], *tensors: Any) -> Any:
        return tuple(
            tensor.view_as(tensor) if at == 0 else tensor.to(named(device))
            for at, device in enumerate(devices)
            for tensor in tensors
        )


def broadcast_coalesced(tensors: Any, devices: Any, *args: Any) -> list[list[Any]]:
    """The same without gradients; on the first device they are not even copied."""
    return [
        [tensor if at == 0 else tensor.detach().to(named(device)) for tensor in tensors]
        for at, device in enumerate(devices)
    ]


def one_by_one(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs: Any = None, *devices: Any
) -> list[Any]:
    """Each replica with its part."""
    named_too = kwargs or [{} for _ in modules]
    return [
        module(*(part if isinstance(part, tuple | list) else (part,)), **more)
        for module, part, more in zip(modules, inputs, named_too, strict=True)
    ]
