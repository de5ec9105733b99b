"""Calls that are refused every day: products of other numbers of dims, cells with one
state, all results of a model, items with a batch of their own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

sys.path.insert(0, "site-packages")


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.classes, self.size = nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, x):
        return self.classes(x), self.size(x)


class Encoded(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        ids = torch.randint(50, (1, 7))
        mask = torch.ones(1, 7, dtype=torch.long)
        return {"input_ids": ids, "attention_mask": mask, "labels": i % 3}


class Windows(Dataset):
    def __init__(self, series, size):
        self.series, self.size = series, size

    def __len__(self):
        return len(self.series)

    def __getitem__(self, i):
        return self.series[i : i + self.size], self.series[i + self.size]


x, y = torch.randn(4, 8), torch.tensor([0, 1, 2, 0])
model = Two()
"""
LIBRARY = """\
import torch.nn.functional as F
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(50, 8), nn.Linear(8, 3)

    def forward(self, input_ids, attention_mask=None, labels=None):
        if input_ids.dim() != 2:
            raise ValueError(f"Wrong shape for input_ids (shape {input_ids.shape})")
        logits = self.head(self.table(input_ids).mean(1))
        return F.cross_entropy(logits.view(-1, 3), labels.view(-1))
"""
"""A model as libraries have them."""
CASES = {
    "a product of matrices": (
        "q, k = torch.randn(8, 16), torch.randn(8, 16)\n"
        "print(torch.bmm(q, k.transpose(0, 1)))",
        "`torch.bmm` expects 3 dims of `q`, got 2",
        ["`torch.matmul(q, k.transpose(0, 1))`"],
    ),
    "weights of each sample's steps": (
        "weights, steps = torch.rand(8, 10), torch.randn(8, 10, 16)\n"
        "print(torch.bmm(weights, steps).squeeze(1))",
        "`torch.bmm` expects 3 dims of `weights`, got 2",
        ["`weights.unsqueeze(1)`"],
    ),
    "a class for a block": (
        "with torch.no_grad:\n    print(model(x)[0].shape)",
        "`torch.no_grad` is a class, and `with` needs an instance",
        ["`torch.no_grad()`"],
    ),
    "a cell with one state": (
        "cell, h = nn.LSTMCell(8, 16), torch.zeros(4, 16)\n"
        "for t in range(3):\n    h = cell(x, h)",
        "`cell` takes the pair (h, c)",
        ["`h, c = cell(x, (h, c))`"],
    ),
    "all results in a call": (
        "nn.CrossEntropyLoss()(model(x), y).backward()",
        "`model(x)` is all that `Two` returns, a tuple of (4, 3), (4, 1)",
        ["`model(x)[0]`"],
    ),
    "all results in a name": (
        "out = model(x)\nnn.CrossEntropyLoss()(out, y).backward()",
        "`out` is all that `Two` returns",
        ["`out, _ = model(x)`"],
    ),
    "a number for each class": (
        "from readers import Reader\n"
        "reader, ids = Reader(), torch.randint(50, (4, 7))\n"
        "labels = F.one_hot(y, 3)\nreader(ids, labels=labels).backward()",
        "expects class indices (4,)",
        ["`labels.argmax(-1)`"],
    ),
    "frames before channels": (
        "video = torch.randn(2, 16, 3, 20, 20)\nprint(nn.Conv3d(3, 8, 3)(video).shape)",
        "needs 3 input channels, got 16",
        ["`video.transpose(1, 2)`"],
    ),
    "channels in front of a norm": (
        "maps = torch.randn(4, 32, 10)\nprint(nn.LayerNorm(32)(maps).shape)",
        "normalises a last dim of 32, got 10",
        ["`maps.transpose(1, 2)`", "`nn.LayerNorm(32)(maps.transpose(1, 2)).transpo"],
    ),
    "the label of one sample": (
        "F.cross_entropy(model(x)[0][:1], y[0]).backward()",
        "expects class indices (1,) for `model(x)[0][:1]` (1, 3), got `y[0]` ()",
        ["`y[0].unsqueeze(0)`", "`model(x)[0][:1].squeeze(0)`", "`model(x)[0][:1]"],
    ),
    "labels of 32 bits": (
        "F.cross_entropy(model(x)[0], y.int()).backward()",
        "expects class indices (int64)",
        ["`y`"],
    ),
    "a state dict as it was saved": (
        "torch.save(model.state_dict(), 'model.pt')\n"
        "checkpoint = torch.load('model.pt')\n"
        "model.load_state_dict(checkpoint['state_dict'])",
        "has no key 'state_dict': it is the state dict itself",
        ["`checkpoint`"],
    ),
    "another key of a checkpoint": (
        "torch.save({'net': model.state_dict(), 'epoch': 3}, 'model.pt')\n"
        "checkpoint = torch.load('model.pt')\n"
        "model.load_state_dict(checkpoint['state_dict'])",
        "has no key 'state_dict'",
        ['`checkpoint["net"]`'],
    ),
    "shares of a length": (
        "data = TensorDataset(torch.randn(105, 4))\n"
        "random_split(data, [0.8 * len(data), 0.2 * len(data)])",
        "these are floats: `0.8 * len(data)`",
        ["`[0.8, 0.2]`"],
    ),
    "a batch by number": (
        "loader = DataLoader(TensorDataset(torch.randn(20, 4)), 4)\n"
        "(first,) = loader[0]",
        "`loader` is a `DataLoader`, which gives its batches one after another",
        ["`next(iter(loader))`"],
    ),
    "windows to the end of a series": (
        "series = torch.randn(50)\n"
        "for past, value in DataLoader(Windows(series, 8), 4):\n    pass",
        "reads index 56 of dim 0 of `self.series` (50,)",
        ["`return len(self.series) - self.size`"],
    ),
    "a packed sequence": (
        "rnn, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)\n"
        "packed = nn.utils.rnn.pack_padded_sequence("
        "torch.randn(3, 5, 4), torch.tensor([5, 3, 2]), batch_first=True)\n"
        "out, _ = rnn(packed)\nhead(out)",
        "`out` is a packed sequence, as a recurrent layer returns of one",
        ["`out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)`"],
    ),
    "rows of numbers": (
        "nn.utils.rnn.pad_sequence([[1, 2, 3], [4, 5]], batch_first=True)",
        "`pad_sequence` takes tensors",
        ["`[torch.tensor([1, 2, 3]), torch.tensor([4, 5])]`"],
    ),
    "several classes": (
        "scores = model(x)[0]\nscores.max(1)[1].item()",
        "`Tensor.item` needs size 1 in dim 0",
        ["`torch.randn(1, 8)`"],
    ),
    "classes beside scores": (
        "F.mse_loss(model(x)[0], y.float())",
        "`F.mse_loss` needs a target for each prediction",
        ["`F.one_hot(y, 3).float()`"],
    ),
    "weights of 64 bits": (
        "weight = torch.from_numpy(np.array([1.0, 2.0, 3.0]))\n"
        "nn.CrossEntropyLoss(weight=weight)(model(x)[0], y)",
        "`CrossEntropyLoss.weight` is float64",
        ["`weight.float()`"],
    ),
    "uneven groups": (
        "nn.Conv2d(6, 16, 3, groups=4)",
        "`groups=4` splits 6 channels and 16 into as many parts each: 1 and 2 divide",
        ["`groups=2`"],
    ),
    "a number for each channel": (
        "images, mean = torch.randn(8, 3, 16, 16), torch.tensor([0.5, 0.4, 0.3])\n"
        "print((images - mean).shape)",
        "cannot line up `images` (8, 3, 16, 16) with `mean` (3,)",
        ["`mean[:, None, None]`", "`torch.tensor([0.5, 0.4, 0.3])[:, None, None]`"],
    ),
    "a pass that nothing calls": (
        "F.cross_entropy(model(x)[0], y).backward\n"
        "print(model.classes.weight.grad.norm())",
        "without parentheses calls nothing",
        ["`F.cross_entropy(model(x)[0], y).backward()`"],
    ),
    "letters that another equation gave": (
        "q, k = torch.randn(4, 10, 8, 16), torch.randn(4, 12, 8, 16)\n"
        "w = torch.einsum('bqhd,bkhd->bhqk', q, k)\n"
        "print(torch.einsum('bhqk,bkhd->bqhd', w, q).shape)",
        "gives `k` in `bhqk,bkhd->bqhd` two sizes",
        ["`torch.randn(4, 12, 8, 16)`"],
    ),
}


@pytest.fixture(autouse=True)
def _a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that the programs may import, installed beside them."""
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "readers.py").write_text(LIBRARY)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_the_fixes(name: str, tmp_path: Path) -> None:
    program, said, fixes = CASES[name]
    findings = rehearsed(tmp_path, f"{HEAD}{program}\n").findings
    error = next(finding for finding in findings if finding.severity == "error")
    assert said in error.message
    checked = [edit.message for edit in error.fixes if edit.checked]
    assert len(checked) == len(fixes), checked
    assert all(a.startswith(b) for a, b in zip(checked, fixes, strict=True)), checked


def test_a_norm_of_steps_is_no_fix(tmp_path: Path) -> None:
    """Neither as many steps as features in data that stand in for the real ones."""
    program = (
        "net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16))\n"
        "print(net(torch.randn(4, 10, 8)).shape)\n"
    )
    (error,) = rehearsed(tmp_path, HEAD + program).findings
    assert "looks like channels last" in error.message
    assert not [edit for edit in error.fixes if edit.checked]


def test_items_with_a_batch_of_their_own(tmp_path: Path) -> None:
    """As a tokenizer makes them; all of them lose it in one fix."""
    program = (
        "from readers import Reader\nreader = Reader()\n"
        "for batch in DataLoader(Encoded(), 4):\n    reader(**batch).backward()\n"
    )
    (error,) = rehearsed(tmp_path, HEAD + program).findings
    assert (
        "`input_ids` is (4, 1, 7), and `Reader` takes (batch, tokens)" in error.message
    )
    checked = [edit.message for edit in error.fixes if edit.checked]
    assert checked == ["`ids.squeeze(0)` and 1 more"]
