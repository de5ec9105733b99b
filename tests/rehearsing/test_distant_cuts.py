"""Slices, masks, defaults, outputs and features that do not fit, mended where they are
made.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SHIFTED = """\
import torch
from torch import nn

tokens = torch.randint(0, 20, (200,))
model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
for step in range(2):
    starts = torch.randint(0, 180, (4,))
    x = torch.stack([tokens[i : i + 12] for i in starts])
    y = torch.stack([tokens[i + 1 : {end}] for i in starts])
    logits = model(x).flatten(0, 1)
    nn.functional.cross_entropy(logits, y.flatten()).backward()
"""
WIDEST = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

rows = [torch.ones(n, 4) for n in (3, 5, 2, 9, 4, 6, 3, 5)]
WIDEST = max(len(row) for row in rows)

def collate(batch):
    lengths = torch.tensor([len(row) for row in batch])
    padded = pad_sequence(batch, batch_first=True)
    return padded, torch.arange({width}) < lengths[:, None]

score = nn.Linear(4, 1)
for x, mask in DataLoader(rows, 2, collate_fn=collate):
    weights = score(x).squeeze(-1).masked_fill(~mask, -1e9).softmax(1)
    weights[:, 0].sum().backward()
"""
SOLVED = """\
import torch
from torch import nn

class Critic(nn.Module):
    def __init__(self, size=32, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, width, 4, 2, 1), nn.MaxPool2d(2))
        self.head = nn.Linear(width * (size // 4) ** 2, 1)
    def forward(self, x):
        return self.head(self.body(x).flatten(1))

critic = Critic({size})
critic(torch.rand(4, 1, 24, 24)).mean().backward()
"""
OUTPUTS = """\
import torch
from torch import nn
import torch.nn.functional as F

class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(5, n) for n in (7, 2, 4)])
    def forward(self, x):
        return [head(x) for head in self.heads]

model = Heads()
age, sex, job = torch.arange(14) % 7, torch.arange(14) % 2, torch.arange(14) % 4
{names} = model(torch.rand(14, 5))
loss = F.cross_entropy(a, age) + F.cross_entropy(s, sex) + F.cross_entropy(j, job)
loss.backward()
"""
FEATURES = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body, self.head = nn.Linear(6, width), nn.Linear(width, 3)
    def forward(self, x):
        h = self.body(x).relu()
        return self.head(h), h

teacher, student = Net({width}).eval(), Net(8)
optimizer = torch.optim.Adam(student.parameters())
x = torch.rand(10, 6)
with torch.no_grad():
    _, wide = teacher(x)
logits, features = student(x)
loss = nn.functional.mse_loss(features, wide) + logits.pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""
PLACES = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, length=64, width=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(2, width, 3, 2, 1), nn.MaxPool1d(2))
        self.places = nn.Parameter(torch.zeros(1, {rows}, width))
    def forward(self, x):
        return self.stem(x).transpose(1, 2) + self.places

Net()(torch.rand(3, 2, 64)).sum().backward()
"""
BINS = """\
import torch
from torch import nn

class Filter(nn.Module):
    def __init__(self, n=32):
        super().__init__()
        self.gains = nn.Parameter(torch.ones({bins}))
    def forward(self, x):
        return torch.fft.irfft(torch.fft.rfft(x) * self.gains, n=x.size(-1))

Filter()(torch.rand(3, 32)).sum().backward()
"""
PYRAMID = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1)
        self.c, self.head = nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(28, 2, 1)
    def forward(self, x):
        a = self.a(x)
        b = self.b(a)
        c = self.c(b)
        {resize}
        return self.head(torch.cat([a, b, c], dim=1))

Net()(torch.rand(2, 3, 32, 32)).sum().backward()
"""
WINDOWS = """\
import torch
from torch import nn

net, image, side = nn.Conv2d(1, 3, 3, 1, 1), torch.rand(1, 1, 40, 40), 16
scores = torch.zeros(1, 3, 40, 40)
with torch.no_grad():
    for i in range(0, 40, side):
        for j in range(0, 40, side):
            crop = image[:, :, i : i + side, j : j + side]
            patch = torch.zeros(1, 1, side, side)
            patch[:, :, : crop.shape[2], : crop.shape[3]] = crop
            scores[:, :, i : i + side, j : j + side] = {part}
"""
SPANS = """\
import torch
from torch import nn

model = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 2))
start = torch.arange(6) * 2
out = model(torch.randint(0, 30, (6, 12)))
first = out[{place}]
nn.functional.cross_entropy(first, start).backward()
"""
BOXES = """\
import torch
from torch import nn
import torch.nn.functional as F

x, labels, boxes = torch.rand(9, 8), torch.arange(9) % 3, torch.rand(9, 4)
classes, deltas = nn.Linear(8, 3)(x), nn.Linear(8, {count})(x)
loss = F.cross_entropy(classes, labels) + F.smooth_l1_loss({mine}, boxes)
loss.backward()
"""
UNION = """\
import torch
from torch import nn

class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
    def forward(self, x, pad):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4)
        later = torch.ones(t, t, dtype=torch.bool).triu(1)
        scores = (q @ k.mT / 2).masked_fill(later | {pad}, -1e9)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, 8)

x = torch.rand(3, 6, 8)
pad = torch.arange(6) >= torch.tensor([[6], [4], [5]])
Heads()(x, pad).sum().backward()
"""
SPECTRUM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, mels=16):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, 2, 1)
        self.head = nn.Linear(4 * (mels // 2), 5)
    def forward(self, x):
        h = self.conv({x}.unsqueeze(1))
        b, c, f, t = h.shape
        return self.head(h.permute(0, 3, 1, 2).reshape(b, t, c * f))

Net()(torch.rand(2, 30, 16)).sum().backward()
"""
PROMPTS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.prompt = nn.Parameter(torch.zeros(3, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    def forward(self, x, mask):
        x = torch.cat([self.prompt.expand(len(x), -1, -1), x], 1)
        return self.body(x, src_key_padding_mask=mask == 0)

mask = torch.ones(2, 5)
Net()(torch.rand(2, 5, 8), mask).sum().backward()
"""
CASES = {
    "maps of a pyramid": (
        PYRAMID.format(resize="pass"),
        ["`nn.functional.interpolate(..., size=a.shape[2:])` for the smaller maps"],
    ),
    "a window at the edge": (
        WINDOWS.format(part="net(patch)"),
        ["`net(patch)[:, :, : crop.shape[2], : crop.shape[3]]`"],
    ),
    "the part of a window": (
        WINDOWS.format(part="net(patch)[:, :, : crop.shape[2], : crop.shape[3]]"),
        None,
    ),
    "scores of one place": (SPANS.format(place=":, 0"), ["`out[..., 0]`"]),
    "scores of all places": (SPANS.format(place="..., 0"), None),
    "boxes of all classes": (
        BOXES.format(count="12", mine="deltas"),
        ["`deltas.view(len(deltas), -1, 4)[torch.arange(len(deltas)), labels]`"],
    ),
    "one box": (BOXES.format(count="4", mine="deltas"), None),
    "padding joined with what is later": (
        UNION.format(pad="pad"), ["`pad[:, None, None, :]`"],
    ),
    "padding with dims": (UNION.format(pad="pad[:, None, None, :]"), None),
    "a spectrum with the time first": (
        SPECTRUM.format(x="x"), ["`x.transpose(1, 2)`", "`Net(mels=30)`"],
    ),
    "a spectrum": (SPECTRUM.format(x="x.transpose(1, 2)"), None),
    "prompts that a mask of numbers lacks": (
        PROMPTS,
        ["`torch.nn.functional.pad(mask, (3, 0), value=1)`",
         "`torch.nn.functional.pad(mask == 0, (3, 0), value=False)`"],
    ),
    "targets that end too early": (
        SHIFTED.format(end="i + 12"), ["`tokens[i + 1 : i + 12 + 1]`"],
    ),
    "as many targets": (SHIFTED.format(end="i + 13"), None),
    "a mask for the longest row": (
        WIDEST.format(width="WIDEST"), ["`torch.arange(padded.size(1))`"],
    ),
    "a mask for the batch": (WIDEST.format(width="padded.size(1)"), None),
    "a size by default": (SOLVED.format(size=""), ["`Critic(size=24)`"]),
    "the size of the images": (SOLVED.format(size="size=24"), None),
    "outputs in another order": (
        OUTPUTS.format(names="a, j, s"), ["`a, s, j = model(torch.rand(14, 5))`"],
    ),
    "outputs in their order": (OUTPUTS.format(names="a, s, j"), None),
    "wider features": (
        FEATURES.format(width="12"),
        ["`projection(features)`, with `projection = nn.Linear(8, 12)` in the"
         " optimizer"],
    ),
    "features of one width": (FEATURES.format(width="8"), None),
    "places of a signal halved twice": (
        PLACES.format(rows="length // 2"), ["`torch.zeros(1, length // 4, width)`"],
    ),
    "as many places": (PLACES.format(rows="length // 4"), None),
    "bins of a spectrum": (BINS.format(bins="n // 2"), ["`torch.ones(n // 2 + 1)`"]),
    "all bins": (BINS.format(bins="n // 2 + 1"), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_mended_where_it_is_made(name: str, tmp_path: Path) -> None:
    program, fixes = CASES[name]
    findings = rehearsed(tmp_path, program).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert len(errors) == (fixes is not None)
    if fixes is not None:
        assert [fix.message for fix in errors[0].fixes] == fixes
        assert errors[0].fixes[0].checked
