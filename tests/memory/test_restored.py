"""After a call, the model, torch's kernels and the process are as they were."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import shapewright as sw
from shapewright.engine.device_kernels import KernelChoice, use_device_kernels


class Names(TorchDispatchMode):
    """The names of the operators that run below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def list_kernels() -> list[str]:
    """Return what runs for attention, dropout and RMS norm of bare meta tensors."""
    query = torch.empty(2, 4, 16, 32, device="meta", dtype=torch.bfloat16)
    query.requires_grad_()
    with Names() as seen:
        out = F.scaled_dot_product_attention(query, query, query)
        out = F.rms_norm(F.dropout(out, 0.1), (32,))
        out.sum().backward()
        with torch.inference_mode():
            F.scaled_dot_product_attention(*[torch.empty_like(query)] * 3)
    return seen.names


@pytest.mark.parametrize("device", ["cpu", "H100 80GB", "T4"])
def test_no_registration_is_left(device: str) -> None:
    before = list_kernels()
    assert sw.memory(nn.Linear(8, 8), "f32[4, 8]", device=device).complete
    assert list_kernels() == before
    with use_device_kernels(KernelChoice((9, 0))):
        assert list_kernels() != before
    assert list_kernels() == before


def test_no_registration_is_left_by_an_error() -> None:
    before = list_kernels()
    memory = sw.memory(nn.Linear(8, 8), "f32[4, 9]", device="A100 40GB")
    assert not memory.complete
    assert memory.verdict == ""
    assert list_kernels() == before
    enabled = gc.isenabled()
    assert enabled


def test_optimizers_choose_as_before() -> None:
    assert sw.memory(nn.Linear(8, 8), "f32[4, 8]", device="T4").complete
    weight = nn.Parameter(torch.empty(3, device="meta"))
    optimizer = torch.optim.AdamW([weight])
    weight.grad = torch.empty_like(weight)
    with Names() as seen:
        optimizer.step()
    assert not any("_foreach" in name for name in seen.names)


class Net(nn.Module):
    """Has buffers that forward writes, and attributes that it sets."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.plain = torch.ones(8)
        self.last: torch.Tensor | None = None
        self.seen: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.last = self.norm(self.conv(x)).mean((2, 3)) * self.plain
        self.seen.append(self.last)
        return self.last


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("device", ["cpu", "A100 40GB"])
def test_the_model_is_as_it_was(device: str, training: bool) -> None:
    model = Net()
    parameters = dict(model.named_parameters())
    values = {name: value.clone() for name, value in model.state_dict().items()}
    x = torch.randn(2, 3, 8, 8)
    kept = x.clone()
    memory = sw.memory(model, x, device=device, training=training)
    assert memory.complete
    for name, value in model.state_dict().items():
        assert torch.equal(value, values[name]), name
    for name, parameter in model.named_parameters():
        assert parameter is parameters[name]
        assert parameter.grad is None
        assert not parameter.is_meta
    assert model.last is None
    assert model.seen == []
    assert model.training
    assert torch.equal(x, kept)
    assert model(x).shape == (2, 8)


def test_a_gradient_that_was_there_stays() -> None:
    model = nn.Linear(8, 2)
    model(torch.randn(3, 8)).sum().backward()
    gradient = model.weight.grad
    assert gradient is not None
    kept = gradient.clone()
    assert sw.memory(model, "f32[4, 8]").complete
    assert model.weight.grad is gradient
    assert torch.equal(gradient, kept)


def test_modules_have_no_hooks_left() -> None:
    from torch.nn.modules import module

    before = [len(module._global_forward_hooks), len(module._global_forward_pre_hooks)]
    resize = torch.UntypedStorage.resize_
    assert sw.memory(nn.Linear(8, 2), "f32[4, 8]").complete
    hooks = [len(module._global_forward_hooks), len(module._global_forward_pre_hooks)]
    assert hooks == before
    assert torch.UntypedStorage.resize_ is resize
