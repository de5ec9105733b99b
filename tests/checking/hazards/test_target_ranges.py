"""Last activations whose range the targets are outside of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
spread = torch.tensor(rng.normal(0, 1, (60, 1)), dtype=torch.float32)
prices = torch.tensor(rng.uniform(100, 900, 60), dtype=torch.float32)
x = torch.randn(60, 4)

def fit(net, y):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(2):
        for i in range(0, 60, 20):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x[i:i + 20]), y[i:i + 20])
            loss.backward()
            optimizer.step()
"""
WRONG = {
    "relu": (
        "fit(nn.Sequential(nn.Linear(4, 1), nn.ReLU()), spread)",
        "below 0",
        "without `nn.ReLU()`",
    ),
    "tanh": (
        "fit(nn.Sequential(nn.Linear(4, 1), nn.Tanh(), nn.Flatten(0)), prices)",
        "above 1",
        "without `nn.Tanh()`",
    ),
    "a function": (
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return torch.sigmoid(self.head(x)).squeeze(1)

fit(Net(), prices)
""",
        "above 1",
        "`self.head(x)`",
    ),
    "a layer that a loop adds": (
        """\
layers, widths = [], [4, 8, 1]
def build():
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers.append(nn.Linear(a, b))
        layers.append(nn.ReLU())
    return nn.Sequential(*layers)
fit(build(), spread)
""",
        "below 0",
        "`*layers[:-1]`",
    ),
    "centred": (
        """\
sums = x.sum(1, keepdim=True)
fit(nn.Sequential(nn.Linear(4, 1), nn.Softplus()), (sums - sums.mean()) / sums.std())
""",
        "centred",
        "without `nn.Softplus()`",
    ),
}
IMAGES = """\
class Normalize:  # as that of torchvision writes
    def __init__(self, mean, std):
        self.mean, self.std = mean, std
    def __call__(self, x):
        mean, std = torch.tensor(self.mean), torch.tensor(self.std)
        return x.clone().sub_(mean).div_(std)

images = torch.rand(60, 1)
net = nn.Sequential(nn.Linear(4, 1), nn.{last}())
"""
WRONG["pixels of -1 to 1, scaled"] = (
    IMAGES.format(last="ReLU") + "fit(net, images * 2 - 1)",
    "from -1 to 1",
    "without `nn.ReLU()`",
)
WRONG["pixels of -1 to 1, a sigmoid"] = (
    IMAGES.format(last="Sigmoid") + "fit(net, (images - 0.5) / 0.5)",
    "from -1 to 1",
    "without `nn.Sigmoid()`",
)
WRONG["bytes of -1 to 1"] = (
    IMAGES.format(last="Sigmoid")
    + "y = torch.randint(0, 256, (60, 1), dtype=torch.uint8)\n"
    "fit(net, y.float() / 127.5 - 1)",
    "from -1 to 1",
    "without `nn.Sigmoid()`",
)
WRONG["normalized pixels"] = (
    IMAGES.format(last="ReLU") + "fit(net, Normalize((0.5,), (0.5,))(images))",
    "`Normalize` takes their mean away",
    "without `nn.ReLU()`",
)
MASKS = """\
masks = (rng.random((60, 1)) < 0.4).astype(np.uint8) * 255
criterion = nn.BCEWithLogitsLoss()
net = nn.Linear(4, 1)
"""
WRONG["masks of 255"] = (
    MASKS + "criterion(net(x), torch.from_numpy(masks).float()).backward()",
    "goes up to 255",
    "`torch.from_numpy(masks).float() / 255`",
)
WRONG["stacked masks"] = (
    MASKS
    + """\
items = [torch.from_numpy(mask.astype(np.float32)) for mask in masks.reshape(6, 10, 1)]
y = torch.cat(items)
loss = F.binary_cross_entropy_with_logits(net(x), y)
loss.backward()
""",
    "goes up to 255",
    "`y / 255`",
)
TABLE = """\
table = torch.tensor(
    np.stack([rng.normal(0, 1, 60), rng.uniform(0, 9, 60), rng.normal(0, 1, 60)], 1),
    dtype=torch.float32,
)
net = nn.Sequential(nn.Linear(4, 1), nn.ReLU())
"""
WRONG["the first column of a table"] = (
    TABLE + "fit(net, table[:, :1])",
    "below 0",
    "without `nn.ReLU()`",
)
WRONG["the last column of some rows"] = (
    TABLE + "fit(net, table[torch.arange(60)][:, -1].unsqueeze(1))",
    "below 0",
    "without `nn.ReLU()`",
)
WRONG["normal draws"] = (
    TABLE + "fit(net, 3 * torch.randn(60, 1))",
    "drawn by `randn`",
    "without `nn.ReLU()`",
)
RIGHT = {
    "another column of a table": TABLE + "fit(net, table[:, 1:2])",
    "several columns of a table": TABLE
    + "fit(nn.Sequential(nn.Linear(4, 2), nn.ReLU()), table[:, :2])",
    "positive draws": TABLE + "fit(net, torch.randn(60, 1).exp())",
    "shifted draws": TABLE + "fit(net, torch.randn(60, 1) + 9)",
    "counts": TABLE + "fit(net, torch.randint(0, 9, (60, 1)).float())",
    "draws of both signs, tanh": "fit(nn.Sequential(nn.Linear(4, 1), nn.Tanh()),"
    " torch.randn(60, 1))",
    "divided masks": MASKS
    + "criterion(net(x), torch.from_numpy(masks).float() / 255).backward()",
    "masks of truths": MASKS
    + "criterion(net(x), (torch.from_numpy(masks) > 127).float()).backward()",
    "a column of a table": MASKS
    + """\
table = torch.tensor(rng.integers(0, 90, (60, 5)) * [9, 9, 9, 9, 0]).float()
criterion(net(table[:, :4]), table[:, 4:]).backward()
""",
    "soft labels": MASKS
    + "criterion(net(x), torch.tensor(rng.random((60, 1))).float()).backward()",
    "linear": "fit(nn.Linear(4, 1), spread)",
    "in the range": "fit(nn.Sequential(nn.Linear(4, 1), nn.ReLU()), prices[:, None])",
    "scaled": """\
class Net(nn.Linear):
    def forward(self, x):
        return 900 * torch.sigmoid(super().forward(x)).squeeze(1)
fit(Net(4, 1), prices)
""",
    "a marker": """\
y = np.where(rng.random((60, 1)) < 0.3, -1, rng.random((60, 1)))
fit(nn.Sequential(nn.Linear(4, 1), nn.Sigmoid()), torch.tensor(y).float())
""",
    "a little noise": """\
y = torch.tensor(rng.random((60, 1)) * 1.04 - 0.02).float()
fit(nn.Sequential(nn.Linear(4, 1), nn.Sigmoid()), y)
""",
    "pixels of -1 to 1, tanh": IMAGES.format(last="Tanh") + "fit(net, images * 2 - 1)",
    "pixels of 0 to 1, a sigmoid": IMAGES.format(last="Sigmoid") + "fit(net, images)",
    "back to 0 to 1": IMAGES.format(last="Sigmoid")
    + "fit(net, (images * 2 - 1 + 1) / 2)",
    "from 1 on": IMAGES.format(last="Sigmoid") + "fit(net, 1 - images)",
    "divided by a deviation only": IMAGES.format(last="ReLU")
    + "fit(net, Normalize((0.0,), (0.5,))(images))",
    "unknown": "fit(nn.Sequential(nn.Linear(4, 1), nn.ReLU()), torch.rand(60, 1))",
}
SIGNALS = """\
from torch.utils.data import DataLoader

raw = rng.normal(3, 1, (60, 6))
signals = torch.tensor({scaled}, dtype=torch.float32)

class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.last = nn.Linear({width}, 3), nn.Linear(3, {width})

    def forward(self, x):
        return {output}

net = Coder()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in DataLoader(signals[:40], batch_size=10):
    optimizer.zero_grad()
    F.{loss}.backward()
    optimizer.step()
"""
BINARY = "binary_cross_entropy(net(x), x)"
SCALED = "(raw - raw.mean()) / raw.std()"
SIGMOID = "torch.sigmoid(self.last(self.body(x)))"
WRONG["standardised signals"] = (
    SIGNALS.format(scaled=SCALED, output=SIGMOID, loss=BINARY, width=6),
    "torch refuses all others",
    "`F.mse_loss`, and the output `self.last(self.body(x))` in place of its sigmoid",
)
WRONG["standardised signals, without a sigmoid"] = (
    SIGNALS.format(
        scaled=SCALED,
        output="self.last(self.body(x))",
        loss=BINARY.replace("(", "_with_logits(", 1),
        width=6,
    ),
    "the loss has no lowest value",
    "`F.mse_loss`",
)
RIGHT["signals of 0 to 1"] = SIGNALS.format(
    scaled="(raw - raw.min()) / (raw.max() - raw.min())",
    output=SIGMOID,
    loss=BINARY,
    width=6,
)
RIGHT["a column of an item"] = SIGNALS.format(
    scaled="np.c_[raw[:, :5], raw[:, 5] > 3]",
    output=SIGMOID,
    loss="binary_cross_entropy(net(x[:, :5])[:, :1], x[:, 5:])",
    width=5,
)


@pytest.mark.parametrize("name", WRONG)
def test_targets_out_of_reach_are_found(name: str, tmp_path: Path) -> None:
    text, words, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text)
    (finding,) = report.findings
    assert finding.code == "unreachable-targets"
    assert words in finding.message
    assert finding.fixes[0].message == fix


@pytest.mark.parametrize("name", RIGHT)
def test_targets_within_reach_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name])
    assert [finding.code for finding in report.findings] == []
