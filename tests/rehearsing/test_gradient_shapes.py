"""Gradients beside values: as in a real run, in the table and in the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright.views.data_formats import format_report_json
from shapewright.views.terminal.rehearsal import format_story
from tests.rehearsing.rehearsed import rehearsed


class Words(nn.Module):
    """An embedding with sparse gradients, a recurrent layer, a head that is unused."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 8, sparse=True)
        self.lstm = nn.LSTM(8, 6, batch_first=True)
        self.head = nn.Linear(6, 3)
        self.other = nn.Linear(6, 2)

    def forward(self, x: Any) -> Any:
        out, _ = self.lstm(self.embedding(x))
        last = out[:, -1]
        self.other(last)
        return self.head(last)


class Images(nn.Module):
    """Frozen convolutions, a norm, tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.body[0].requires_grad_(False)
        self.up = nn.Linear(4, 4)
        self.down = nn.Linear(4, 4)
        self.down.weight = self.up.weight

    def forward(self, x: Any) -> Any:
        return self.down(self.up(self.body(x).mean((2, 3))).relu())


def really(model: nn.Module, x: torch.Tensor) -> dict[str, Any]:
    """Shape, dtype and layout of each gradient in a real run, by path."""
    came: dict[str, Any] = {}
    name = type(model).__name__

    def noted(path: str) -> Any:
        def hook(module: nn.Module, args: Any, out: Any) -> None:
            tensor = out if isinstance(out, torch.Tensor) else out[0]
            came[path] = None
            if tensor.requires_grad:
                tensor.register_hook(lambda grad: came.update({path: described(grad)}))

        return hook

    for path, module in model.named_modules():
        module.register_forward_hook(noted(f"{name}.{path}" if path else name))
    model(x).square().mean().backward()
    for path, parameter in model.named_parameters():
        grad = parameter.grad
        came[f"{name}.{path}"] = None if grad is None else described(grad)
    return came


def described(grad: torch.Tensor) -> tuple[tuple[int, ...], str, str]:
    names = (str(each).removeprefix("torch.") for each in (grad.dtype, grad.layout))
    return tuple(grad.shape), *names  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("model", "spec", "real"),
    [
        (Words, "i64[5, 7]", torch.zeros(5, 7, dtype=torch.int64)),
        (Images, "f32[2, 3, 9, 8]", torch.rand(2, 3, 9, 8)),
        (lambda: Images().double(), "f64[2, 3, 9, 8]", torch.rand(2, 3, 9, 8).double()),
    ],
)
def test_gradients_are_those_of_a_real_run(model: Any, spec: str, real: Any) -> None:
    net = model()

    def step(x: Any) -> None:
        loss = net(x).square().mean()
        loss.backward()

    report = sw.rehearse(step, spec)
    assert report.rehearsal is not None
    told = {
        each.path: None
        if each.gradient is None
        else (each.gradient, each.gradient_dtype, each.layout)
        for each in report.rehearsal.gradients
    }
    assert told == really(model(), real)


SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(12))
        self.head = nn.Linear(8, 3)
        self.spare = nn.Linear(8, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        self.spare(x)
        return self.head(x)


model = Net()
with torch.autocast("cuda", torch.bfloat16):
    loss = model(torch.zeros(4, 8, device="cuda")).sum()
loss.backward()
"""


def test_the_table_and_the_json(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("Net()", "Net().cuda()"), device="cuda")
    shown = format_story(report, 80, gradients=True)
    table = shown[shown.index("gradients  ") :].split("\n\n")[0].splitlines()
    assert [" ".join(line.split()) for line in table] == [
        "gradients value gradient",
        "Net (4, 3) bf16 (4, 3) bf16",
        "layers",
        "0-11 (4, 8) bf16 (4, 8) bf16",
        "weight (8, 8) f32 (8, 8) f32",
        "bias (8,) f32 (8,) f32",
        "spare (4, 2) bf16 none",
        "weight (2, 8) f32 none",
        "bias (2,) f32 none",
        "head (4, 3) bf16 (4, 3) bf16",
        "weight (3, 8) f32 (3, 8) f32",
        "bias (3,) f32 (3,) f32",
    ]
    assert "gradients of 26 of 28 parameters" in format_story(report, 80)
    data = json.loads(format_report_json(report))
    spare = [each for each in data["gradients"] if each["path"] == "Net.spare.weight"]
    assert spare == [
        {
            "path": "Net.spare.weight",
            "kind": "parameter",
            "shape": [2, 8],
            "dtype": "float32",
            "gradient": None,
        }
    ]
