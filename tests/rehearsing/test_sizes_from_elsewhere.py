"""Sizes, dims and channels that come from elsewhere: the edit stands where they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.fixes.refusals.numbers import has_emptied_setting
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

"""
CASES = {
    "positions of another map": (
        """\
class Attention(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.channels = channels
        self.key = nn.Conv2d(channels, channels // 2, 1)
        self.value = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        count = x.shape[2] * x.shape[3]
        key = F.max_pool2d(self.key(x), 2)
        value = F.max_pool2d(self.value(x), 2)
        key = key.view(-1, self.channels // 2, count // 4)
        value = value.view(-1, self.channels, count // 4)
        return torch.bmm(value, key.transpose(1, 2))

Attention()(torch.randn(2, 8, 7, 5)).sum().backward()
""",
        "`key.shape[2] * key.shape[3]` and 1 more",
    ),
    "a batch of one where strips are joined": (
        """\
def join(strips):
    height = sum(strip.shape[2] for strip in strips)
    whole = strips[0].new_empty([1, strips[0].shape[1], height, strips[0].shape[3]])
    row = 0
    for strip in strips:
        whole[:, :, row:row + strip.shape[2]] = strip
        row += strip.shape[2]
    return whole

net = nn.Conv2d(3, 4, 3, padding=1)
strips = [net(torch.randn(6, 3, 8, 16)) for _ in range(2)]
join(strips).sum().backward()
""",
        "`strips[0].new_empty([strips[0].size(0), strips[0].shape[1], height,"
        " strips[0].shape[3]])`",
    ),
    "means of each row without their dim": (
        """\
def masked_mean(x, mask, dim):
    return (x * mask).sum(dim=dim) / mask.sum(dim=dim).clamp(min=1)

def whiten(x, mask, dim=1):
    return x - masked_mean(x, mask, dim)

weight = nn.Parameter(torch.randn(5, 7))
whiten(weight, torch.ones(5, 7)).sum().backward()
""",
        "`(x * mask).sum(dim=dim, keepdim=True) /"
        " mask.sum(dim=dim, keepdim=True).clamp(min=1)`",
    ),
    "channels that come first too late": (
        """\
class Normalize(nn.Module):
    def forward(self, image):
        mean = torch.tensor([0.4, 0.5, 0.6]).view(-1, 1, 1)
        return image - mean

normalize, net = Normalize(), nn.Conv2d(3, 4, 3)
image = torch.rand(24, 20, 3)
net(normalize(image).permute(2, 0, 1)[None]).sum().backward()
""",
        "`normalize(image.permute(2, 0, 1))`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_that_of_an_answer(name: str, tmp_path: Path) -> None:
    body, edit = CASES[name]
    report = rehearsed(tmp_path, HEAD + body)
    finding = next(f for f in report.findings if f.severity == "error")
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [edit]


def test_a_mean_that_a_constructor_keeps_is_detached(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.mapping = nn.Linear(4, 4)

    def mean_latent(self, count):
        return self.mapping(torch.randn(count, 4)).mean(0, keepdim=True)

    def forward(self, w):
        return w * 2

class Coach:
    def __init__(self):
        self.encoder, self.decoder = nn.Linear(4, 4), Generator()
        self.mean = self.decoder.mean_latent(50)
        self.optimizer = torch.optim.Adam(self.encoder.parameters())

    def step(self, x):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.decoder(self.encoder(x) + self.mean), x)
        loss.backward()
        self.optimizer.step()

coach = Coach()
for _ in range(3):
    coach.step(torch.randn(6, 4))
""",
    )
    finding = next(f for f in report.findings if f.severity == "error")
    assert finding.fixes[0].message == "`self.decoder.mean_latent(50).detach()`"


class OneFile:
    """A program of one file, as far as it is asked for its text."""

    def __init__(self, text: str) -> None:
        self.source = SourceText("program.py", text)

    def text(self, file: str) -> SourceText:
        return self.source


@pytest.mark.parametrize(
    ("text", "new", "is_refused"),
    [
        ("STACK = 4", "1", True),
        ("STACK = 4", "2", False),
        ("KERNEL_SIZE = 3", "1", False),
        ("STACK = 0", "1", False),
    ],
)
def test_a_setting_is_not_made_1_to_fit(text: str, new: str, is_refused: bool) -> None:
    edit = Edit(Span("program.py", 1, len(text), 1, len(text) + 1), new)
    fix = Fix("fits", "", (edit,))
    assert has_emptied_setting(OneFile(text), fix) is is_refused  # type: ignore[arg-type]


def test_tensors_of_a_plain_class_that_it_optimizes_itself(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
class Process:
    def __init__(self):
        self.scale = torch.tensor(0.3, requires_grad=True)

    def loss(self, x):
        return (self.scale.exp() * x).sum()

    def fit(self, x):
        optimizer = torch.optim.Adam([self.scale], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            self.loss(x).backward()
            optimizer.step()

process = Process()
print(process.loss(torch.randn(4)))
process.fit(torch.randn(4))
""",
    )
    assert "not-a-parameter" not in {finding.code for finding in report.findings}
