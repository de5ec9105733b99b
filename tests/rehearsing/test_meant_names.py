"""Names, methods, lists and numbers that were meant: each error with its edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
ARGUMENTS = """
class Distance(nn.Module):
    def forward(self, first, second, scaled=False):
        if scaled:
            a = 2 * a - 1
            b = 2 * b - 1
        return (first - second).abs().mean()

print(Distance()(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8), scaled=True).shape)
"""
METHODS = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, x):
        return self.layer(x)

    def pair_loss(self, a, b):
        return F.mse_loss(a, b)

    def describe(self, a, b):
        return "a pair"

class Trainer:
    def __init__(self):
        self.model = Encoder()

    def run(self, x, y, plain):
        if plain:
            return self.model.pair_loss(self.model(x), self.model(y))
        return self.model.contrast(self.model(x), self.model(y))

Trainer().run(torch.rand(3, 4), torch.rand(3, 4), False).backward()
"""
LISTS = """
class Block(nn.Module):
    def __init__(self, count, shared=None):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(count):
            layer = shared[i] if shared is not None else nn.Linear(4, 4)
            self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x

shared = nn.ModuleList([nn.Linear(4, 4)])
model = nn.Sequential(Block(2, shared), Block(2))
print(model(torch.rand(3, 4)).shape)
"""
TUPLES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        scores = self.layer(x)
        return scores, scores.softmax(1)

def count(result):
    scores, y = result
    return (scores.argmax(dim=1) == y).sum()

model = Net()
x, y = torch.rand(5, 4), torch.randint(0, 3, (5,))
scores, weights = model(x)
F.cross_entropy(scores, y).backward()
with torch.no_grad():
    scores = model(x)
    print(count((scores, y)).shape)
"""
SIDES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.second = nn.Conv2d(4, 4, 3, stride=2, padding=1)
        self.up = nn.Upsample(scale_factor=2)

    def forward(self, x):
        first = self.first(x)
        return torch.cat([first, self.up(self.second(first))], dim=1)

def load(height, width):
    ratio = 100 / max(height, width)
    new_h, new_w = int(height * ratio), int(width * ratio)
    return F.interpolate(torch.rand(1, 3, height, width), size=(new_h, new_w))

print(Net()(load(150, 200)).shape, Net()(load(100, 150)).shape)
"""
STEPS = """
import numpy as np
raw = np.random.default_rng(0).normal(size=(20, 256)).astype("float32")
sub = 1
points = 256 // 4
x = torch.from_numpy(raw)[:, ::sub]
y = torch.from_numpy(raw * 2)[:, ::sub]
x = x.reshape(20, points, 1)
print((nn.Linear(1, 1)(x).squeeze(-1) - y).abs().mean().shape)
"""
ONE_OUTPUT = """
model, criterion = nn.Linear(4, 1), nn.CrossEntropyLoss()
y = torch.tensor([0, 1, 1, 0, 1, 0])
outputs = model(torch.rand(6, 4))
loss = criterion(outputs, y)
loss.backward()
"""
WINDOWS = """
from torch.utils.data import DataLoader, Dataset

class Windows(Dataset):
    def __init__(self, tokens, size):
        self.inputs, self.targets = [], []
        for i in range(0, len(tokens) - size, size):
            self.inputs.append(torch.tensor(tokens[i:size]))
            self.targets.append(torch.tensor(tokens[i + 1:i + size + 1]))

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, i):
        return self.inputs[i], self.targets[i]

model = nn.Sequential(nn.Embedding(40, 8), nn.Linear(8, 40))
for x, y in DataLoader(Windows(list(range(40)), 4), batch_size=3):
    F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
"""
NUMBERS = """
outputs = torch.tensor(0.25, 1.5)
targets = torch.tensor(1.75, 1.1)
print(nn.MSELoss()(outputs, targets).shape)
"""
CHANNELS = """
def mlp(channels):
    layers = []
    for a, b in zip(channels[:-1], channels[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = mlp([3 + 3, 16, 8])
        self.last = mlp([8 + 3, 4])

    def forward(self, places):
        return self.last(torch.cat([self.first(places), places], dim=-1))

print(Net()(torch.rand(5, 3)).shape)
"""
SQUEEZED = """
from torch.utils.data import DataLoader, TensorDataset

def blur(x):
    return F.conv2d(x[..., 0].unsqueeze(1), torch.ones(1, 1, 3, 3), padding=1)

model = nn.Conv2d(3, 2, 1)
data = TensorDataset(torch.rand(4, 3, 8, 8), torch.rand(4, 8, 8, 2))
for x, y in DataLoader(data, batch_size=1):
    y = torch.squeeze(y)
    out = model(x).permute(0, 2, 3, 1)
    (blur(out) - blur(y)).pow(2).mean().backward()
"""
CASES = {
    "windows whose end stays": (
        WINDOWS, "cannot be collated into a batch", "`i:i + size`",
    ),
    "numbers for a list": (
        NUMBERS, "takes the data as one", "`torch.tensor([0.25, 1.5])`",
    ),
    "a list of channels": (CHANNELS, "needs 6 input features", "`mlp([3, 16, 8])`"),
    "a squeeze of the batch": (
        SQUEEZED, "needs 1 input channels", "`y` for `torch.squeeze(y)`",
    ),
    "arguments": (
        ARGUMENTS, "`a` has no value here", "`first` for `a`, `second` for `b`",
    ),
    "a method called beside": (METHODS, "it has `pair_loss`", "`self.model.pair_loss`"),
    "a shorter list": (
        LISTS, "`shared` has 1 item, and `i` counts up to `count`, 2",
        "`range(count if shared is None else len(shared))`",
    ),
    "a tuple that is taken apart beside": (
        TUPLES, "`scores` is a tuple: `model(x)`", "`scores, _ = model(x)`",
    ),
    "sides that are computed": (
        SIDES, "`torch.cat` along dim 1", "`int(height * ratio) // 4 * 4`",
    ),
    "a step of a slice": (STEPS, "needs 1280 elements", "`sub = 4`"),
    "one output for two classes": (
        ONE_OUTPUT, "reads classes 0 to 0",
        "`nn.BCEWithLogitsLoss()` and `y.unsqueeze(1).float()`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_error_is_told_with_what_was_meant(case: str, tmp_path: Path) -> None:
    text, message, fix = CASES[case]
    first, *others = rehearsed(tmp_path, HEAD + text).findings
    assert message in first.message
    assert fix in [edit.message for edit in first.fixes]
    assert not [other for other in others if other.severity == "error"]


def test_a_method_with_a_word_in_common_is_meant(tmp_path: Path) -> None:
    text = HEAD + METHODS.replace("self.model.contrast(", "self.model.contrast_loss(")
    text = text.replace("if plain:", "if plain is None:").replace(
        "            return self.model.pair_loss", "            return F.l1_loss"
    )
    first, *_ = rehearsed(tmp_path, text).findings
    assert first.message == "`Encoder` has no `contrast_loss`: it has `pair_loss`"
    assert [edit.message for edit in first.fixes] == ["`self.model.pair_loss`"]


def test_fractions_are_no_classes(tmp_path: Path) -> None:
    text = HEAD + (
        "import numpy as np\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "rng = np.random.default_rng(0)\n"
        "y = rng.uniform(size=400).astype('float32')\n"
        "data = TensorDataset(torch.rand(400, 6), torch.as_tensor(y))\n"
        "model, criterion = nn.Linear(6, 400), nn.CrossEntropyLoss()\n"
        "for xb, yb in DataLoader(data, batch_size=32):\n"
        "    criterion(model(xb), yb).backward()\n"
    )
    first, *_ = rehearsed(tmp_path, text).findings
    assert first.code == "dtype-mismatch"
    assert not [edit for edit in first.fixes if "long" in edit.message]
