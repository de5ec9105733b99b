"""What a step takes without data is what torch's profiler sees of a real one.

The oracle are the `[memory]` events of `torch.profiler`: every allocation, to the byte.
"""

from __future__ import annotations

import bisect
import gc
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

import shapewright as sw
from memory.families import FAMILIES, Family, Recurrent
from shapewright.record.memory import FORWARD, Memory

OPTIMIZERS = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


def find_phase_peaks(memory: Memory) -> dict[str, int]:
    """Return the most bytes in each phase of the second step."""
    sizes: dict[int, int] = {}
    peaks: dict[str, int] = {}
    total = 0
    for event in memory.events.events:
        total += event.bytes - sizes.get(event.storage, 0)
        sizes[event.storage] = event.bytes
        if event.step == 2:
            peaks[event.phase] = max(peaks.get(event.phase, 0), total)
    return peaks


def sum_storages(tensors: list[torch.Tensor]) -> int:
    storages = {t.untyped_storage()._cdata: t.untyped_storage() for t in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def compute_loss(output: torch.Tensor) -> torch.Tensor:
    return output.mean() if output.dim() else output


CONVOLUTIONS = (
    "aten::mkldnn_convolution", "aten::_slow_conv2d_forward",
    "aten::convolution_backward",
)  # fmt: skip
"""Kernels with scratch that depends on the CPU: operands in a layout of their own."""


def measure_training(
    model: nn.Module,
    inputs: tuple[Any, ...],
    kind: Any,
    scratch_of: tuple[str, ...] = CONVOLUTIONS,
) -> dict[str, int]:
    """Return the most bytes in each phase of a second, real step.

    What the kernels of `scratch_of` allocate and free themselves is left out.
    """
    optimizer = kind(model.parameters())

    def step() -> None:
        with record_function("sw forward"):
            loss = compute_loss(model(*inputs))
        with record_function("sw backward"):
            loss.backward()
        with record_function("sw optimizer step"):
            optimizer.step()

    step()
    optimizer.zero_grad()
    state = [v for values in optimizer.state.values() for v in values.values()]
    state = [v for v in state if isinstance(v, torch.Tensor)]
    base = sum_storages([*model.parameters(), *model.buffers(), *inputs, *state])
    return profile_peaks(step, base, scratch_of)


def profile_peaks(
    step: Any, base: int, scratch_of: tuple[str, ...] = ()
) -> dict[str, int]:
    """Return the most bytes in each phase of a call of `step`, from `base` on."""
    gc.collect()
    gc.disable()
    try:
        activities = [ProfilerActivity.CPU]
        with profile(activities=activities, profile_memory=True) as profiled:
            step()
    finally:
        gc.enable()
    events = profiled.profiler.kineto_results.events()  # type: ignore[union-attr]
    phases = sorted(
        (event.start_ns(), event.name()[3:])
        for event in events
        if event.name().startswith("sw ")
    )
    changes = sorted(
        (event.start_ns(), event.nbytes())
        for event in events
        if event.name() == "[memory]"
    )
    kernels = [
        (event.start_ns(), event.end_ns())
        for event in events
        if event.name() in scratch_of
    ]
    scratch = find_scratch(changes, kernels)
    changes = [change for change in changes if change not in scratch]
    peaks: dict[str, int] = {}
    for time, size in changes:
        base += size
        at = max(bisect.bisect_right(phases, (time, "~")) - 1, 0)
        phase = phases[at][1] if phases else FORWARD
        peaks[phase] = max(peaks.get(phase, 0), base)
    return peaks


def find_scratch(
    changes: list[tuple[int, int]], kernels: list[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Return the changes that a kernel makes and takes back before it returns."""
    scratch: set[tuple[int, int]] = set()
    for began, ended in kernels:
        allocated: list[tuple[int, int]] = []
        for change in changes:
            if not began <= change[0] <= ended or change in scratch:
                continue
            if change[1] > 0:
                allocated.append(change)
                continue
            pair = next((c for c in reversed(allocated) if c[1] == -change[1]), None)
            if pair is not None:
                allocated.remove(pair)
                scratch |= {pair, change}
    return scratch


def check_equal(family: Family, seen: dict[str, int], real: dict[str, int]) -> None:
    """Compare the peaks of the phases, but for scratch that no operator returns."""
    assert seen.keys() == real.keys()
    for phase, size in real.items():
        assert 0 <= size - seen[phase] <= family.scratch, (phase, family.cause)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_training_step(name: str, optimizer: str) -> None:
    family = FAMILIES[name]
    model = family.build()
    memory = sw.memory(model, *family.inputs, optimizer=optimizer)
    assert memory.complete
    real = measure_training(model, family.inputs, OPTIMIZERS[optimizer])
    check_equal(family, find_phase_peaks(memory), real)


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd", "adagrad"])
def test_a_fused_optimizer(name: str) -> None:
    """One kernel for all parameters, which needs no temporary tensors."""
    family = FAMILIES["mlp"]
    model = family.build()
    memory = sw.memory(model, *family.inputs, optimizer=f"{name}(fused=True)")
    assert memory.complete
    kinds: dict[str, Any] = {
        "adamw": torch.optim.AdamW, "adam": torch.optim.Adam,
        "sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad,
    }  # fmt: skip
    real = measure_training(model, family.inputs, partial(kinds[name], fused=True))
    cause = "the counts of steps are added to in a second list of numbers"
    family = replace(family, scratch=16, cause=cause)
    check_equal(family, find_phase_peaks(memory), real)


class Mixer(nn.Module):
    """A layer over tokens, whose input is transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.channels, self.tokens = nn.Linear(64, 64), nn.Linear(32, 480)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.tokens(self.channels(x).transpose(1, 2))
        return output


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_linear_layer_of_a_transposed_input(optimizer: str) -> None:
    """Its bias is added in place, except where a mode watches."""
    family = replace(FAMILIES["mlp"], inputs=(torch.randn(16, 32, 64),))
    model = Mixer()
    memory = sw.memory(model, *family.inputs, optimizer=optimizer)
    real = measure_training(model, family.inputs, OPTIMIZERS[optimizer])
    check_equal(family, find_phase_peaks(memory), real)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_forward_pass(name: str) -> None:
    family = FAMILIES[name]
    model = family.build().eval()

    def forward() -> None:
        with torch.no_grad():
            model(*family.inputs)

    memory = sw.memory(model, *family.inputs)
    assert not memory.training
    forward()
    base = sum_storages([*model.parameters(), *model.buffers(), *family.inputs])
    real = profile_peaks(forward, base, CONVOLUTIONS)
    check_equal(family, find_phase_peaks(memory), real)


LOSSES = (
    "mse_loss smooth_l1_loss huber_loss binary_cross_entropy l1_loss "
    "soft_margin_loss binary_cross_entropy_with_logits"
).split()


@pytest.mark.parametrize("name", LOSSES)
def test_scratch_of_a_loss(name: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            output, target = torch.sigmoid(self.layer(x)), torch.sigmoid(x)
            loss: torch.Tensor = getattr(F, name)(output, target)
            return loss

    model, inputs = Net(), (torch.rand(128, 64),)
    memory = sw.memory(model, *inputs, optimizer="sgd")
    real = measure_training(model, inputs, torch.optim.SGD)
    assert 0 <= real["forward"] - find_phase_peaks(memory)["forward"] <= 16


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_a_recurrent_layer_is_told(kind: type[nn.RNNBase]) -> None:
    memory = sw.memory(Recurrent(kind), torch.randn(8, 12, 32))
    assert memory.complete
    assert any("`recurrent` is counted step by step" in n for n in memory.notes)
