"""Mistakes of first programs: told by their cause, mended, and right programs quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import tempfile
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

"""
STEPS = """
optimizer = torch.optim.SGD({trained}.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,)))
    loss.backward()
    optimizer.step()
"""
LEAVES = """
class Leaves(Dataset):
    {of_class}

    def __len__(self):
        return 12

    def __getitem__(self, i):
        name = "leaf_rust_3.png" if i % 2 else "leaf_well_1.png"
        label = name.split("_")[1]
        return torch.randn(6), {returned}

model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Leaves(), batch_size=4):
    loss = F.cross_entropy(model(x), y.to("cpu"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ROLLOUT = """
class Env:
    def reset(self, seed=None):
        return np.zeros(4, dtype=np.float32), {{"seed": seed}}

    def step(self, action):
        return np.ones(4, dtype=np.float32), 1.0, False, False, {{}}

env, policy = Env(), nn.Linear(4, 2)
memory = []
{reset}
for _ in range(6):
    memory.append(state)
    state, reward, ended, cut, _ = env.step(0)
states = torch.FloatTensor(np.array(memory))
policy(states).mean().backward()
"""
HEADS = """
model = nn.Sequential(nn.Linear(6, 8), nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 5)))
model[1] = nn.Linear({width}, 3)
""" + STEPS.format(trained="model")
FROZEN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = nn.Linear(6, 8), nn.Linear(8, 5)

    def forward(self, x):
        return self.fc(torch.relu(self.body(x)))

model = Net()
{statements}
""" + STEPS.format(trained="model.fc")
HEAD_FIRST = """model.fc = nn.Linear(8, 3)
for param in model.parameters():
    param.requires_grad = False"""
FREEZE_FIRST = """for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Linear(8, 3)"""
STATES = """
class Series(nn.Module):
    def __init__(self, hidden, num_layers):
        super().__init__()
        self.hidden, self.num_layers = hidden, num_layers
        self.layers = num_layers
        self.lstm = nn.LSTM(1, hidden, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), self.hidden)
        c0 = torch.zeros(1, x.size(0), self.hidden)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1])

Series(8, 2)(torch.randn(4, 7, 1)).mean().backward()
"""
SERVICE = (
    """
def build():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))

model = build()
"""
    + STEPS.format(trained="model")
    + """
class Service:
    def __init__(self, file):
        self.net = build()
        self.net.load_state_dict(torch.load(file))
        {mode}

    def score(self, x):
        with torch.no_grad():
            return self.net(x).softmax(-1)

with tempfile.TemporaryDirectory() as folder:
    torch.save(model.state_dict(), folder + "/net.pt")
    service = Service(folder + "/net.pt")
    for _ in range(2):
        print(service.score(torch.randn(1, 6)))
"""
)
TEACHER = """
def build():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))

model, teacher = build(), build()
teacher.load_state_dict(model.state_dict())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(8, 6)
    with torch.no_grad():
        wanted = teacher(x)
    optimizer.zero_grad()
    F.mse_loss(model(x), wanted).backward()
    optimizer.step()
"""
FOCAL = """
class Focal(nn.Module):
    def forward(self, logits, target):
        loss = F.cross_entropy(logits, target, reduction="none")
        loss = ((1 - torch.exp(-loss)) ** 2 * loss).mean()
        return {returned}

model, criterion = nn.Linear(6, 3), Focal()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = criterion(model(torch.randn(8, 6)), torch.randint(3, (8,)))
    loss.backward()
    optimizer.step()
"""
ORDER = """
class ToTensor:
    def __call__(self, picture):
        return torch.tensor(picture, dtype=torch.float32)

class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, tensor):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"img should be Tensor Image. Got {{type(tensor)}}")
        return (tensor - self.mean) / self.std

class Pictures(Dataset):
    def __init__(self, transforms):
        self.transforms = transforms

    def __len__(self):
        return 8

    def __getitem__(self, i):
        x = [1.0, 2.0, float(i)]
        for transform in self.transforms:
            x = transform(x)
        return x, i % 2

model = nn.Linear(3, 2)
for x, y in DataLoader(Pictures([{order}]), batch_size=4):
    F.cross_entropy(model(x), y).backward()
"""
NAMES = "classes = ['rust', 'well']"
MISTAKES = {
    "labels are texts": (
        LEAVES.format(of_class=NAMES, returned="label"),
        "tuple-as-tensor",
        "`self.classes.index(label)`",
    ),
    "a whole tuple is a state": (
        ROLLOUT.format(reset="state = env.reset(seed=3)"),
        "program-error",
        "`state, _ = env.reset(seed=3)`",
    ),
    "a layer in a container": (
        HEADS.format(width="model[1].in_features"),
        "program-error",
        "`model[1][-1].in_features`",
    ),
    "the head is frozen, too": (
        FROZEN.format(statements=HEAD_FIRST),
        "graph-cut",
        "freeze `model` before `model.fc` is replaced",
    ),
    "transforms in another order": (
        ORDER.format(order="Normalize(0.5, 0.2), ToTensor()"),
        "program-error",
        "`Normalize` after `ToTensor`",
    ),
    "states for one layer": (
        STATES,
        "hidden-state-shape",
        "`torch.zeros(self.layers, x.size(0), self.hidden)` and 1 more",
    ),
    "a service without eval": (
        SERVICE.format(mode="self.loaded = True"),
        "evaluated-in-training-mode",
        "`self.net.eval()`",
    ),
    "a loss that is a leaf": (
        FOCAL.format(returned="torch.autograd.Variable(loss.data, requires_grad=True)"),
        "no-gradient",
        "`loss` for `torch.autograd.Variable(loss.data, requires_grad=True)`",
    ),
    "a loss of a number": (
        FOCAL.format(returned="torch.tensor(loss.item(), requires_grad=True)"),
        "no-gradient",
        "`loss` for `torch.tensor(loss.item(), requires_grad=True)`",
    ),
}
QUIET = {
    "numbers of classes": LEAVES.format(
        of_class=NAMES, returned="self.classes.index(label)"
    ),
    "the observation alone": ROLLOUT.format(reset="state, _ = env.reset(seed=3)"),
    "the head is replaced last": FROZEN.format(statements=FREEZE_FIRST),
    "a service in evaluation": SERVICE.format(mode="self.net.eval()"),
    "a service that keeps its dropout": SERVICE.format(mode="self.net.train()"),
    "a teacher as the student": TEACHER,
    "transforms in order": ORDER.format(order="ToTensor(), Normalize(0.5, 0.2)"),
    "the loss itself": FOCAL.format(returned="loss"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_mended(tmp_path: Path, name: str) -> None:
    text, code, fix = MISTAKES[name]
    report = rehearsed(tmp_path, HEAD + text)
    found = [finding for finding in report.findings if finding.code == code]
    assert found, report
    assert found[0].fixes[0].message == fix
    assert found[0].fixes[0].checked


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_is_meant(tmp_path: Path, name: str) -> None:
    assert rehearsed(tmp_path, HEAD + QUIET[name]).findings == ()


def test_a_head_that_is_frozen_with_its_model_is_named(tmp_path: Path) -> None:
    text = HEAD + FROZEN.format(statements=HEAD_FIRST)
    (finding,) = rehearsed(tmp_path, text).findings
    frozen = next(r for r in finding.related if "frozen here" in r.message)
    line = next(
        number
        for number, written in enumerate(
            (tmp_path / "train.py").read_text().split("\n"), 1
        )
        if written.strip().startswith("model.fc = ")
    )
    assert f"with those of `model.fc`, which line {line} sets before" in frozen.message
