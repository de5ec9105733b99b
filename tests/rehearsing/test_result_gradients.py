"""The `grad` of a tensor that a call returned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 1)

    def forward(self, x):
        code = self.body(x).tanh()
        {flag}
        return self.head(code), code


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
grads = []
for _ in range(3):
    x = torch.randn(4, 6)
    {call}
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    {read}
    optimizer.step()
"""
BOTH = "out, code = model(x)"
WRONG = {
    "of a model": ("pass", BOTH, "grads.append(code.grad)", "code"),
    "with a flag": ("code.requires_grad_()", BOTH, "grads.append(code.grad)", "code"),
    "of a layer": (
        "pass", "h = model.body(x)\n    out = model.head(h)", "print(h.grad)", "h"),
    "of a function": (
        "pass", "h = torch.relu(model.body(x))\n    out = model.head(h)",
        "g = h.grad", "h"),
}  # fmt: skip
RIGHT = {
    "retained": ("code.retain_grad()", BOTH, "grads.append(code.grad)"),
    "a leaf": ("pass", "x.requires_grad_()\n    " + BOTH, "grads.append(x.grad)"),
    "a made leaf": (
        "pass", "z = torch.zeros(4, 6, requires_grad=True)\n"
        "    out, code = model(x + z)", "grads.append(z.grad)"),
    "a parameter": (
        "pass", "w = model.head.weight\n    " + BOTH, "grads.append(w.grad)"),
    "a test": ("pass", BOTH, "assert code.grad is None"),
    "detached": (
        "pass", "out, code = model(x)\n    code = code.detach()",
        "grads.append(code.grad)"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_the_gradient_of_a_result_is_found(name: str, tmp_path: Path) -> None:
    flag, call, read, owner = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(flag=flag, call=call, read=read))
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "grad-of-result"]
    assert finding.message.startswith(f"`{owner}.grad` is None")
    (fix,) = finding.fixes
    assert fix.message == f"`{owner}.retain_grad()`"
    assert fix.checked


@pytest.mark.parametrize("name", RIGHT)
def test_gradients_of_leaves_are_quiet(name: str, tmp_path: Path) -> None:
    flag, call, read = RIGHT[name]
    report = rehearsed(tmp_path, SCRIPT.format(flag=flag, call=call, read=read))
    assert report.complete, report
    assert "grad-of-result" not in [f.code for f in report.findings]
