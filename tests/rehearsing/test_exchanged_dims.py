"""Pads of the wrong dims, a column for a row, a layer that hides a number, a graph that
is computed again, class numbers that are resized, draws inside `vmap`, searches that
find no file: the first edit is the one that is meant.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

"""
UP = """\
class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)

    def forward(self, x, skip):
        x = self.up(x)
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        PAD
        return JOIN

up = Up()
up(torch.randn(2, 8, 6, 7), torch.randn(2, 8, 13, 14)).sum().backward()
"""


def write_up(pad: str, join: str = "torch.cat([skip, x], dim=1)") -> str:
    """Return a decoder that pads what it has upsampled."""
    return UP.replace("PAD", pad).replace("JOIN", join)


ROW = """\
mapping = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3))
for sample in torch.randn(4, 12):
    x = COLUMN
    x = x * torch.rsqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-8)
    loss = mapping(x).square().mean()
    loss.backward()
"""
HIDDEN = """\
class Net(nn.Module):
    def __init__(self, width=16, rate=0.5):
        super().__init__()
        FIRST
        self.out = LAST

    def forward(self, x):
        return self.out(BODY)

Net()(torch.randn(4, 6)).sum().backward()
"""


def write_net(first: str, last: str, body: str) -> str:
    """Return a network whose constructor gives one name to two things."""
    return HIDDEN.replace("FIRST", first).replace("LAST", last).replace("BODY", body)


AGAIN = """\
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x, y = torch.randn(5, 6), torch.randint(3, (5,))
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 2 == 1:
        drawn = torch.distributions.Categorical(logits=logits).sample()
        again = F.cross_entropy(logits, drawn)
        again.backward()
        optimizer.zero_grad()
"""
RESIZED = """\
net = nn.Conv2d(3, 4, 3, stride=2, padding=1)
masks = torch.randint(4, (2, 16, 16))
scores = net(torch.randn(2, 3, 16, 16))
small = F.interpolate(masks[:, None], SIZE).squeeze(1)
F.cross_entropy(scores, small).backward()
"""
MAPPED = """\
from torch.func import functional_call, grad, vmap

model = nn.Sequential(nn.Linear(6, 8), nn.DROPOUT(0.5), nn.Linear(8, 1))
weights = dict(model.named_parameters())

def loss(weights, x, y):
    return F.mse_loss(functional_call(model, weights, (x,)), y)

mapped = vmap(grad(loss), in_dims=(None, 0, 0))
each = mapped(weights, torch.randn(4, 6), torch.randn(4, 1))
print({name: g.shape for name, g in each.items()})
"""
FILES = """\
import glob
import os
import tempfile
from torch.utils.data import DataLoader, Dataset

root = tempfile.mkdtemp()
for kind in ("cat", "dog"):
    os.makedirs(os.path.join(root, kind))
    for n in range(4):
        torch.save(torch.randn(3), os.path.join(root, kind, f"{n}.pt"))

class Stored(Dataset):
    def __init__(self, folder):
        self.paths = sorted(SEARCH)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return torch.load(self.paths[n])

for batch in DataLoader(Stored(root), 2, shuffle=True):
    print(batch.shape)
"""
CASES = {
    "class numbers that are resized": (
        RESIZED.replace("SIZE", 'scores.shape[2:], mode="nearest"'),
        "`interpolate(masks[:, None].float(), ...).long()`",
    ),
    "class numbers that are resized by default": (
        RESIZED.replace("SIZE", "scale_factor=0.5"),
        "`interpolate(masks[:, None].float(), ...).long()`",
    ),
    "a dropout inside a mapped function": (
        MAPPED.replace("DROPOUT", "Dropout"),
        'vmap(grad(loss), in_dims=(None, 0, 0), randomness="different")',
    ),
    "files that lie one folder deeper": (
        FILES.replace("SEARCH", 'glob.glob(os.path.join(folder, "*.pt"))'),
        '`glob.glob(os.path.join(folder, "*/*.pt"))`',
    ),
    "files of a formatted pattern": (
        FILES.replace("SEARCH", 'glob.glob(folder + "/*.pt")'),
        '`glob.glob(folder + "/*/*.pt")`',
    ),
    "pads of the height first": (
        write_up("x = F.pad(x, (dy // 2, dy - dy // 2, dx // 2, dx - dx // 2))"),
        "`(dx // 2, dx - dx // 2, dy // 2, dy - dy // 2)` as pads, the width first",
    ),
    "pads with a name, before a sum": (
        write_up("pads = [0, dy, 0, dx]; x = F.pad(x, pads)", "skip + x"),
        "`(0, dx, 0, dy)` as pads, the width first",
    ),
    "a sample made a column": (
        ROW.replace("COLUMN", "sample.unsqueeze(1)"), "`sample.unsqueeze(0)`",
    ),
    "a sample viewed as a column": (
        ROW.replace("COLUMN", "sample.view(-1, 1)"), "`sample.view(1, -1)`",
    ),
    "a layer that hides its width": (
        write_net(
            "self.hidden = width; self.hidden = nn.Linear(6, self.hidden)",
            "nn.Linear(self.hidden, 3)", "self.hidden(x)",
        ), "`width` for `self.hidden`",
    ),
    "a dropout that hides its rate": (
        write_net(
            "self.drop = rate; self.drop = nn.Dropout(self.drop)",
            "nn.Sequential(nn.Linear(6, 3), nn.Dropout(self.drop))", "self.drop(x)",
        ), "`rate` for `self.drop`",
    ),
    "logits computed again after the step": (AGAIN, "`logits = model(x)` again"),
}  # fmt: skip
OTHERS = {
    "smoothed class numbers": (
        RESIZED.replace("SIZE", 'scores.shape[2:], mode="bilinear"'), ".long()",
    ),
    "files of another ending": (
        FILES.replace("SEARCH", 'glob.glob(os.path.join(folder, "*.npy"))'), "*/*",
    ),
    "pads that lack a row in both orders": (
        write_up("x = F.pad(x, (0, dy - 1, 0, dx))"), "the width first",
    ),
    "a column of one feature": (
        "net = nn.Linear(3, 2)\nnet(torch.randn(5).unsqueeze(1)).sum().backward()\n",
        "unsqueeze(0)",
    ),
}  # fmt: skip


def list_fixes(folder: Path, text: str) -> list[str]:
    """Return the fixes of the first error, which the rehearsal has checked."""
    report = rehearsed(folder, HEAD + text)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    return [fix.message for fix in errors[0].fixes]


@pytest.mark.parametrize("name", CASES)
def test_the_first_edit_is_meant(name: str, tmp_path: Path) -> None:
    text, wanted = CASES[name]
    fixes = list_fixes(tmp_path, text)
    assert fixes
    assert wanted in fixes[0]


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_not_fit_is_not_suggested(name: str, tmp_path: Path) -> None:
    text, unwanted = OTHERS[name]
    assert not any(unwanted in message for message in list_fixes(tmp_path, text))


def test_counts_of_a_table_name_all_classes(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    text = """\
import pandas as pd

CLASSES = 4
table = pd.DataFrame({"a": [0.1, 0.4, 0.3, 0.2, 0.6], "kind": [0, 1, 3, 1, 0]})
counts = table["kind"].value_counts().sort_index()
weight = torch.tensor((counts.sum() / counts).values, dtype=torch.float32)
model = nn.Linear(1, CLASSES)
x = torch.tensor(table[["a"]].values, dtype=torch.float32)
loss = nn.CrossEntropyLoss(weight=weight)(model(x), torch.tensor(table["kind"].values))
loss.backward()
"""
    (first, *_) = list_fixes(tmp_path, text)
    wanted = '`table["kind"].value_counts().reindex(range(CLASSES), fill_value=1)`'
    assert first == wanted
