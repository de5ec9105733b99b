"""The edit that is meant, of mistakes as threads of small repositories tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

"""
HEADS = """\
class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_scores = nn.Linear(dim, 2 * dim)

    def forward(self, x, mask):
        b, n, _ = x.shape
        q, k = self.to_scores(x).view(b, n, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        dots = q @ k.transpose(-2, -1)
        mask = mask[:, None, :] * mask[:, :, None]
        dots.masked_fill_(~mask, -1e9)
        return dots.softmax(-1)


class Transformer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = Attention(dim, 5)

    def forward(self, x, mask):
        return self.attention(x, mask)


Transformer(40)(torch.randn(16, 10, 40), torch.ones(16, 10, dtype=torch.bool))
"""
CHUNKS = """\
class Chunked(nn.Module):
    def __init__(self, dim, chunk=12):
        super().__init__()
        self.chunk = chunk
        self.mix = nn.Linear(dim, dim)
        hidden = torch.ones(chunk, chunk).triu(1).bool()
        self.register_buffer("hidden", hidden)

    def forward(self, x):
        parts = torch.cat(self.mix(x).chunk(x.size(1) // self.chunk, dim=1))
        scores = parts @ parts.transpose(1, 2)
        return scores.masked_fill(self.hidden, -1e9).softmax(-1) @ parts


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = Chunked(dim)

    def forward(self, x):
        return self.attention(x)


Block(6)(torch.randn(4, 30, 6)).sum().backward()
"""
POSITIONS = """\
class Positions(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        table = torch.zeros(length, width)
        table[:, 0] = torch.arange(length)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


net = nn.Sequential(Positions(8, 24), nn.Linear(8, 1))
net(torch.randn(4, 30, 8)).sum().backward()
"""
CROPPED = """\
from torch.utils.data import DataLoader, Dataset


class Fields(Dataset):
    def __init__(self, side, classes):
        self.side, self.classes = side, classes

    def __len__(self):
        return 8

    def __getitem__(self, i):
        clear = torch.rand(self.side, self.classes) > 0.2
        return torch.randn(3, self.side, self.side), clear


net = nn.Conv2d(3, 5, 1)
for images, clear in DataLoader(Fields(9, 5), batch_size=2):
    logits = net(images).permute(0, 2, 3, 1).reshape(-1, 5)
    logits[clear.reshape(-1)].sum().backward()
"""
GRID = """\
class Features(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.embed = nn.Conv2d(3, dim, 4, stride=4)

    def forward(self, images):
        tokens = self.embed(images).flatten(2).transpose(1, 2)
        return tokens.reshape(-1, 4, 4, self.dim).permute(0, 3, 1, 2)


images, targets = torch.randn(2, 3, 32, 32), torch.randint(3, (2,))
head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
F.cross_entropy(head(Features(8)(images)), targets).backward()
"""
WEIGHTED = """\
net, weights = nn.Linear(3, 1), torch.rand(8, 1)
errors = torch.rand(8, 1) - net(torch.randn(8, 3))
loss = errors.pow(2) * weights.mean()
loss.backward()
"""
FRAMES = """\
import numpy
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self):
        self.clips = [numpy.zeros((n, 8), "float32") for n in (40, 50, 60, 45)]

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        mel = torch.from_numpy(self.clips[i])
        start = torch.randint(0, mel.shape[1] - 16 + 1, (1,)).item()
        return mel[:, start:start + 16]


net = nn.Conv1d(8, 4, 3)
for mel in DataLoader(Clips(), batch_size=2):
    net(mel).sum().backward()
"""
BACKBONES = """\
import os
import tempfile


def build_narrow():
    return nn.ModuleDict({f"conv{n}": nn.Linear(4, 4) for n in range(6)})


def build_wide():
    layers = [nn.Linear(9, 9) for _ in range(6)]
    return nn.ModuleDict({"stem": nn.Linear(9, 9), "body": nn.Sequential(*layers)})


path = os.path.join(tempfile.mkdtemp(), "net.pt")
trained = build_narrow().train()
torch.save({"model": trained.state_dict()}, path)
net = build_wide()
net.load_state_dict(torch.load(path)["model"])
"""
ONE_IMAGE = """\
def build():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())


with torch.no_grad():
    build()(torch.rand(2, 3, 16, 16))
    image = torch.rand(3, 16, 16)
    print(build().eval()(image).shape)
"""
FIRST_SAMPLE = """\
net, images, labels = nn.Linear(6, 4), torch.randn(32, 6), torch.randint(4, (32,))
scores = net(images)[0]
F.cross_entropy(scores, labels).backward()
"""
WIDTHS = """\
class Net(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.up = nn.Linear(3, dim * 4)
        self.down = nn.Linear(dim * 8, 5)

    def forward(self, x):
        return self.down(self.up(x))


Net()(torch.randn(2, 3)).sum().backward()
"""
CASES = {
    "a mask without a dim of heads, written in place": (
        HEADS, "`(~mask).unsqueeze(1)`"
    ),
    "a chunk that is not the default": (CHUNKS, "`Chunked(dim, chunk=15)`"),
    "a table of fewer positions": (POSITIONS, "`Positions(8, 30)`"),
    "a mask of rows and classes": (CROPPED, "`torch.rand(self.side, self.side)`"),
    "tokens of larger images": (GRID, "`tokens.reshape(-1, 8, 8, self.dim)`"),
    "a mean of the weights alone": (WEIGHTED, "`(errors.pow(2) * weights).mean()`"),
    "frames along the other dim": (FRAMES, "`torch.from_numpy(self.clips[i]).T`"),
    "a state dict of another model": (BACKBONES, "`build_narrow()`"),
    "one image for a batch norm": (ONE_IMAGE, "`image.unsqueeze(0)`"),
    "the first sample of all": (FIRST_SAMPLE, "`net(images)` without `[0]`"),
    "a multiple of another width": (WIDTHS, "`nn.Linear(dim * 4, 5)`"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_edit_that_is_meant(name: str, tmp_path: Path) -> None:
    text, edit = CASES[name]
    (finding, *_) = rehearsed(tmp_path, HEAD + text).findings
    assert finding.severity == "error"
    assert [fix.message for fix in finding.fixes][:1] == [edit]


def test_an_own_class_is_no_layer_of_torch(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + HEADS).findings
    notes = " ".join(related.message for related in finding.related)
    assert "batch_first" not in notes


def test_a_view_that_makes_samples_is_named(tmp_path: Path) -> None:
    (finding, *_) = rehearsed(tmp_path, HEAD + GRID).findings
    words = "2 samples become 8 here: each has 8·8 places, and 4·4 are written"
    assert words in [related.message for related in finding.related]


def test_a_loss_of_several_numbers_is_named(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + WEIGHTED).findings
    assert "`loss` is (8, 1): nothing has reduced it" in finding.message


MASKED = """\
net = nn.Conv2d(3, 19, 1)
images, clear = torch.randn(2, 3, {0}, {0}), torch.rand(2, {0}, {0}) > 0.3
labels = torch.randint(0, 19, (2, {0}, {0})).reshape(-1)
logits = net(images).permute(0, 2, 3, 1).reshape(-1, 19)
kept = logits[clear.reshape(-1, 1).repeat(1, 19)].reshape(-1, 19)
F.cross_entropy(kept, labels[clear.reshape(-1)]).backward()
"""


@pytest.mark.parametrize("side", [24, 60, 128])
def test_what_two_masks_keep_is_not_compared(side: int, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, HEAD + MASKED.format(side)).findings


def test_what_a_mask_keeps_is_compared_with_all(tmp_path: Path) -> None:
    text = MASKED.format(128).replace("labels[clear.reshape(-1)]", "labels")
    assert rehearsed(tmp_path, HEAD + text).findings


BY_HAND = """\
w = torch.zeros(1, requires_grad=True)
x = torch.randn(8)
(w * x).pow(2).mean().backward()
w.data -= 0.1 * w.grad
for epoch in range(5):
    loss = (w * x).pow(2).mean()
    loss.backward()
    w.data -= 0.1 * w.grad
"""


def test_gradients_of_an_update_by_hand_are_cleared_in_the_loop(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + BY_HAND).findings
    assert [fix.message for fix in finding.fixes] == ["`w.grad = None`"]
    early = [r for r in finding.related if r.span.line == 8]
    assert [r.message for r in early] == ["this step used them"]
