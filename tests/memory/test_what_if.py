"""`--what-if`: each change is run, and is what the changed program takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import shapewright as sw
from memory.families import Encoder, LanguageModel, Mlp, ResidualMlp
from memory.test_real_allocations import find_phase_peaks, profile_peaks, sum_storages
from shapewright.analysis.memory.changes import (
    UnknownChange,
    choose_checkpointed,
    read_change,
)
from shapewright.cli.main import main
from shapewright.inputs.errors import InputError
from shapewright.record.memory import Memory, RehearsedChange

GPU = "RTX 4090"


def measure_change(model: nn.Module, change: str, **options: Any) -> RehearsedChange:
    spec = options.pop("spec", "f32[B=64, 32, 64]")
    memory = sw.memory(model, spec, what_if=change, **options)
    (row,) = memory.what_if or ()
    assert row.error == ""
    return row


def assert_same(row: RehearsedChange, memory: Memory) -> None:
    assert (row.bytes, row.reserved, row.total, row.verdict, row.flops) == (
        memory.peak.bytes, memory.reserved, memory.total, memory.verdict, memory.flops,
    )  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize(
    ("change", "options"),
    [
        ("bf16", {"autocast": "bf16"}),
        ("fp16", {"autocast": "fp16"}),
        ("sgd", {"optimizer": "sgd"}),
        ("sgd(momentum=0.9)", {"optimizer": "sgd(momentum=0.9)"}),
        ("adafactor", {"optimizer": "adafactor"}),
        ("no-foreach", {"optimizer": "adamw(foreach=False)"}),
        ("bf16, sgd", {"autocast": "bf16", "optimizer": "sgd"}),
        ("batch=16", {"spec": "f32[B=16, 32, 64]"}),
        ("B=16", {"spec": "f32[B=16, 32, 64]"}),
    ],
)
def test_a_change_is_the_changed_step(
    change: str, options: dict[str, Any], device: str
) -> None:
    model = Encoder()
    row = measure_change(model, change, device=device)
    stated = {"spec": "f32[B=64, 32, 64]", **options}
    spec = stated.pop("spec")
    assert_same(row, sw.memory(model, spec, device=device, **stated))


class Layers(nn.Module):
    def __init__(self, is_checkpointed: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.layers = nn.ModuleList(Layer() for _ in range(4))
        self.is_checkpointed = is_checkpointed

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.layers:
            if self.is_checkpointed:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)
        return x


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.gelu(self.up(x)))


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("name", ["Layer", "layers.*"])
def test_a_checkpoint_is_that_of_the_program(name: str, device: str) -> None:
    spec = "f32[B=4096, 64]"
    model = Layers()
    row = measure_change(model, f"checkpoint:{name}", spec=spec, device=device)
    assert_same(row, sw.memory(Layers(is_checkpointed=True), spec, device=device))
    assert row.saved > 0
    assert all("forward" not in vars(module) for module in model.modules())


def test_accumulation_is_that_of_a_real_step() -> None:
    model = Layers()
    inputs = torch.randn(512, 64)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        for part in inputs.split(128):
            (model(part).mean() / 4).backward()
        optimizer.step()

    step()
    optimizer.zero_grad()
    state = [v for values in optimizer.state.values() for v in values.values()]
    base = sum_storages([*model.parameters(), *state]) + inputs.nbytes // 4
    real = max(profile_peaks(step, base).values())
    row = measure_change(model, "accumulate=4", spec="f32[B=512, 64]")
    assert 0 <= real - row.bytes <= 24  # Python numbers are wrapped for a kernel
    whole = sw.memory(model, "f32[B=512, 64]")
    assert row.flops == whole.flops
    assert row.bytes + row.saved == whole.peak.bytes


def test_an_offloaded_optimizer_has_only_small_parameters_on_the_gpu() -> None:
    model = Layers()
    row = measure_change(model, "offload-optimizer", spec="f32[B=1, 64]", device=GPU)
    usual = sw.memory(model, "f32[B=1, 64]", device=GPU)
    large = sum(p.nbytes for p in model.parameters() if p.numel() >= 4096)
    assert usual.peak.bytes - row.bytes >= 2 * large


def test_recomputation_costs_what_backward_needs() -> None:
    """Torch stops before the last product of a layer, whose result nothing needs."""
    spec = "f32[B=64, 64]"
    memory = sw.memory(Layers(), spec)
    row = measure_change(Layers(), "checkpoint:Layer", spec=spec)
    product = 2 * 64 * 64 * 256
    assert row.flops - memory.flops == 4 * product


def test_a_model_of_transformers_has_a_switch_for_checkpoints() -> None:
    class SwitchLayer(nn.Sequential):
        gradient_checkpointing = False

    class Switched(nn.Sequential):
        def gradient_checkpointing_enable(self) -> None:
            """As `PreTrainedModel` has it."""

    layers = [SwitchLayer(nn.Linear(64, 64), nn.ReLU()) for _ in range(2)]
    model = Switched(*layers, nn.Sequential(nn.Linear(64, 8), nn.ReLU()))
    row = measure_change(model, "checkpoint:SwitchLayer, bf16", spec="f32[8, 64]")
    assert row.edits[0] == "model.gradient_checkpointing_enable()"
    assert "autocast" in row.edits[1]
    (edit,) = measure_change(model, "checkpoint:Sequential", spec="f32[8, 64]").edits
    assert edit.startswith("x = torch.utils.checkpoint.")


def test_what_helps_is_ranked() -> None:
    memory = sw.memory(Encoder(), "f32[B=512, 32, 64]", device=GPU, what_if=True)
    rows = memory.what_if
    assert rows
    assert [row.saved for row in rows] == sorted((r.saved for r in rows), reverse=True)
    names = [row.change for row in rows]
    assert "checkpoint:Block" in names
    assert "bf16" in names
    assert all(row.edits for row in rows)
    assert all(row.saved > 0 for row in rows)


def test_a_container_is_named_by_its_path() -> None:
    memory = sw.memory(ResidualMlp(), "f32[B=65536, 64]", device=GPU, what_if=True)
    assert "checkpoint:layers.*" in [row.change for row in memory.what_if or ()]


@pytest.mark.long
def test_a_gpu_without_bfloat16_gets_float16() -> None:
    for device, dtype in (("T4", "fp16"), (GPU, "bf16"), ("cpu", "bf16")):
        memory = sw.memory(Layers(), "f32[B=8192, 64]", device=device, what_if=True)
        names = [row.change for row in memory.what_if or ()]
        assert dtype in names
        assert not ({"fp16", "bf16"} - {dtype}) & set(names)


@pytest.mark.long
def test_changes_are_joined_until_the_step_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from shapewright.analysis.memory import device_memory

    key = ("Tesla T4", 16)
    known = device_memory.CAPACITIES[key]
    whole = sw.memory(Encoder(), "f32[B=2000, 32, 64]", device="T4")
    assert whole.total is not None
    context = whole.total.high - whole.total.reserved
    small = (context + whole.total.reserved * 0.2) / (1 << 30)
    monkeypatch.setitem(
        device_memory.CAPACITIES, key, type(known)(small, "a small one")
    )
    memory = sw.memory(Encoder(), "f32[B=2000, 32, 64]", device="T4", what_if=True)
    assert memory.verdict == "does not fit"
    *single, last = memory.what_if or ()
    assert all(row.verdict != "fits" for row in single)
    assert "," in last.change
    assert last.verdict == "fits"
    assert len(last.edits) == last.change.count(",") + 1


def test_the_model_is_as_it_was() -> None:
    model = Encoder()
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    sw.memory(model, "f32[B=8, 32, 64]", device=GPU, what_if=True)
    for name, value in model.state_dict().items():
        assert torch.equal(value, kept[name])
    assert all("forward" not in vars(module) for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("bf61", "no change `bf61`; did you mean `bf16`?"),
        ("accumulate=3", "divides a batch"),
        ("accumulate=none", "needs a number from 1 on"),
        ("H=8", "needs a letter of the inputs"),
        ("adamv", "no optimizer `adamv`"),
        ("offload-optimizer", "needs a GPU"),
        ("bf16, fp16", "contradict"),
        ("sgd, adafactor", "contradict"),
        ("", "no change is named"),
    ],
)
def test_what_is_no_change(change: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        sw.memory(Mlp(), "f32[B=8, 64]", what_if=change)


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (
            "bf16",
            'with torch.autocast("cuda", dtype=torch.bfloat16): output, loss = ...',
        ),
        ("no-foreach", "torch.optim.Adam(model.parameters(), foreach=False)"),
        ("batch=8", "DataLoader(dataset, batch_size=8)"),
        (
            "checkpoint:blocks.*.mlp",
            "x = torch.utils.checkpoint.checkpoint(mlp, x, use_reentrant=False)",
        ),
        (
            "checkpoint:layers.*",
            "x = torch.utils.checkpoint.checkpoint(layers, x, use_reentrant=False)",
        ),
        ("T=128", "inputs with T = 128"),
        (
            "checkpoint:Block",
            "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
        ),
    ],
)
def test_the_edit_of_a_change(text: str, edit: str) -> None:
    assert read_change(text, optimizer="Adam").edits == (edit,)


def test_edits_name_torchs_class() -> None:
    row = measure_change(Encoder(), "sgd(momentum=0.9)")
    assert row.edits == ("torch.optim.SGD(model.parameters(), momentum=0.9)",)


def test_commas_in_brackets_join_nothing() -> None:
    change = read_change("adamw(betas=(0.9, 0.99), foreach=False), bf16")
    assert change.optimizer == "adamw(betas=(0.9, 0.99), foreach=False)"
    assert change.autocast == "bf16"
    with pytest.raises(UnknownChange):
        read_change(",")


def test_which_modules_are_worth_a_checkpoint() -> None:
    classes = {"a": "Block", "a.mlp": "Mlp", "b": "Block", "b.mlp": "Mlp", "c": "Head"}
    held = {"a": 10, "a.mlp": 20, "b.mlp.up": 30, "c": 500}
    assert choose_checkpointed(held, classes) == ["Block", "Mlp"]
    assert choose_checkpointed({"c": 5}, classes) == ["Head"]


MODEL = """\
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 512), nn.Linear(512, 64)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(4)])

    def forward(self, x):
        return self.blocks(x)
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    main(["memory", "-q", "-i", "f32[B=4096, 64]", *arguments])
    return capsys.readouterr().out.splitlines()


def test_the_table(capsys: pytest.CaptureFixture[str], desk: Path) -> None:
    changes = ["--what-if", "checkpoint:Block,bf16", "--what-if", "sgd"]
    lines = run_command(capsys, *changes, "--device", "T4", "model.py:Net")
    start = next(at for at, line in enumerate(lines) if line.startswith("what if"))
    assert lines[start].split()[2:] == [
        "tensors", "reserved", "in", "all", "difference", "arithmetic",
    ]  # fmt: skip
    assert lines[start + 1].startswith("as it is  ")
    assert lines[start + 2].startswith("checkpoint:Block, bf16")
    assert lines[start + 2].endswith("+17%  fits")
    assert "use_reentrant=False" in lines[start + 3]
    assert "torch.autocast" in lines[start + 4]
    assert lines[start + 5].startswith("sgd  ")
    assert all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize("where", ["before", "behind", "last"])
def test_without_a_value(
    capsys: pytest.CaptureFixture[str], desk: Path, where: str
) -> None:
    arguments = {
        "before": ["--what-if", "model.py:Net", "--device", "T4"],
        "behind": ["model.py:Net", "--what-if", "--device", "T4"],
        "last": ["model.py:Net", "--device", "T4", "--what-if"],
    }[where]
    lines = run_command(capsys, *arguments)
    assert any(line.startswith("checkpoint:Block ") for line in lines)
    assert not any(line.startswith("would help") for line in lines)


def test_a_step_that_does_not_fit_says_what_helps(
    capsys: pytest.CaptureFixture[str], desk: Path
) -> None:
    main(["memory", "-q", "-i", "f32[B=2000000, 64]", "--fits", "T4", "model.py:Net"])
    out = capsys.readouterr().out
    assert "fits         no: " in out
    assert "what if" in out
    assert "checkpoint:Block" in out


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_it_fits_in_every_width(width: int) -> None:
    from shapewright.views.terminal.memory import format_memory

    memory = sw.memory(
        Encoder(), "f32[B=8, 32, 64]", device=GPU,
        what_if=["bf16", "sgd(momentum=0.9, nesterov=False), checkpoint:Block, B=2"],
    )  # fmt: skip
    text = format_memory(memory, width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "sgd(momentum=0.9, nesterov=False), checkpoint:Block, B=2" in text


def test_it_is_plain_data() -> None:
    memory = sw.memory(LanguageModel(), *[torch.zeros(2, 8, dtype=torch.long)] * 2,
                       what_if=["sgd"])  # fmt: skip
    (row,) = memory.to_dict()["what_if"]
    assert row["change"] == "sgd"
    assert row["saved"] == memory.peak.bytes - row["tensors"]
    assert find_phase_peaks(memory)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("foo", "no change `foo`; there is bf16"),
        ("batch", "did you mean `batch=N`?"),
        ("adamm", "did you mean `adam` or `adamw`?"),
        ("checkpoint:Blok", "no module is a `Blok`; did you mean `Block`?"),
    ],
)
def test_a_change_that_is_not_known_is_one_sentence(change: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        sw.memory(Encoder(), "f32[B=8, 32, 64]", what_if=change)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
