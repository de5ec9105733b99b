"""Mistakes that run: what is said of each, and that nothing is said of its answer."""

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
CELL = """\
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = {}
        for gate in "io":
            self.weights[gate] = nn.Parameter(torch.randn(6, 6))
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head((x @ self.weights["i"]).sigmoid() * (x @ self.weights["o"]))

cell = Cell()
optimizer = torch.optim.Adam(cell.parameters())
for step in range(3):
    loss = F.cross_entropy(cell(torch.randn(5, 6)), torch.tensor([0, 1, 1, 0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
POLICY = """\
from torch.distributions import Categorical

policy = nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters())
for step in range(3):
    choice = Categorical(policy(torch.randn(5, 4)))
    loss = -choice.log_prob(choice.sample()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
HEADS = """\
class Attention(nn.Module):
    def __init__(self, dim=64, heads=4):
        super().__init__()
        self.heads, self.q = heads, nn.Linear(dim, dim)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))

    def forward(self, x):
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], dim=1)
        B, N, D = x.shape
        q = self.q(x).view(B, self.heads, N, D // self.heads)
        mixed = (q @ q.transpose(-2, -1)).softmax(-1) @ q
        return mixed.reshape(B, N, D)

net = Attention()
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    loss = net(torch.randn(8, 16, 64)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SCHEDULE = """\
net = nn.Linear(4, 1)
data = TensorDataset(torch.randn(320, 4), torch.randn(320, 1))
loader = DataLoader(data, batch_size=8)
optimizer = torch.optim.Adam(net.parameters())
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)
for epoch in range(12):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        scheduler.step()
"""
GAN = """\
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
criterion = nn.BCEWithLogitsLoss()
for step in range(3):
    with torch.no_grad():
        fake = G(torch.randn(5, 4))
    opt_d.zero_grad()
    criterion(D(fake), torch.zeros(5, 1)).backward()
    opt_d.step()
    opt_g.zero_grad()
    criterion(D(fake), torch.ones(5, 1)).backward()
    opt_g.step()
"""
STATE = """\
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters())
best_state = None
for epoch in range(3):
    loss = F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch == 1:
        best_state = net.state_dict()
net.load_state_dict(best_state)
"""
POSITIONS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.register_buffer("pe", torch.randn(100, 1, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(16, 2)

    def forward(self, ids):
        x = self.embed(ids)
        x = x + self.pe[:x.size(0)]
        return self.head(self.encoder(x).mean(1))

net = Net()
data = TensorDataset(torch.randint(0, 30, (40, 12)), torch.randint(0, 2, (40,)))
optimizer = torch.optim.Adam(net.parameters())
for ids, labels in DataLoader(data, batch_size=10):
    optimizer.zero_grad()
    F.cross_entropy(net(ids), labels).backward()
    optimizer.step()
"""
PARTS = """\
from torch.utils.data import Dataset, random_split

class Images(Dataset):
    def __init__(self, transform=None):
        self.transform = transform

    def __len__(self):
        return 40

    def __getitem__(self, i):
        return self.transform(torch.ones(4)), i % 2

def augment(x):
    return x + 0.1

def plain(x):
    return x

images = Images(transform=augment)
train, val = random_split(images, [30, 10])
val.dataset.transform = plain
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters())
for x, y in DataLoader(train, batch_size=10):
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    optimizer.step()
"""
CASES = {
    "positions along the batch": (
        POSITIONS, "batch-axis", "`self.pe[...].transpose(0, 1)` with `size(1)`",
        POSITIONS.replace("[:x.size(0)]", "[:x.size(1)].transpose(0, 1)"),
    ),
    "a transform of all parts": (
        PARTS, "shared-transform", "`val.dataset = copy.copy(val.dataset)`",
        PARTS.replace("from torch.utils", "import copy\nfrom torch.utils", 1).replace(
            "val.dataset.transform",
            "val.dataset = copy.copy(val.dataset)\nval.dataset.transform",
        ),
    ),
    "parameters in a dict": (
        CELL, "not-a-parameter", "`nn.ParameterDict()`",
        CELL.replace("weights = {}", "weights = nn.ParameterDict()"),
    ),
    "scores as probabilities": (
        POLICY, "loss-input", "`Categorical(logits=policy(torch.randn(5, 4)))`",
        POLICY.replace("Categorical(policy", "Categorical(logits=policy"),
    ),
    "heads in front of the tokens": (
        HEADS, "view-mixes-dims",
        "view(B, N, self.heads, D // self.heads).transpose(1, 2)` and 1 more",
        HEADS.replace(
            "view(B, self.heads, N, D // self.heads)",
            "view(B, N, self.heads, D // self.heads).transpose(1, 2)",
        ).replace("mixed.reshape", "mixed.transpose(1, 2).reshape"),
    ),
    "a rate that falls with each batch": (
        SCHEDULE, "scheduler-unit", "`scheduler.step()` behind the loop over batches",
        SCHEDULE.replace("        scheduler.step()", "    scheduler.step()"),
    ),
    "a generator under no_grad": (
        GAN, "no-gradient", "",
        GAN.replace("with torch.no_grad():", "if True:").replace(
            "criterion(D(fake), torch.zeros", "criterion(D(fake.detach()), torch.zeros"
        ),
    ),
    "a state that goes on": (
        STATE, "state-not-copied",
        "`{k: v.clone() for k, v in net.state_dict().items()}`",
        STATE.replace(
            "= net.state_dict()",
            "= {k: v.clone() for k, v in net.state_dict().items()}",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_warning_with_the_edit_of_the_answer(name: str, tmp_path: Path) -> None:
    text, code, wanted, _ = CASES[name]
    report = rehearsed(tmp_path, HEAD + text)
    found = [finding for finding in report.findings if finding.code == code]
    assert found
    if wanted:
        assert wanted in found[0].fixes[0].message


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_the_answer(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + CASES[name][3])
    assert not [f for f in report.findings if f.severity != "note"]


def test_a_gradient_that_is_read_of_an_input_is_used(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
F.cross_entropy(net(torch.randn(5, 4)), torch.tensor([0, 1, 2, 0, 1])).backward()
optimizer.step()

def attack(x, y):
    x.requires_grad = True
    loss = F.cross_entropy(net(x), y)
    net.zero_grad()
    loss.backward()
    return x + 0.1 * x.grad.sign()

for step in range(3):
    attack(torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1]))
""",
    )
    assert not report.findings


NUMBERS = """\
class Low(nn.Module):
    def __init__(self, alpha=8.0, rank=2):
        super().__init__()
        self.a = nn.Parameter(torch.randn(rank, 4))
        self.b = nn.Parameter(torch.zeros(4, rank))
        self.scale = SCALE

    @property
    def weight(self):
        return self.scale * self.b @ self.a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = Low()

    def forward(self, x):
        return F.linear(x, self.low.weight)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(5, 4)).mean().backward()
optimizer.step()
"""


@pytest.mark.parametrize("scale", ["alpha / rank", "alpha", "max(alpha, 1.0)"])
def test_a_number_is_no_plain_tensor(scale: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + NUMBERS.replace("SCALE", scale))
    assert not report.findings
