"""Images whose channels were in their place, and which are turned once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        {forward}
        return self.head(self.features(x).flatten(1))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    images = {trained}
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(images), torch.randint(0, 2, (4,))).backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    image = {image}
    {turned}
    print(net({given}).argmax(1))
"""
BASE = {
    "forward": "pass", "trained": "torch.rand(4, 3, 20, 24)", "turned": "pass",
    "image": "torch.rand(3, 20, 24)", "given": "image.unsqueeze(0)",
}  # fmt: skip
CASES = {
    "a function": (
        {"turned": "image = torch.permute(image, (2, 0, 1))"},
        "`image` for `torch.permute(image, (2, 0, 1))`",
    ),
    "a method": (
        {"given": "image.permute(2, 0, 1).float().unsqueeze(0)"},
        "`image` for `image.permute(2, 0, 1)`",
    ),
    "a transpose": (
        {"given": "image[None].transpose(1, 3)"},
        "`image[None]` for `image[None].transpose(1, 3)`",
    ),
    "channels last": (
        {"given": "image.permute(1, 2, 0).unsqueeze(0)"},
        "`image` for `image.permute(1, 2, 0)`",
    ),
    "batches in forward": (
        {"forward": "x = x.permute(0, 3, 1, 2) / 255"},
        "`x` for `x.permute(0, 3, 1, 2)`",
    ),
}


def find_errors(folder: Path, settings: dict[str, str]) -> list[Finding]:
    """Return the errors of a program with these lines."""
    findings = rehearsed(folder, SCRIPT.format(**{**BASE, **settings})).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("name", CASES)
def test_the_permute_is_left_out(name: str, tmp_path: Path) -> None:
    settings, fix = CASES[name]
    finding, *_ = find_errors(tmp_path, settings)
    assert [fix.message for fix in finding.fixes] == [fix]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "settings",
    [
        {"image": "torch.rand(20, 24, 3)", "given": "image.permute(2, 0, 1)[None]"},
        {"given": "image.permute(0, 2, 1).unsqueeze(0)"},
        {"given": "image.permute(1, 2, 0).permute(2, 0, 1).unsqueeze(0)"},
    ],
)
def test_a_permute_that_fits_is_quiet(settings: dict[str, str], tmp_path: Path) -> None:
    assert find_errors(tmp_path, settings) == []


def test_channels_that_are_last_are_moved(tmp_path: Path) -> None:
    settings = {"image": "torch.rand(20, 24, 3)", "given": "image.unsqueeze(0)"}
    (finding,) = find_errors(tmp_path, settings)
    assert "permute" in finding.fixes[0].message
