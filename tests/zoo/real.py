"""Models of other people run for real on the CPU, whatever their size.

Every parameter is a view of one stretch of zeros that takes no memory as long as it is
only read. So the largest default config can say for itself whether it takes an input:
no data-free tensor, no part of Shapewright is involved.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from shapewright.inputs.spec import Spec

NOT_RESERVED = 0x4000
"""`MAP_NORESERVE` of Linux, which Python's `mmap` does not name."""


@contextmanager
def hollow() -> Iterator[None]:
    """Parameters keep no data from where they are registered; buffers do."""
    before = nn.Module.register_parameter

    def register(self: nn.Module, name: str, parameter: Any) -> None:
        if parameter is not None and parameter.device.type != "meta":
            empty = torch.empty_like(parameter, device="meta")
            parameter = nn.Parameter(empty, parameter.requires_grad)
        before(self, name, parameter)

    nn.Module.register_parameter = register  # type: ignore[method-assign]
    try:
        yield
    finally:
        nn.Module.register_parameter = before  # type: ignore[method-assign]


def with_zeros(model: nn.Module) -> nn.Module:
    """The model with zeros for its parameters, all in the same place."""
    largest = max((p.numel() * p.element_size() for p in model.parameters()), default=0)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NOT_RESERVED
    room = mmap.mmap(-1, largest // 16 * 16 + 16, flags=flags)
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                whole = torch.frombuffer(room, dtype=parameter.dtype)
                zeros = whole[: parameter.numel()].view(parameter.shape)
                module._parameters[name] = nn.Parameter(zeros, requires_grad=False)
    return model


def built(make: Callable[[], nn.Module]) -> nn.Module:
    """A model made by its own constructor, on the CPU."""
    with hollow():
        model = make()
    return with_zeros(model).eval()


def run(model: nn.Module, spec: Spec) -> str:
    """`ran`, or what the model or torch says of these inputs."""
    from shapewright.inputs.spec import materialize_spec

    args, kwargs = materialize_spec(spec, tensor)
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    except (Exception, SystemExit) as error:
        first = str(error).strip().splitlines()
        return f"{type(error).__name__}: {first[0] if first else ''}"[:200]
    return "ran"


def tensor(leaf: Any) -> torch.Tensor:
    """A real tensor of a spec: its values where they are stated, else noise."""
    from shapewright.inputs.spec import make_filled

    values, kind = make_filled(leaf), getattr(torch, leaf.dtype)
    if isinstance(values, torch.Tensor):
        return values.clone()
    if kind.is_floating_point or kind.is_complex:
        return torch.randn(leaf.shape, dtype=kind)
    return torch.zeros(leaf.shape, dtype=kind)
