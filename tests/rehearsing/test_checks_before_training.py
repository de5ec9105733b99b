"""A pass that checks a layer's gradients before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

TEXT = """\
    import torch
    from torch import nn
    class Scale(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer, self.gain = layer, nn.Parameter(torch.ones(1))
        def forward(self, x):
            return self.layer(x) * self.gain
    {check}
    net = nn.Sequential(Scale(nn.Linear(6, 8)), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    {between}
    for _ in range(3):
        loss = net(torch.randn(4, 6)).pow(2).mean(){term}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """
CHECK = """trial = Scale(nn.Linear(6, 6))
    trial(torch.ones(2, 6)).mean().backward()
    assert trial.gain.grad is not None
"""


def get_codes(folder: Path, text: str) -> list[str]:
    """The codes of the warnings of a script."""
    report = rehearsed(folder, text)
    return [f.code for f in report.findings if f.severity == "warning"]


def test_a_check_of_gradients_is_no_step(tmp_path: Path) -> None:
    text = TEXT.format(check=CHECK, between="", term="")
    assert get_codes(tmp_path, text) == []


def test_a_model_of_the_loop_that_is_in_no_optimizer_is_told(tmp_path: Path) -> None:
    text = TEXT.format(
        check=CHECK, between="", term=" + trial(torch.ones(2, 6)).mean()"
    )
    assert get_codes(tmp_path, text) == ["not-in-optimizer"]


def test_gradients_that_are_cleared_behind_the_optimizer_are_told(
    tmp_path: Path,
) -> None:
    text = TEXT.format(
        check="", between="net(torch.randn(4, 6)).pow(2).mean().backward()", term=""
    )
    assert "gradients-cleared-unused" in get_codes(tmp_path, text)
