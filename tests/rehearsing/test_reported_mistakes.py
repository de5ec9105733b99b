"""Mistakes as people report them: what is said of each, its edit, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

"""
TRAINING = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NAMED = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 8))

    def forward(self, x):
        return torch.einsum("oi,bj->bo", self.weight, x)


model = Net()
x, y = torch.randn(40, 8), torch.randint(0, 6, (40,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
"""
STEPS = """\
class Poses(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(12)
        self.lstm = nn.LSTM(5, 16, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        x = self.bn(x)
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


model = Poses()
x, y = torch.randn(40, 12, 5), torch.randint(0, 3, (40,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
"""
MIRRORED = """\
import copy


def mirror(stage):
    layers = list(reversed(stage))
    layers[-1] = nn.Linear(8, 4)
    return layers


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        stage = [nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 8)]
        self.down = nn.Sequential(*stage)
        self.up = nn.Sequential(*mirror(stage))

    def forward(self, x):
        return self.up(self.down(x))


model = Net()
x, y = torch.randn(40, 4), torch.randint(0, 4, (40,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
"""
TAGS = """\
TAGS = ["NOUN", "VERB", "DET"]
PAD_TAG = 0
model = nn.Linear(4, 3)
x = torch.randn(40, 6, 4)
y = torch.randint(0, 3, (40, 6))
y[:, 4:] = PAD_TAG
criterion = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(x, y), batch_size=8):
    loss = criterion(model(a).flatten(0, 1), b.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ACCUMULATED = """\
model = nn.Linear(4, 3)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (a, b) in enumerate(loader):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(a), b) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
"""
OUTPUTS = """\
from types import SimpleNamespace

net = nn.Linear(4, 3)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0
for a, b in DataLoader(TensorDataset(x, y), batch_size=8):
    logits = net(a)
    output = SimpleNamespace(logits=logits, loss=F.cross_entropy(logits, b))
    total += output.loss
    optimizer.zero_grad()
    output.loss.backward()
    optimizer.step()
print(total)
"""
EDGES = """\
net = nn.Conv2d(3, 2, 3, padding=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kernel = torch.tensor([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]).view(1, 1, 3, 3)


def slope(x):
    gx, gy = F.conv2d(x, kernel, padding=1), F.conv2d(x, kernel.mT, padding=1)
    return gx, gy, torch.sqrt(gx**2 + gy**2 + 1e-6)


def edges(scores, grey):
    mask = scores.argmax(1).view(8, 1, 16, 16).float()
    ix, iy, imag = slope(grey)
    mx, my, mmag = slope(mask)
    agreement = (ix / imag * mx / mmag + iy / imag * my / mmag) ** 2
    return (mmag * (1 - agreement)).sum() / mmag.sum()


for step in range(3):
    x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 2, (8, 16, 16))
    scores = net(x)
    loss = F.cross_entropy(scores, y) + 0.5 * edges(scores, x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
STORED = """\
class Net(nn.Module):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size
        self.first, self.second = nn.Linear(12, 12), nn.Linear(12, 3)

    def forward(self, x):
        batch_size = self.batch_size
        x = self.first(x).view(batch_size, 3, 4)
        x = x.transpose(1, 2).reshape(batch_size, 12)
        return self.second(x)


model = Net(8)
x, y = torch.randn(42, 12), torch.randint(0, 3, (42,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
"""
IDENTITY = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.two = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.skip_one = nn.Conv2d(3, 8, 1, stride=2)
        self.skip_two = nn.Identity()

    def forward(self, x):
        x = self.one(x) + self.skip_one(x)
        x = self.two(x) + self.skip_two(x)
        return x.mean((2, 3))


model = Net()
x, y = torch.randn(40, 3, 16, 16), torch.randint(0, 16, (40,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
"""
GROWN = """\
WORDS = ["<pad>", "a", "dog", "runs"]
vocab = {word: i for i, word in enumerate(WORDS)}
vocab["<image>"] = len(vocab)
embedding = nn.Embedding(len(WORDS), 6)
ids = torch.tensor([vocab[word] for word in ("a", "dog", "<image>")])
print(embedding(ids).shape)
"""
SAVED = """\
import argparse
import os
import tempfile


class Net(nn.Module):
    def __init__(self, channels=1):
        super().__init__()
        self.body = nn.Conv2d(channels, 4, 3, padding=1)
        self.out = nn.Conv2d(4, channels, 3, padding=1)

    def forward(self, x):
        return self.out(self.body(x))


def train(path):
    net = Net(channels=3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = net(torch.randn(4, 3, 8, 8)).pow(2).mean()
    loss.backward()
    optimizer.step()
    torch.save(net.state_dict(), path)


@torch.no_grad()
def test(path, opt):
    net = Net(channels=opt.channels)
    net.load_state_dict(torch.load(path))
    net.eval()
    print(net(torch.randn(2, 3, 8, 8)).mean())


parser = argparse.ArgumentParser()
parser.add_argument("--channels", type=int, default=1)
opt = parser.parse_args()
with tempfile.TemporaryDirectory() as folder:
    train(os.path.join(folder, "net.pt"))
    test(os.path.join(folder, "net.pt"), opt)
"""
IMAGE = """\
net = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.AdaptiveAvgPool2d(6), nn.Flatten(),
    nn.Linear(8 * 6 * 6, 10),
)
image = torch.rand(3, 32, 32)
print(net(image).argmax(1))
"""


EARLY = """\
model = nn.Linear(4, 3)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(x, y), batch_size=8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(a), b)
    optimizer.step()
    loss.backward()
"""
EPOCHS = """\
def train(model, loader, optimizer):
    for a, b in loader:
        loss = F.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


model = nn.Linear(4, 3)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
for epoch in range(3):
    train(model, loader, optimizer)
    print(epoch)
"""
UNFLAT = """\
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(8, 2))
print(net(torch.randn(4, 3, 9, 9)).shape)
"""
ENCODER = """\
class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(30, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(width * {times}, 4)

    def forward(self, ids):
        mask = ids == 0
        x = self.encoder(self.embed(ids), {word}=mask)
        return self.head({read})


net = Net()
ids, y = torch.randint(1, 30, (40, 7)), torch.randint(0, 4, (40,))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(ids, y), batch_size=8):
    loss = F.cross_entropy(net(a), b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PADDING = "src_key_padding_mask"
UNMASKED = ENCODER.format(times=1, word="mask", read="x.mean(1)").replace(
    ", mask=mask", ""
)


@dataclass(frozen=True)
class Case:
    """A program, what is said of it, the first edit, and its answer."""

    text: str
    code: str
    words: str
    fix: str
    old: str = ""
    new: str = ""


CASES = {
    "names that are summed apart": Case(
        NAMED + TRAINING, "einsum-reduction", "each is summed on its own",
        '`"oi,bi->bo"`', "oi,bj->bo", "oi,bi->bo",
    ),
    "a batch norm of steps": Case(
        STEPS + TRAINING, "wrong-axis", "are the 12 time steps",
        "`self.bn(x.transpose(1, 2)).transpose(1, 2)` and `nn.BatchNorm1d(5)`",
        "self.bn(x)", "self.bn(x.transpose(1, 2)).transpose(1, 2)",
    ),
    "a list that holds the same layers": Case(
        MIRRORED + TRAINING, "repeated-layer", "a new list of the same layers",
        "`copy.deepcopy(stage)`", "reversed(stage)", "reversed(copy.deepcopy(stage))",
    ),
    "padding that is a class": Case(
        TAGS, "ignored-labels-counted", "which is `NOUN` of `TAGS`",
        "`PAD_TAG = -100`", "PAD_TAG = 0", "PAD_TAG = -100",
    ),
    "gradients cleared in each turn": Case(
        ACCUMULATED, "gradients-cleared-unused", "used by no step",
        "`optimizer.zero_grad()` after `optimizer.step()`",
        "    optimizer.zero_grad()\n    loss", "    loss",
    ),
    "a loss of outputs": Case(
        OUTPUTS, "graph-kept", "`output.loss` is kept with its graph",
        "`output.loss.item()`", "+= output.loss", "+= output.loss.item()",
    ),
    "a term behind many calls": Case(
        EDGES, "term-without-graph", "`Tensor.argmax` of `scores`",
        "", "scores.argmax(1)", "scores[:, 1]",
    ),
    "a stored batch size": Case(
        STORED + TRAINING, "element-count-mismatch", "needs",
        "`batch_size = x.shape[0]`", "= self.batch_size\n", "= x.shape[0]\n",
    ),
    "an identity around a stage": Case(
        IDENTITY + TRAINING, "broadcast-mismatch", "cannot line up",
        "`self.skip_two = nn.Conv2d(8, 16, 1, stride=2)`",
        "nn.Identity()", "nn.Conv2d(8, 16, 1, stride=2)",
    ),
    "a vocabulary that grows": Case(
        GROWN, "index-out-of-range", "reads rows 0 to 3", "`len(vocab)`",
        "len(WORDS)", "len(vocab)",
    ),
    "a checkpoint of other channels": Case(
        SAVED, "state-dict-mismatch", "another size in the state dict",
        "`default=3`", "default=1", "default=3",
    ),
    "an image without a batch": Case(
        IMAGE, "inner-dim-mismatch", "needs 288 input features",
        "`image.unsqueeze(0)`", "net(image)", "net(image.unsqueeze(0))",
    ),
    "a step in front of the backward pass": Case(
        EARLY, "gradients-cleared-unused", "stands in front of the backward pass",
        "`optimizer.step()` after `loss.backward()`",
        "    optimizer.step()\n    loss.backward()\n",
        "    loss.backward()\n    optimizer.step()\n",
    ),
    "a scheduler beside a function of an epoch": Case(
        EPOCHS, "never-stepped", "`StepLR` never steps",
        "`scheduler.step()` at the end of each epoch",
        "    print(epoch)\n", "    print(epoch)\n    scheduler.step()\n",
    ),
    "a map of one pixel": Case(
        UNFLAT, "not-flattened", "needs 8 input features",
        "`nn.Flatten()` before `nn.Linear(8, 2)`",
        "nn.Linear(8", "nn.Flatten(), nn.Linear(8",
    ),
    "a mask of padding as one of keys": Case(
        ENCODER.format(times=1, word="mask", read="x[:, 0]"), "attention-mask-shape",
        "as a key padding mask has", "`src_key_padding_mask=mask`",
        "mask=mask", f"{PADDING}=mask",
    ),
    "a mean over the features": Case(
        UNMASKED.replace("x.mean(1)", "x.mean(2)"),
        "inner-dim-mismatch", "needs 16 input features",
        "`x.mean(1)`", "mean(2)", "mean(1)",
    ),
    "a width that is multiplied": Case(
        ENCODER.format(times=7, word=PADDING, read="x[:, 0]"),
        "inner-dim-mismatch", "needs 112 input features",
        "`nn.Linear(width, 4)`", "width * 7", "width",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_and_the_edit(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    findings = rehearsed(tmp_path, HEAD + case.text).findings
    (finding,) = [finding for finding in findings if finding.severity != "note"]
    assert finding.code == case.code
    assert case.words in finding.message
    fixes = [fix.message for fix in finding.fixes if fix.checked]
    assert fixes[:1] == ([case.fix] if case.fix else [])


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_the_answer(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    text = case.text.replace(case.old, case.new)
    if name == "a batch norm of steps":
        text = text.replace("BatchNorm1d(12)", "BatchNorm1d(5)")
    if name == "gradients cleared in each turn":
        text = text.replace(
            "        optimizer.step()\n",
            "        optimizer.step()\n        optimizer.zero_grad()\n",
        )
    assert text != case.text
    findings = rehearsed(tmp_path, HEAD + text).findings
    assert not [finding for finding in findings if finding.severity != "note"]


QUIET = {
    "the softmax of the nearest": """\
encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(64, 4), torch.randn(64)
for batch in torch.randperm(64).split(16):
    distances = torch.cdist(encoder(x[batch]), encoder(x))
    near, index = distances.topk(5, dim=1, largest=False)
    weights = F.softmax(-near, dim=1)
    mixed = (weights[..., None] * encoder(x)[index]).sum(dim=1)
    loss = F.mse_loss(head(mixed).squeeze(1), y[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a random walk of frames": """\
net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 3, 3, padding=1))
base = torch.rand(1, 3, 16, 16)
drift = 0.05 * torch.randn(8, 3, 1, 1).cumsum(dim=0)
with torch.no_grad():
    print(net((base + drift).clamp(0, 1)).mean())
""",
    "an outer product of sums": """\
a, b = torch.randn(4, 5), torch.randn(6, 7)
print(torch.einsum("ij,kl->ik", a, b).shape)
""",
    "a batch norm of channels in front of an LSTM": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv1d(5, 8, 3, padding=1), nn.BatchNorm1d(8)
        self.lstm, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 3)

    def forward(self, x):
        x = self.bn(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.head(self.lstm(x)[0][:, -1])


model = Net()
x, y = torch.randn(40, 12, 5), torch.randint(0, 3, (40,))
loader = DataLoader(TensorDataset(x, y), batch_size=8)
"""
    + TRAINING,
    "a class that is named as left out": TAGS.replace('"NOUN"', '"<pad>"'),
}


@pytest.mark.parametrize("name", QUIET)
def test_programs_that_mean_it_are_quiet(name: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, HEAD + QUIET[name]).findings
    assert not [finding for finding in findings if finding.severity != "note"]


def test_a_refused_identity_and_an_unbatched_image_are_named(tmp_path: Path) -> None:
    (error,) = rehearsed(tmp_path, HEAD + IDENTITY + TRAINING).findings
    words = "`self.skip_two` is an `nn.Identity()`, which changes no size"
    assert words in [related.message for related in error.related]
    (error,) = rehearsed(tmp_path, HEAD + IMAGE).findings
    assert "is given one sample (3, 32, 32)" in error.related[0].message


LABELS = """\
true_w = torch.rand(3, 1, requires_grad=True)
x = torch.rand(64, 3)
y = x @ true_w
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(0, 64, 16):
    loss = F.mse_loss(net(x[i : i + 16]), y[i : i + 16])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_data_that_are_made_with_a_gradient_are_told(tmp_path: Path) -> None:
    (error,) = rehearsed(tmp_path, HEAD + LABELS).findings
    assert error.code == "graph-freed"
    lines = [r.span.line for r in error.related if "requires a gradient" in r.message]
    assert lines == [HEAD.count("\n") + 1]


PADDED_DRAWS = """\
ids = torch.randint(1, 60, (40, 12))
ids[:, 9:] = 0
embedding = nn.Embedding({rows}, 4)
for (batch,) in DataLoader(TensorDataset(ids), batch_size=8):
    print(embedding(batch).shape)
"""


@pytest.mark.parametrize(("rows", "count"), [(50, 1), (60, 0)])
def test_padding_that_is_written_leaves_a_draw_what_it_is(
    rows: int, count: int, tmp_path: Path
) -> None:
    findings = rehearsed(tmp_path, HEAD + PADDED_DRAWS.format(rows=rows)).findings
    told = [f for f in findings if f.severity != "note"]
    assert len(told) == count
    assert all(f.fixes[0].message == "`nn.Embedding(60, 4)`" for f in told)


TARGETS = """\
net = nn.Sequential({layers})
x, y = {inputs}, {targets}
loader = DataLoader(TensorDataset(x, y), batch_size=8)
criterion = {loss}
for a, b in loader:
    criterion(net(a), b).backward()
"""
LINEAR = {"layers": "nn.Linear(4, 5)", "inputs": "torch.randn(40, 4)"}
PIXELS = {
    "layers": "nn.Conv2d(3, 4, 1)", "inputs": "torch.randn(40, 3, 6, 6)",
    "targets": "F.one_hot(torch.randint(0, 4, (40, 6, 6)), 4)",
    "loss": "nn.CrossEntropyLoss()",
}  # fmt: skip
SEVERAL = LINEAR | {
    "targets": "torch.randint(0, 2, (40, 5)).float()",
    "loss": "nn.CrossEntropyLoss()",
}
FLOATS = LINEAR | {
    "targets": "torch.randint(0, 5, (40,)).float()",
    "loss": "nn.BCEWithLogitsLoss()",
}


@pytest.mark.parametrize(
    ("parts", "code", "fix"),
    [
        (PIXELS, "one-hot-target", "`b.argmax(dim=-1)`"),
        (SEVERAL, "several-labels", "`nn.BCEWithLogitsLoss`"),
        (
            FLOATS,
            "target-shape",
            "`nn.CrossEntropyLoss` in place of `nn.BCEWithLogitsLoss` and `b.long()`",
        ),
    ],
)
def test_targets_of_classes_and_their_loss(
    parts: dict[str, str], code: str, fix: str, tmp_path: Path
) -> None:
    findings = rehearsed(tmp_path, HEAD + TARGETS.format(**parts)).findings
    finding = next(f for f in findings if f.severity != "note")
    assert finding.code == code
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "targets",
    ["torch.softmax(torch.randn(40, 5), 1)", "F.one_hot(torch.arange(40) % 5).float()"],
)
def test_targets_of_one_class_are_quiet(targets: str, tmp_path: Path) -> None:
    text = HEAD + TARGETS.format(**SEVERAL | {"targets": targets})
    findings = rehearsed(tmp_path, text).findings
    assert not [f for f in findings if f.code == "several-labels"]


ADVERSARIAL = """\
maker = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
judge = nn.Sequential(nn.Linear(8, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(judge.parameters())
{outside}
for (real,) in DataLoader(TensorDataset(torch.randn(44, 8)), batch_size={size}):
    {inside}
    fake = maker(torch.randn(b, 4)).detach()
    loss = F.binary_cross_entropy(judge(real), torch.ones(b, 1))
    loss = loss + F.binary_cross_entropy(judge(fake), torch.zeros(b, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        ({"size": 16, "inside": "b = 16", "outside": ""}, "`b = real.size(0)`"),
        ({"size": 11, "inside": "b = 16", "outside": ""}, "`b = real.size(0)`"),
        (
            {"size": "b", "inside": "pass", "outside": "b = 16"},
            "`real.size(0)` for `b`",
        ),
    ],
    ids=["the last batch", "another batch size", "a setting"],
)
def test_what_a_loop_makes_for_its_batch_has_its_rows(
    parts: dict[str, object], fix: str, tmp_path: Path
) -> None:
    (error,) = rehearsed(tmp_path, HEAD + ADVERSARIAL.format(**parts)).findings
    assert [fix.message for fix in error.fixes if fix.checked] == [fix]
