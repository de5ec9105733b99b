"""Copies of a model that are updated the wrong way, models over folds, metrics with
exchanged arguments, overlaps, and steps, classes and noise at the wrong place.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(48, 6), torch.randint(3, (48,))
loader = DataLoader(TensorDataset(x, y), 16, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()


def roc_auc_score(y_true, y_score):
    return 0.5


def confusion_matrix(y_true, y_pred):
    return [[0]]
"""
LOOP = """
for step, (a, b) in enumerate(loader):
    optimizer.zero_grad()
    criterion(model(a), b).backward()
    optimizer.step()
"""
AVERAGE = f"average = copy.deepcopy(model)\n{LOOP}    with torch.no_grad():\n"
PAIRS = "        for p, q in zip({}.parameters(), {}.parameters()):\n            {}\n"
TARGET = f"target = nn.Linear(6, 3)\ntarget.load_state_dict(model.state_dict())\n{LOOP}"
COUNTED = "hits, scores, truth = [], [], []\nmodel.eval()\nwith torch.no_grad():\n"
COUNTED += "    for a, b in DataLoader(TensorDataset(x, y), 16):\n"
COUNTED += "        hits += model(a).argmax(1).tolist()\n"
COUNTED += "        scores += model(a).softmax(1)[:, 1].tolist()\n"
COUNTED += "        truth += b.tolist()\n"
SEGMENTED = """
net = nn.Conv2d(3, 1, 3, padding=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def dice(p, t):
    inter = (p * t).sum()
    return (2 * inter + 1) / (p.sum() + t.sum() + 1)


images, masks = torch.randn(16, 3, 8, 8), (torch.rand(16, 1, 8, 8) > 0.5).float()
for a, b in DataLoader(TensorDataset(images, masks), 4):
    out = net(a)
    loss = 1 - dice(out.sigmoid(), b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SEQUENCES = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


net = Reader()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
series = torch.randn(48, 5, 4)
for a, b in DataLoader(TensorDataset(series, y), 16):
    optimizer.zero_grad()
    criterion(net(a), b).backward()
    optimizer.step()
"""
WORDS = """
net = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
ids = torch.randint(20, (48, 7))
for (a,) in DataLoader(TensorDataset(ids), 16):
    optimizer.zero_grad()
    logits = net(a[:, :-1])
    F.cross_entropy(logits.reshape(-1, 20), a[:, 1:].reshape(-1)).backward()
    optimizer.step()
with torch.no_grad():
    print(net(ids[:4]).argmax(-1))
"""
NOISE = """
net = nn.Linear(6, 6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = torch.linspace(0.99, 0.01, 50)
for a, _ in loader:
    rate = kept[torch.randint(50, (len(a), 1))]
    noise = torch.randn_like(a)
    mixed = rate.sqrt() * a + (1 - rate).sqrt() * noise
    optimizer.zero_grad()
    F.mse_loss(net(mixed), noise).backward()
    optimizer.step()
"""
HOOKED = f"""
def halve(module, inputs, out):
    return out * 0.5


model.register_forward_hook(halve)
{LOOP}
"""
STEPS = """
class v2:
    Compose, ToDtype, Normalize = list, lambda *a, **k: a, lambda *a: a


"""
READER = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Embedding(20, 8), nn.Linear(8, 20)
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, ids):
        b, t, d = (*ids.shape, 8)
        h = self.table(ids)
        q = self.q(h).view(b, t, 2, 4).transpose(1, 2)
        k = self.k(h).view(b, t, 2, 4).transpose(1, 2)
        v = self.v(h).view(b, t, 2, 4).transpose(1, 2)
        mask = torch.tril(torch.ones(t, t))
        scores = q @ k.transpose(-2, -1) / 2
        w = scores.masked_fill(mask == 0, float("-inf")).softmax(-1)
        return self.last((w @ v).transpose(1, 2).reshape(b, t, d))


net = Attention()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
ids = torch.randint(20, (48, 8))
for (a,) in DataLoader(TensorDataset(ids), 16):
    optimizer.zero_grad()
    logits = net(a[:, :-1])
    F.cross_entropy(logits.reshape(-1, 20), a[:, 1:].reshape(-1)).backward()
    optimizer.step()
"""
FOLDS = """
for train_idx, val_idx in [(range(32), range(32, 48)), (range(16, 48), range(16))]:
    for epoch in range(2):
        optimizer.zero_grad()
        criterion(model(x[train_idx]), y[train_idx]).backward()
        optimizer.step()
"""
PICTURES = """
images = torch.randint(0, 256, (48, 8, 8, 3), dtype=torch.uint8)
pixels = images.permute(0, 3, 1, 2).float() / 255
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(pixels, y), 16):
    optimizer.zero_grad()
    criterion(net(a), b).backward()
    optimizer.step()
"""
WRONG = {
    "an average that is read": (
        AVERAGE + PAIRS.format("model", "average", "p.mul_(0.9).add_(q, alpha=0.1)"),
        "the trained `model` gets the weights of `average`",
        "`zip(average.parameters(), model.parameters())`",
    ),
    "a target that is loaded": (
        TARGET + "    if step % 2 == 0:\n"
        "        model.load_state_dict(target.state_dict())\n",
        "the trained `model` gets the weights of `target`",
        "`target.load_state_dict(model.state_dict())`",
    ),
    "a second name": (
        TARGET + "    if step % 2 == 0:\n        target = model\n",
        "`target` is the same model as `model` from here on",
        "`target.load_state_dict(model.state_dict())`",
    ),
    "a new tensor": (
        AVERAGE + PAIRS.format("average", "model", "p = 0.9 * p + 0.1 * q"),
        "`p` is a new tensor from here on",
        "`p.data.copy_(0.9 * p + 0.1 * q)`",
    ),
    "numbers that are exchanged": (
        AVERAGE + PAIRS.format("average", "model", "p.mul_(0.01).add_(q, alpha=0.99)"),
        "keeps 0.01 of itself",
        "`0.01` and `0.99` exchanged",
    ),
    "predictions for labels": (
        LOOP + COUNTED + "print(confusion_matrix(hits, truth))\n",
        "`confusion_matrix` takes the labels first",
        "`confusion_matrix(truth, hits)`",
    ),
    "decisions for scores": (
        LOOP + COUNTED + "print(roc_auc_score(truth, hits))\n",
        "`hits` holds decisions",
        None,
    ),
    "an overlap of logits": (
        SEGMENTED.replace("out.sigmoid()", "out"),
        "takes `p` for probabilities, and it holds logits of `conv2d`",
        "`out.sigmoid()`",
    ),
    "an overlap that is minimized": (
        SEGMENTED.replace("1 - dice", "dice"),
        "the loss adds this overlap of prediction and mask",
        "`1 - dice(out.sigmoid(), b)`",
    ),
    "the first step": (
        SEQUENCES.replace("[:, -1]", "[:, 0]"),
        "the first step of `out` (16, 5, 8) has read one step",
        "`out[:, -1]`",
    ),
    "classes of steps": (
        WORDS.replace("argmax(-1)", "argmax(1)"),
        "the class is chosen along dim 1 of (4, 7, 20), its 7 steps",
        "`net(ids[:4]).argmax(-1)`",
    ),
    "a variance beside a root": (
        NOISE.replace("(1 - rate).sqrt()", "(1 - rate)"),
        "the deviation is the root of `1 - rate`",
        "`(1 - rate).sqrt()`",
    ),
    "one training for all folds": (
        FOLDS,
        "`model` is built once, before the loop over folds",
        "`model = nn.Linear(6, 3)` in the loop",
    ),
    "a hook that returns nothing": (
        HOOKED.replace("return out * 0.5", "out = out * 0.5"),
        "`halve` gives `out` another value and returns nothing",
        "`return out * 0.5`",
    ),
    "bytes as they are": (
        STEPS + "v2.Compose([v2.ToDtype(torch.float32), v2.Normalize([0.5], [0.2])])\n",
        "keeps pixels between 0 and 255",
        "`v2.ToDtype(torch.float32, scale=True)`",
    ),
    "weights that are clipped": (
        LOOP + "    for p in model.parameters():\n        p.data.clamp(-1, 1)\n",
        "`clamp` returns a new tensor, which is thrown away",
        "`p.data = p.data.clamp(-1, 1)`",
    ),
    "the upper triangle": (
        READER.replace("torch.tril", "torch.triu"),
        "hides the past, and shows the future",
        "`torch.tril(torch.ones(t, t))`",
    ),
    "heads in brackets": (
        READER.replace(".transpose(1, 2).reshape(b, t, d)", ".reshape(b, t, d)"),
        "moves no elements",
        "`(w @ v).transpose(1, 2).reshape(b, t, d)`",
    ),
    "a sum in brackets": (
        SEQUENCES.replace("self.rnn(x)", "self.rnn((x + x).detach())").replace(
            "self.head(out[:, -1])", "self.head((out[:, -1] + 0).detach())"
        ),
        "`(out[:, -1] + 0).detach()` at line",
        "`(out[:, -1] + 0)`",
    ),
    "pixels as channels": (
        PICTURES.replace("permute(0, 3, 1, 2)", "reshape(48, 3, 8, 8)"),
        "moves no elements",
        "`images.permute(0, 3, 1, 2)`",
    ),
}
RIGHT = {
    "an average": AVERAGE
    + PAIRS.format("average", "model", "p.mul_(0.9).add_(q, alpha=0.1)"),
    "a target": TARGET + "    target.load_state_dict(model.state_dict())\n",
    "a model that goes back": AVERAGE.replace("    with torch.no_grad():\n", "")
    + "model.load_state_dict(average.state_dict())\n",
    "slow weights": AVERAGE
    + PAIRS.format("average", "model", "p.add_(q - p, alpha=0.5)")
    + "        model.load_state_dict(average.state_dict())\n",
    "a tensor that is read": AVERAGE
    + PAIRS.format("average", "model", "q = 0.9 * q; p.copy_(q)"),
    "labels first": LOOP + COUNTED + "print(confusion_matrix(truth, hits))\n",
    "scores": LOOP + COUNTED + "print(roc_auc_score(truth, scores))\n",
    "an overlap": SEGMENTED,
    "the last step": SEQUENCES,
    "classes": WORDS,
    "two roots": NOISE,
    "a training for each fold": FOLDS.replace(
        "    for epoch",
        "    model = nn.Linear(6, 3)\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for epoch",
    ),
    "pictures": PICTURES,
    "the lower triangle": READER,
    "a hook": HOOKED,
    "a hook that only reads": HOOKED.replace("return out * 0.5", "out.mean()"),
    "scaled bytes": STEPS
    + "v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.2])])",
    "bytes with their own mean": STEPS
    + "v2.Compose([v2.ToDtype(torch.float32), v2.Normalize([120.0], [50.0])])",
}


@pytest.mark.parametrize("name", WRONG)
def test_the_mistake_is_found_and_mended(name: str, tmp_path: Path) -> None:
    program, said, fix = WRONG[name]
    (finding,) = rehearsed(tmp_path, HEAD + program).findings
    assert said in finding.message
    checked = [edit.message for edit in finding.fixes if edit.checked]
    assert checked[:1] == ([fix] if fix is not None else [])


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_program_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + RIGHT[name])
    assert report.complete
    assert [finding.message for finding in report.findings] == []
