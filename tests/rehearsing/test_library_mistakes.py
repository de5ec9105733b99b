"""What researchers meet in a week: settings, outputs and steps that are elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import json
import random
import numpy as np
import torch
import torch.nn.functional as F
from collections import OrderedDict
from torch import nn

"""
SEGMENTS = """
class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return OrderedDict(out=self.conv(x))

model = Segmenter()

def predict(images):
    return model(images){part}

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    logits = predict(torch.randn(2, 3, 8, 8))
    loss = F.cross_entropy(logits, torch.randint(4, (2, 8, 8)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
METRICS = """
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
row = {{}}
for _ in range(2):
    logits, y = model(torch.randn(8, 6)), torch.randint(3, (8,))
    loss = F.cross_entropy(logits, y)
    top = (logits.argmax(1) == y).float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    row.update({{"loss": loss.item(), "top": {top}}})
print(json.dumps(row))
"""
KEYS = """
class Tasks(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.names = names
        self.heads = nn.ModuleDict({{{key}: nn.Linear(6, 1) for name in names}})

    def forward(self, x):
        return torch.cat([self.heads[{key}](x) for name in self.names], dim=1)

Tasks(["NR.AhR", "SR.p53"])(torch.randn(4, 6)).mean().backward()
"""
HEAT = """
class HeatMap:
    def __init__(self, model, layer):
        self.model, self.kept = model, None
        layer.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.kept = output
        {kept}

    def __call__(self, x):
        self.model.eval()
        self.model(x)[:, 0].sum().backward()
        gradient = self.kept.grad
        weights = gradient.mean(dim=(2, 3), keepdim=True)
        return (weights * self.kept).sum(1)

conv = nn.Conv2d(3, 4, 3)
model = nn.Sequential(conv, nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.randint(2, (4,))).backward()
    optimizer.step()
HeatMap(model, conv)(torch.randn(2, 3, 8, 8))
"""
STEPS = """
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    {first}
    optimizer.zero_grad()
    loss = F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,)))
    {second}
    loss.backward()
    {third}
    optimizer.step()
"""
CLIP = "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
BUFFER = """
class Buffer:
    def __init__(self, capacity):
        self.data, self.capacity, self.at = [], capacity, 0

    def push(self, *parts):
        if len(self.data) < self.capacity:
            self.data.append(None)
        self.data[self.at] = parts
        self.at = (self.at + 1) % self.capacity

    def sample(self, n):
        state, action, reward, after, done = zip(*random.sample(self.data, n))
        return (torch.tensor(np.stack(state)), torch.tensor(action),
                torch.tensor(reward), torch.tensor(np.stack(after)), torch.tensor(done))

net, gamma = nn.Linear(4, 2), 0.9
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
buffer = Buffer({capacity})

def learn():
    state, action, reward, after, done = buffer.sample(8)
    q = net(state).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        target = reward + {value}
    optimizer.zero_grad()
    F.mse_loss(q, target).backward()
    optimizer.step()

state = np.zeros(4, dtype=np.float32)
for step in range(200):
    after = state + 0.1
    buffer.push(state, step % 2, 1.0, after.astype(np.float32), float(step % 9 == 8))
    state = after.astype(np.float32)
    if len(buffer.data) > 30:
        learn()
"""
NUMBERS = """
class Log:
    def __init__(self):
        self.rows, self.at = [], 0
        for number in range(1, 40):
            setattr(self, f"of_{{number}}", number)

    def push(self, row):
        {adding}
        self.rows[self.at] = row
        self.at += 1

log, model = Log(), nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(300):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
    optimizer.step()
    log.push(step)
assert len(log.rows) == log.at == 300
assert all(getattr(log, f"of_{{number}}") == number for number in range(1, 40))
assert None not in log.rows
"""
VALUE = "gamma * net(after).max(1).values"
GRID = """
def draw(n, size):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.rand(n, 2, 1, 1) * size
    return torch.exp(-((yy - c[:, :1]) ** 2 + (xx - c[:, 1:]) ** 2) / 12.0)

model = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = draw(16, 16)
    optimizer.zero_grad()
    F.mse_loss(model(x), x).backward()
    optimizer.step()
"""
COMPILED = """
import tempfile

def build():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))

model = build()
model = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 6))
model.note = 3
with tempfile.TemporaryDirectory() as folder:
    torch.save({state}, folder + "/net.pt")
    plain = build()
    plain.load_state_dict(torch.load(folder + "/net.pt"))
plain.eval()
plain(torch.randn(8, 6))
"""
PAIRS = """
users = torch.randint(0, 30, (60,))
items = (users * 7 + torch.randint(0, 10, (60,))) % 20
pairs = torch.stack([users, items], dim=1)
user, item = nn.Embedding(30, 4), nn.Embedding(20, 4)
for batch in pairs[torch.randperm(60)].split(20):
    (user(batch[:, 0]) * item(batch[:, 1])).sum(1).mean().backward()
"""
MISTAKES = {
    "a dict of outputs": (
        SEGMENTS.format(part=""), "torch-error", '`return model(images)["out"]`',
    ),
    "a checkpoint of a compiled model": (
        COMPILED.format(state="model.state_dict()"),
        "state-dict-mismatch",
        '`{k.removeprefix("_orig_mod."): v for k, v in torch.load(folder + '
        '"/net.pt").items()}`',
    ),
    "a tensor in JSON": (METRICS.format(top="top"), "program-error", "`top.item()`"),
    "a dot in a key": (
        KEYS.format(key="name"), "program-error", '`.replace(".", "_")` for the keys',
    ),
    "a gradient in a hook": (
        HEAT.format(kept="self.shape = output.shape"),
        "no-gradient-kept",
        "`self.kept.retain_grad()`",
    ),
    "clipped before the pass": (
        STEPS.format(first="pass", second=CLIP, third="pass"),
        "clipped-after-step",
        f"`{CLIP}` after `loss.backward()`",
    ),
    "a rate on the optimizer": (
        STEPS.format(first="optimizer.lr = 0.1 / (step + 1)", second="", third=""),
        "flag-without-effect",
        '`group["lr"] = 0.1 / (step + 1)` for each group of `optimizer.param_groups`',
    ),
    "the end of an episode": (
        BUFFER.format(capacity=50, value=VALUE),
        "terminal-ignored",
        f"`{VALUE} * (1 - done)`",
    ),
}  # fmt: skip
QUIET = {
    "the output by its name": SEGMENTS.format(part='["out"]'),
    "a number in JSON": METRICS.format(top="top.item()"),
    "keys without dots": KEYS.format(key='name.replace(".", "_")'),
    "a heat map": HEAT.format(kept="output.retain_grad()"),
    "clipped after the pass": STEPS.format(first="", second="", third=CLIP),
    "an episode that ends": BUFFER.format(capacity=500, value=f"{VALUE} * (1 - done)"),
    "a small ring buffer": BUFFER.format(capacity=40, value=f"{VALUE} * (1 - done)"),
    "numbers beside a list": NUMBERS.format(adding="self.rows.append(None)"),
    "numbers beside zeros": NUMBERS.format(adding="self.rows.append(0)"),
    "pixels and centres": GRID,
    "columns of drawn pairs": PAIRS,
    "a checkpoint of what was compiled": COMPILED.format(
        state="model._orig_mod.state_dict()"
    ),
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
