"""What the record of a step says: kinds, lines, phases, values, errors, batches."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import shapewright as sw
from memory.families import FAMILIES, Encoder, LanguageModel, Mlp, ResidualMlp
from shapewright.analysis.memory.largest_batch import find_largest_batch
from shapewright.inputs.errors import InputError
from shapewright.record.memory import KINDS, Memory, TotalBytes

IDS = torch.zeros(8, 48, dtype=torch.long)


@pytest.mark.parametrize("device", ["cpu", "H100 80GB"])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "sgd(momentum=0.9)", "none"])
def test_every_byte_at_the_peak_has_a_kind(device: str, optimizer: str) -> None:
    memory = sw.memory(LanguageModel(), IDS, IDS, device=device, optimizer=optimizer)
    assert memory.complete
    assert set(memory.peak.kinds) == set(KINDS)
    assert sum(memory.peak.kinds.values()) == memory.peak.bytes
    assert (
        sum(held.bytes for held in memory.peak.lines)
        == (memory.peak.kinds["activations"])
    )
    most = max(point.bytes for point in memory.timeline)
    assert most == memory.peak.bytes


def test_kinds_of_adamw() -> None:
    model = Mlp()
    memory = sw.memory(model, "f32[1, 64]")
    size = 4 * sum(p.numel() for p in model.parameters())
    steps = 4 * len(list(model.parameters()))
    assert memory.peak.kinds["parameters"] == size
    assert memory.peak.kinds["gradients"] == size
    assert memory.peak.kinds["optimizer"] == 2 * size + steps
    assert memory.peak.kinds["inputs"] == 64 * 4
    assert memory.peak.phase == "optimizer step"


def test_a_tied_parameter_counts_once() -> None:
    model = LanguageModel()
    memory = sw.memory(model, IDS, IDS)
    size = 4 * sum(p.numel() for p in model.parameters())
    assert memory.peak.kinds["parameters"] == size


def test_every_saved_byte_has_a_line_and_an_operator() -> None:
    memory = sw.memory(Encoder(), "f32[8, 32, 64]")
    lines = memory.peak.lines
    assert lines
    for held in lines:
        assert held.file.endswith("families.py")
        assert held.line > 0
        assert all(held.saved_by)
    largest = lines[0]
    text = Path(largest.file).read_text().splitlines()[largest.line - 1]
    assert "F.gelu" in text  # it and `down` keep 4 * 64 each
    assert largest.module == ""  # of several modules


@pytest.mark.parametrize("device", ["cpu", "A100 40GB"])
@pytest.mark.parametrize("name", FAMILIES)
def test_all_families_have_lines_operators_and_kinds(name: str, device: str) -> None:
    family = FAMILIES[name]
    memory = sw.memory(family.build(), *family.inputs, device=device)
    peak = memory.peak
    assert sum(peak.kinds.values()) == peak.bytes
    assert sum(held.bytes for held in peak.lines) == peak.kinds["activations"]
    saved = [s for s in memory.events.storages if s.kind == "activations"]
    assert saved
    assert [s for s in saved if not (s.file and s.line and s.saved_by)] == []


def test_what_backward_makes_has_the_line_of_its_call() -> None:
    memory = sw.memory(Encoder(), "f32[8, 32, 64]")
    storages = memory.events.storages
    names = {storage.op for storage in storages if storage.op.endswith("_backward")}
    assert "native_layer_norm_backward" in names
    for storage in storages:
        if storage.op == "native_layer_norm_backward":
            text = Path(storage.file).read_text().splitlines()[storage.line - 1]
            assert "self.norm" in text


def test_a_checkpoint_lowers_activations() -> None:
    class Checkpointed(ResidualMlp):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return x

    plain = sw.memory(ResidualMlp(), "f32[4096, 64]", optimizer="none")
    saved = sw.memory(Checkpointed(), "f32[4096, 64]", optimizer="none")
    assert plain.complete
    assert saved.complete
    assert saved.peak.bytes < 0.6 * plain.peak.bytes


def test_values_that_follow_from_constants_are_known() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)
            self.register_buffer("mask", torch.ones(8, 8).tril().bool())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert not self.mask.all()
            assert torch.arange(5).sum().item() == 10
            lengths = torch.zeros(3, dtype=torch.long)
            lengths[1] += 4
            assert lengths.max() == 4
            return self.layer(x)

    assert sw.memory(Net(), "f32[2, 8]").events.error is None


def test_a_value_that_depends_on_data_ends_the_step_with_its_line() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.layer(x)
            if y.sum() > 0:
                y = y * 2
            return y

    memory = sw.memory(Net(), "f32[2, 8]", device="T4")
    error = memory.events.error
    assert error is not None
    assert error.message.startswith("the program reads a value of a () tensor")
    assert error.span is not None
    assert error.span.file.endswith("test_records.py")
    assert memory.verdict == ""
    assert "stopped by an error" in repr(memory)


def test_a_loss_of_ones_own_and_of_the_output() -> None:
    model = Mlp()

    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            out = self.inner(x)
            return {"loss": out.pow(2).sum(), "logits": out}

    def compute(out: torch.Tensor) -> torch.Tensor:
        return out.pow(2).sum()

    usual = sw.memory(model, "f32[2048, 64]", optimizer="none")
    given = sw.memory(model, "f32[2048, 64]", optimizer="none", loss=compute)
    own = sw.memory(WithLoss(), "f32[2048, 64]", optimizer="none")
    saved = [
        {storage.saved_by for storage in memory.events.storages}
        for memory in (usual, given, own)
    ]
    assert ["pow" in names for names in saved] == [False, True, True]


def test_an_output_without_a_gradient() -> None:
    memory = sw.memory(nn.Linear(2, 2).requires_grad_(False), "f32[1, 2]")
    assert memory.events.error is not None
    assert "needs a gradient" in memory.events.error.message
    assert sw.memory(nn.Linear(2, 2).eval(), "f32[1, 2]").complete


@pytest.mark.parametrize("name", "adam adafactor rmsprop adagrad nadam asgd".split())
@pytest.mark.parametrize("device", ["cpu", "A100 40GB"])
def test_optimizers_of_torch(name: str, device: str) -> None:
    assert sw.memory(Mlp(), "f32[2, 64]", optimizer=name, device=device).complete


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"optimizer": "adamv"},
            "no optimizer `adamv`; did you mean `adam` or `adamw`\\?",
        ),
        ({"optimizer": "sgd(lr=x)"}, "options that are no literals"),
        ({"optimizer": "sgd(speed=1)"}, "unexpected keyword argument 'speed'"),
        ({"optimizer": "lbfgs"}, "it calls the model from inside its step"),
        ({"device": "H1000"}, "no device `H1000` is known"),
        ({"device": "2x H100 80GB"}, "`memory` is of one GPU"),
        ({"device": "mps"}, 'name its chip, "M3 Max 64GB"'),
        ({"largest_batch": True}, "needs a device with a known memory"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        sw.memory(Mlp(), "f32[B=2, 64]", **options)


def test_no_letter_no_largest_batch() -> None:
    with pytest.raises(InputError, match="needs a letter to vary"):
        sw.memory(Mlp(), "f32[2, 64]", device="T4", largest_batch=True)


def test_the_largest_batch_alone() -> None:
    batch = sw.largest_batch(Mlp(), "f32[B=2, 64]", device="T4", optimizer="sgd")
    whole = sw.memory(
        Mlp(), "f32[B=2, 64]", device="T4", optimizer="sgd", largest_batch=True
    )
    assert batch == whole.largest_batch
    with pytest.raises(InputError, match="the step does not run: "):
        sw.largest_batch(Mlp(), "f32[B=2, 63]", device="T4")


def test_the_step_of_a_trace() -> None:
    model, x = Mlp(), torch.randn(2048, 64)
    trace = sw.trace(model, x)
    assert trace.memory(device="T4").peak == sw.memory(model, x, device="T4").peak
    assert trace.by("op").memory().peak == trace.memory().peak
    assert trace == sw.Trace.from_json(trace.to_json())
    with pytest.raises(ValueError, match="does not hold its model"):
        sw.Trace.from_json(trace.to_json()).memory()
    for copied in (pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)):
        assert copied == trace
        with pytest.raises(ValueError, match="does not hold its model"):
            copied.memory()
    del model
    with pytest.raises(ValueError, match="the traced model is gone"):
        trace.memory()


def make_memory(low: int, capacity: tuple[int, int]) -> Memory:
    memory = sw.memory(nn.Linear(1, 1), "f32[1, 1]", device="T4")
    total = TotalBytes(low - 100, (100, 200))
    from dataclasses import replace

    return replace(memory, total=total, capacity=capacity)


@pytest.mark.parametrize(
    ("low", "verdict"),
    [(899, "fits"), (900, "fits"), (901, "tight"), (1100, "tight"),
     (1101, "does not fit")],
)  # fmt: skip
def test_the_verdict_knows_what_is_not_known(low: int, verdict: str) -> None:
    assert make_memory(low, (1000, 1100)).verdict == verdict


@pytest.mark.parametrize("capacity", [0, 100, 107, 106, 108, 1000, 12345, 10**6])
@pytest.mark.parametrize("start", [1, 8, 500])
def test_the_largest_batch_of_a_line(capacity: int, start: int) -> None:
    def measure(size: int) -> int:
        return 100 + 7 * size

    search = find_largest_batch(measure, start, capacity)
    expected = max((capacity - 100) // 7, 0) if capacity >= 107 else 0
    assert search.is_exact
    assert search.size == expected
    assert len(search.tried) <= 6


def test_a_search_that_ends_early_says_so() -> None:
    search = find_largest_batch(lambda size: size**3, 1, 10**12, most=3)
    assert not search.is_exact
    assert search.size**3 <= 10**12


@pytest.mark.long
def test_the_largest_batch_is_that_of_a_linear_search() -> None:
    """On the figure that the verdict takes, for a capacity in reach of both."""
    from shapewright.analysis.memory import device_memory

    key = ("Tesla T4", 16)
    before = device_memory.CAPACITIES[key]
    device_memory.CAPACITIES[key] = type(before)(0.75, "a small card")
    try:
        memory = sw.memory(
            Encoder(), "f32[B=8, 32, 64]", device="T4", largest_batch=True
        )
        batch = memory.largest_batch
        assert batch is not None
        assert batch.letter == "B"
        assert batch.is_exact
        assert len(batch.tried) <= 6
        near = range(batch.size - 1, batch.size + 4)
        fits = [
            sw.memory(Encoder(), f"f32[B={size}, 32, 64]", device="T4").verdict
            == "fits"
            for size in near
        ]
        assert fits == [size <= batch.size for size in near]
    finally:
        device_memory.CAPACITIES[key] = before


def test_one_line_says_it() -> None:
    memory = sw.memory(nn.Linear(1024, 1024), "f32[B=8, 1024]", device="A100 40GB")
    assert repr(memory) == (
        "<Memory of Linear on A100 40GB: 37.3 MiB of tensors, 62.0 MiB reserved, fits>"
    )


def test_it_is_plain_data() -> None:
    memory = sw.memory(Mlp(), "f32[B=2, 64]", device="T4")
    plain = json.loads(json.dumps(memory.to_dict(events=True)))
    assert plain["version"] == 1
    assert plain["sizes"] == {"B": 2}
    assert plain["tensors"] == sum(plain["peak"]["kinds"].values())
    assert len(plain["storages"]) == len(memory.events.storages)
    assert plain["events"][0][0] == "allocate"
    assert "events" not in memory.to_dict()
