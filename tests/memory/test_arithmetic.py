"""The work of a step: FLOPs by module, bytes, and the time that it takes at best."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import shapewright as sw
from memory.families import FAMILIES, Encoder, LanguageModel
from memory.test_real_allocations import compute_loss
from shapewright.analysis.memory.device_memory import RATES, find_rates
from shapewright.views.terminal.memory import format_memory

UNCOUNTED = ("encoder", "language-model", "decoder")
"""Families with flash attention on the CPU, which torch's counter takes for nothing."""


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in UNCOUNTED])
def test_flops_are_those_that_torch_counts(name: str) -> None:
    family = FAMILIES[name]
    model = family.build()
    with FlopCounterMode(display=False) as counter:
        compute_loss(model(*family.inputs)).backward()
    memory = sw.memory(model, *family.inputs)
    assert memory.flops == counter.get_total_flops()


def test_flops_of_attention() -> None:
    """Two products forward, five backward, of which one computes the scores again."""

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(32))

        def forward(self, x: Tensor) -> Tensor:
            x = x * self.scale
            return F.scaled_dot_product_attention(x, x, x)

    product = 2 * 2 * 4 * 16 * 16 * 32
    for device in ("cpu", "A100 40GB"):
        memory = sw.memory(Attention(), "f32[2, 4, 16, 32]", device=device)
        flops = {
            phase: count for (phase, _), count in memory.events.sum_flops().items()
        }
        assert flops == {"forward": 2 * product, "backward": 5 * product}


def test_flops_by_module() -> None:
    memory = sw.memory(Encoder(), "f32[8, 32, 64]")
    flops = memory.events.sum_flops()
    up = 2 * 8 * 32 * 64 * 256
    for block in range(3):
        assert flops["forward", f"blocks.{block}.up"] == up
        assert flops["backward", f"blocks.{block}.up"] == 2 * up
    modules = {row["module"]: row["flops"] for row in memory.to_dict()["modules"]}
    assert modules["blocks.0.up"] == {"forward": up, "backward": 2 * up}
    assert sum(flops.values()) == memory.flops


def test_bytes_of_kernels() -> None:
    """A linear layer, its gradients, and AdamW with `foreach`."""
    memory = sw.memory(nn.Linear(64, 32, bias=False), "f32[16, 64]", device="T4")
    work = {(w.phase, w.op): w for w in memory.events.kernels}
    x, weight, y = 16 * 64 * 4, 64 * 32 * 4, 16 * 32 * 4
    assert work["forward", "mm"].bytes == x + weight + y
    assert work["forward", "mm"].flops == 2 * 16 * 64 * 32
    decay = next(w for w in memory.events.kernels if w.op == "_foreach_mul_")
    assert decay.phase == "optimizer step"
    assert decay.bytes == 2 * weight


def test_a_gather_reads_what_it_gives() -> None:
    memory = sw.memory(nn.Embedding(100_000, 64), "i64[4]", device="T4")
    (lookup,) = [w for w in memory.events.kernels if w.op == "embedding"]
    assert lookup.bytes == 2 * 4 * 64 * 4


def test_a_product_at_best() -> None:
    model = nn.Linear(4096, 4096, bias=False).eval()
    memory = sw.memory(model, "f32[4096, 4096]", device="A100 40GB", autocast="bf16")
    assert memory.estimate is not None
    size = 4096 * 4096
    product = 2 * 4096**3 / 312e12
    casts = 2 * (4 * size + 2 * size) / 1.555e12
    assert memory.estimate.seconds["forward"] == pytest.approx(product + casts)
    assert memory.estimate.arithmetic == pytest.approx(product / (product + casts))


def test_convolutions_in_float32_use_tf32() -> None:
    model = nn.Conv2d(512, 512, 3, bias=False).eval()
    memory = sw.memory(model, "f32[32, 512, 64, 64]", device="A100 40GB")
    assert memory.estimate is not None
    time = memory.flops / 156e12
    assert memory.estimate.seconds["forward"] == pytest.approx(time)


def test_parts_of_a_batch_take_as_long_as_all() -> None:
    memory = sw.memory(
        Encoder(), "f32[B=64, 32, 64]", device="T4", what_if="accumulate=4"
    )
    (row,) = memory.what_if or ()
    assert row.flops == memory.flops


@pytest.mark.parametrize(
    ("device", "autocast"), [("cpu", None), ("V100", None), ("T4", "bf16")]
)
def test_no_rate_no_estimate(device: str, autocast: str | None) -> None:
    memory = sw.memory(Encoder(), "f32[8, 32, 64]", device=device, autocast=autocast)
    assert memory.complete
    assert memory.estimate is None
    assert memory.to_dict()["estimate"] is None
    assert "at best" not in format_memory(memory)
    is_said = any("no time is estimated" in note for note in memory.notes)
    assert is_said == (device == "V100")


def test_the_lines() -> None:
    ids = torch.zeros(8, 48, dtype=torch.long)
    text = format_memory(sw.memory(LanguageModel(), ids, ids, device="A100 40GB"))
    assert "\narithmetic   " in text
    assert " forward, " in text
    assert " a step by data-sheet rates, an estimate; " in text


def test_rates_are_of_devices_and_in_order() -> None:
    for (name, size), rates in RATES.items():
        assert find_rates(name, size) is rates
        assert rates.flops["float32"] <= rates.flops["tf32"] <= rates.flops["float16"]
    assert find_rates("NVIDIA H100", 94) is None
