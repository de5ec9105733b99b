"""Which kernels meta tensors take for a device: on the CPU, those of a real call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import shapewright as sw
from memory.test_restored import Names
from shapewright.engine.device_kernels import (
    KernelChoice,
    choose_cpu_attention,
    choose_gpu_attention,
    use_device_kernels,
)

MASKS = {
    "none": None,
    "bool": torch.ones(16, 16, dtype=torch.bool),
    "float": torch.zeros(2, 1, 16, 16),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("width", [32, 20])
def test_attention_on_the_cpu(
    mask: str, dropout: float, heads: int, width: int
) -> None:
    def list_operators(device: str) -> list[str]:
        query = torch.empty(2, 4, 16, 32, device=device, requires_grad=True)
        key = torch.empty(2, heads, 16, 32, device=device, requires_grad=True)
        value = torch.empty(2, heads, 16, width, device=device, requires_grad=True)
        bias = MASKS[mask]
        bias = None if bias is None else bias.to(device)
        with Names() as seen:
            out = F.scaled_dot_product_attention(
                query, key, value, bias, dropout, enable_gqa=heads != 4
            )
            out.sum().backward()
        return [name for name in seen.names if "scaled_dot" in name]

    with use_device_kernels(KernelChoice()):
        seen = list_operators("meta")
    assert seen == list_operators("cpu")
    tensors = [
        torch.empty(2, n, 16, w) for n, w in ((4, 32), (heads, 32), (heads, width))
    ]
    bias = MASKS[mask]
    flash = torch._fused_sdp_choice(*tensors, bias, dropout, enable_gqa=heads != 4)
    choice = choose_cpu_attention(
        *tensors, bias, dropout, heads != 4  # type: ignore[arg-type]
    )  # fmt: skip
    assert (choice == "flash") == (flash == 1)


CHOICES: list[tuple[tuple[int, int], torch.dtype, bool, int, str]] = [
    ((7, 5), torch.float32, False, 64, "efficient"),
    ((7, 5), torch.float16, False, 64, "efficient"),
    ((7, 5), torch.bfloat16, False, 64, "math"),
    ((8, 0), torch.float32, False, 64, "efficient"),
    ((8, 0), torch.bfloat16, False, 64, "flash"),
    ((8, 0), torch.bfloat16, True, 64, "efficient"),
    ((8, 0), torch.float64, False, 64, "math"),
    ((8, 9), torch.float16, False, 256, "flash"),
    ((9, 0), torch.bfloat16, False, 64, "cudnn"),
    ((9, 0), torch.bfloat16, True, 64, "cudnn"),
    ((9, 0), torch.float32, False, 64, "efficient"),
    ((9, 0), torch.bfloat16, False, 256, "flash"),
]


@pytest.mark.parametrize(("capability", "dtype", "masked", "width", "kernel"), CHOICES)
def test_attention_on_a_gpu(
    capability: tuple[int, int],
    dtype: torch.dtype,
    masked: bool,
    width: int,
    kernel: str,
) -> None:
    """The rules of `sdp_utils.cpp`, which no GPU has confirmed here."""
    query = torch.empty(2, 4, 16, width, device="meta", dtype=dtype, requires_grad=True)
    mask = torch.empty(16, 16, device="meta", dtype=torch.bool) if masked else None
    choice = choose_gpu_attention(capability, query, query, query, mask, 0.0, False)
    assert choice == kernel
    with use_device_kernels(KernelChoice(capability)), Names() as seen:
        F.scaled_dot_product_attention(query, query, query, mask).sum().backward()
    ran = any(f"product_{kernel}_attention_backward" in name for name in seen.names)
    assert ran == (kernel != "math")


def count_saved(module: Any, device: str) -> int:
    memory = sw.memory(module, "f32[64, 128, 256]", device=device, optimizer="none")
    kinds = [origin.kind for origin in memory.events.storages]
    return sum(
        event.bytes
        for event in memory.events.events
        if event.step == 2 and kinds[event.storage] == "activations"
    )


def test_dropout_keeps_booleans_on_a_gpu() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(256, 256)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.dropout(self.layer(x), 0.1, self.training)

    elements = 64 * 128 * 256
    assert count_saved(Net(), "cpu") == 4 * elements
    assert count_saved(Net(), "A100 40GB") == elements


def test_rms_norm_keeps_a_number_for_each_row_on_a_gpu() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.RMSNorm(256)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(x)

    assert count_saved(Net(), "A100 40GB") == 64 * 128 * 4


def test_sizes_are_rounded_up_on_a_gpu_only() -> None:
    model = torch.nn.Linear(3, 1)
    assert sw.memory(model, "f32[1, 3]").peak.kinds["parameters"] == 16
    memory = sw.memory(model, "f32[1, 3]", device="T4")
    assert memory.peak.kinds["parameters"] == 1024


def test_adam_makes_lists_of_tensors_on_a_gpu() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8)))
    cpu = sw.memory(model, "f32[1, 256]").peak
    gpu = sw.memory(model, "f32[1, 256]", device="A100 40GB").peak
    assert cpu.phase == gpu.phase == "optimizer step"
    assert cpu.kinds["temporary"] < 2 * 256 * 256 * 4 + 10_000
    assert gpu.kinds["temporary"] >= gpu.kinds["parameters"]
