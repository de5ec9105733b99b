"""Calls along another dim than is meant, views in place of a transpose, lists of
graphs: found with their fix, and programs without the mistake quiet.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

"""
CONFUSION = """
data = TensorDataset(torch.randn(24, 1, 8, 8), torch.randint(5, (24,)))
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval()
counts = torch.zeros(25, dtype=torch.long)
with torch.no_grad():
    for x, y in DataLoader(data, batch_size=8):
        pred = torch.softmax(model(x), dim={dim}).argmax(dim=1)
        counts += torch.bincount(y * 5 + pred, minlength=25)
"""
PATCHES = """
class Patches(nn.Module):
    def __init__(self, size=24, side=8):
        super().__init__()
        self.count = (size // side) ** 2
        self.proj = nn.Linear(3 * side * side, 16)

    def forward(self, x):
        return self.proj({cut})

model = Patches()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(4, 3, 24, 24)).mean().backward()
    optimizer.step()
"""
SPECTRUM = """
class Bands(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 33, 16, stride=8)
        self.bands = nn.Linear(33, 12)

    def forward(self, x):
        x = self.conv(x)
        return self.bands({turned})

model = Bands()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(4, 1, 256)).mean().backward()
    optimizer.step()
"""
VIEWS = """
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(10, 6)
    z = torch.stack([model(x), model(x + 0.1)], dim=1)
    z = F.normalize(z, dim={dim})
    a, b = z.unbind(1)
    optimizer.zero_grad()
    F.cross_entropy(a @ b.T, torch.arange(10)).backward()
    optimizer.step()
"""
EXPERTS = """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.score, self.out = nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, x):
        scores = self.score(x).softmax(-1)
        chosen = {chosen}
        mask = torch.zeros_like(scores).scatter_({dim}, chosen, 1.0)
        return (self.out(x) * scores * mask).sum(-1)

model = Gate()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, 16, 6)).mean().backward()
    optimizer.step()
"""
HISTORY = """
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 6), torch.randn(8, 1)
{before}
for step in range(8):
    loss = F.mse_loss(model(x), y)
    {kept}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(history))
"""
PLAIN = "x.view(x.size(0), self.count, -1)"
MISTAKES = {
    "softmax over the batch, beside a bincount": (
        CONFUSION.format(dim=0),
        "batch-axis",
        "`torch.softmax(model(x), dim=-1)`",
    ),
    "tokens that are rows of a channel": (
        PATCHES.format(cut=PLAIN),
        "view-mixes-dims",
        "`torch.nn.functional.unfold(x, 8, stride=8).transpose(1, 2)`",
    ),
    "sizes exchanged by a view": (
        SPECTRUM.format(turned="x.view(x.size(0), x.size(2), x.size(1))"),
        "view-mixes-dims",
        "`x.transpose(1, 2)`",
    ),
    "a norm over two views": (
        VIEWS.format(dim=1), "wrong-axis", "`F.normalize(z, dim=-1)`",
    ),
    "experts scattered along the tokens": (
        EXPERTS.format(chosen="scores.topk(1, dim=-1).indices", dim=1),
        "wrong-axis",
        "`dim=-1`",
    ),
    "an argmax scattered along the tokens": (
        EXPERTS.format(chosen="scores.argmax(2, keepdim=True)", dim=1),
        "wrong-axis",
        "`dim=-1`",
    ),
    "errors in a list": (
        HISTORY.format(
            before="history = []",
            kept="error = (model(x) - y).abs().mean(); history.append(error)",
        ),
        "graph-kept",
        "`error.item()`",
    ),
}  # fmt: skip
QUIET = {
    "softmax over the classes": CONFUSION.format(dim=1),
    "patches": PATCHES.format(cut="F.unfold(x, 8, stride=8).transpose(1, 2)"),
    "patches by permute": PATCHES.format(
        cut="x.view(-1, 3, 3, 8, 3, 8).permute(0, 2, 4, 1, 3, 5).reshape(-1, 9, 192)"
    ),
    "transposed": SPECTRUM.format(turned="x.transpose(1, 2)"),
    "a norm over features": VIEWS.format(dim=2),
    "experts": EXPERTS.format(chosen="scores.topk(2, dim=-1).indices", dim=2),
    "experts from the end": EXPERTS.format(
        chosen="scores.argmax(-1, keepdim=True)", dim=-1
    ),
    "numbers in a list": HISTORY.format(
        before="history = []", kept="history.append(loss.item())"
    ),
    "detached in a list": HISTORY.format(
        before="history = []", kept="history.append(loss.detach())"
    ),
    "the last of a list": HISTORY.format(
        before="history = []", kept="history = [(model(x) - y).abs().mean()]"
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_dim_is_named_with_its_fix(tmp_path: Path, name: str) -> None:
    text, code, fix = MISTAKES[name]
    report = rehearsed(tmp_path, HEAD + text)
    found = [finding for finding in report.findings if finding.code == code]
    assert found, report
    assert found[0].fixes[0].message == fix
    assert found[0].fixes[0].checked


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_is_meant(tmp_path: Path, name: str) -> None:
    assert rehearsed(tmp_path, HEAD + QUIET[name]).findings == ()
