"""Tensors of inference mode that a graph is to keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
import torch.nn.functional as F
from torch import nn

teacher = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval()
{function}
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.rand(16, 8)
{features}
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.inference_mode():
        print(F.mse_loss(net(features), features).item())
"""
BLOCK = "    with torch.inference_mode():\n        features = teacher(x)"
DECORATED = """\
@torch.inference_mode()
def read(x):
    return teacher(x)
"""
INPUTS = "net(features).mean()"
TARGETS = "F.mse_loss(net(torch.rand(16, 4)), features)"
VIEWED = "(net.weight[0] * features.view(-1, 4)).mean()"


@pytest.mark.parametrize(
    ("function", "features", "loss"),
    [
        ("", BLOCK, INPUTS),
        ("", BLOCK, TARGETS),
        ("", BLOCK, VIEWED),
        ("", BLOCK.replace("mode():", "mode(True):"), INPUTS),
        (DECORATED, "    features = read(x)", INPUTS),
        (DECORATED.replace("mode()", "mode"), "    features = read(x)", TARGETS),
    ],
)
def test_a_graph_keeps_no_tensor_of_inference_mode(
    function: str, features: str, loss: str, tmp_path: Path
) -> None:
    text = TRAINING.format(function=function, features=features, loss=loss)
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.severity == "error")
    assert "was made under `torch.inference_mode()` at line" in finding.message
    assert finding.torch_message.startswith("Inference tensors cannot be saved")
    (fix,) = finding.fixes
    assert fix.message.startswith("`torch.no_grad")
    assert fix.checked


@pytest.mark.parametrize(
    ("features", "loss"),
    [
        (BLOCK.replace("inference_mode", "no_grad"), INPUTS),
        (BLOCK, INPUTS.replace("features", "features.clone()")),
        (BLOCK, "(net(torch.rand(16, 4)) + features).sum() * 0.1"),
        (BLOCK.replace("mode()", "mode(False)"), INPUTS),
    ],
)
def test_copies_and_sums_are_no_tensors_of_inference_mode(
    features: str, loss: str, tmp_path: Path
) -> None:
    text = TRAINING.format(function="", features=features, loss=loss)
    report = rehearsed(tmp_path, text)
    assert not any(f.severity == "error" for f in report.findings)
