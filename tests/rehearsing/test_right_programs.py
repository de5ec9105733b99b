"""Right programs that look like mistakes of which something was said."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(24, 6), torch.randint(3, (24,)))
loader = DataLoader(data, batch_size=8)
"""
RIGHT = {
    "a loss that is a demonstration, before a training": """
        net = nn.Linear(6, 3)
        def show(logits):
            F.cross_entropy(logits, torch.tensor([0, 1])).backward()
            return logits.grad

        show(torch.rand(2, 3, requires_grad=True))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
    """,
    "gradients that a function ranks weights by": """
        net = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()

        def rank(x, y):
            net.zero_grad()
            F.cross_entropy(net(x), y).backward()
            return (net.weight.grad * net.weight).abs().argmax()

        x, y = next(iter(loader))
        rank(x, y), rank(x, y), rank(x, y)
    """,
    "an energy of which only the derivative is fitted": """
        energy = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(energy.parameters(), lr=0.1)
        for x, y in loader:
            x = x.clone().requires_grad_(True)
            (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
            optimizer.zero_grad()
            F.mse_loss(slope, torch.zeros_like(slope)).backward()
            optimizer.step()
    """,
    "a table that is handed in, beside a function that draws weights": """
        def draw(rows):
            weight = torch.empty(rows, 6)
            nn.init.kaiming_uniform_(weight)
            return nn.Parameter(weight)

        class Net(nn.Module):
            def __init__(self, basis):
                super().__init__()
                self.basis = basis
                self.head = draw(3)

            def forward(self, x):
                return (x * self.basis) @ self.head.t()

        net = Net(torch.ones(6))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        """,
    "stages of one model beside a loop over folds": """
        def score(folds):
            for fold in folds:
                print(fold)

        stages = [(0.1, 1), (0.01, 1)]
        net = nn.Linear(6, 3)
        for rate, epochs in stages:
            optimizer = torch.optim.SGD(net.parameters(), lr=rate)
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()
        """,
    "a label to ignore that is torch's own": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.ignore_index = -100
                self.out = nn.Linear(6, 3)

            def forward(self, x, y):
                return F.cross_entropy(self.out(x), y)

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            net(x, y).backward()
            optimizer.step()
        """,
    "a plain warm-up before training with a scaler": """
        def train(net, optimizer):
            scaler = torch.amp.GradScaler("cpu")
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()
            for x, y in loader:
                optimizer.zero_grad()
                with torch.autocast("cpu"):
                    loss = F.cross_entropy(net(x), y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()

        net = nn.Linear(6, 3)
        train(net, torch.optim.SGD(net.parameters(), lr=0.1))
        """,
    "weights that are copied beside those that are read": """
        net = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        shadow = [p.detach().clone() for p in net.parameters()]
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            live = [p.data for p in net.parameters()]
            torch._foreach_lerp_(shadow, live, 0.1)
        with torch.no_grad():
            for p, kept in zip(net.parameters(), shadow):
                p.copy_(kept)
        """,
    "an environment whose info is not read": """
        class Room:
            def step(self, action):
                return torch.randn(6), 1.0, False, False, {}

        room, memory = Room(), []
        net = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        state = torch.randn(6)
        for _ in range(8):
            action = net(state).argmax()
            following, reward, done, truncated, _ = room.step(action)
            memory.append((state, action, reward, following, float(done)))
            state = following
            states, actions, rewards, nexts, ends = zip(*memory)
            value = net(torch.stack(states)).max(1).values
            after = net(torch.stack(nexts)).max(1).values.detach()
            target = torch.tensor(rewards) + 0.9 * after * (1 - torch.tensor(ends))
            optimizer.zero_grad()
            F.mse_loss(value, target).backward()
            optimizer.step()
        """,
    "settings that are a default beside a model that is passed": """
        class Settings:
            rate = 0.1

        def fit(net, settings=Settings()):
            optimizer = torch.optim.SGD(net.parameters(), lr=settings.rate)
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()

        for fold in range(2):
            fit(nn.Linear(6, 3))
        """,
    "a mask of padding that is named as a tokenizer's": """
        ids = torch.randint(1, 20, (4, 5))
        ids[:, 3:] = 0
        attention_mask = ids.eq(0)
        table = nn.Embedding(20, 8, padding_idx=0)
        layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        layer(table(ids), src_key_padding_mask=attention_mask).mean().backward()
        """,
    "a mean of pictures that attend to padded words": """
        words = torch.randint(1, 20, (4, 9))
        words[:, 6:] = 0
        table = nn.Embedding(20, 8, padding_idx=0)
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        reading = nn.MultiheadAttention(8, 2, batch_first=True)
        pictures, pad = torch.randn(4, 16, 8), words == 0
        rows = table(words)
        texts, _ = reading(rows, rows, rows, key_padding_mask=pad)
        read, _ = attention(pictures, texts, texts, key_padding_mask=pad)
        (pictures + read).mean(1).sum().backward()
        """,
    "classes of maps that are the largest labels": """
        import numpy as np

        label_maps = np.array([[0, 1, 2], [1, 1, 0]])
        target_class = 2
        print((label_maps.max(axis=1) == target_class).sum())
        nn.Linear(6, 3)(torch.randn(4, 6)).mean().backward()
        """,
    "results that are collected by a method with a name of its own": """
        net = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        losses = []
        append = losses.append
        for epoch in range(2):
            for x, y in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                append(loss.item())
            print(losses[-1])
        """,
    "parts that are split by keywords": """
        from torch.utils.data import random_split

        train, test = random_split(dataset=data, lengths=[16, 8])
        net = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(train, batch_size=8):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for x, y in DataLoader(test, batch_size=8):
                print((net(x).argmax(1) == y).sum())
        """,
    "parts of tables that are unpacked in turn": """
        def scale(rows):
            return (rows - rows.mean(0)) / rows.std(0)

        pair = torch.randn(8, 6), torch.randn(8, 6)
        (a, b), c = pair, 3
        both = torch.cat([scale(a), scale(b)])
        nn.Linear(6, c)(both).mean().backward()
        """,
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_a_right_program(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + dedent(RIGHT[name]))
    assert [f.code for f in report.findings if f.severity != "note"] == []


def test_functions_that_call_each_other_are_looked_into_once(tmp_path: Path) -> None:
    steps = "\n".join(
        f"def step_{i}(x):\n    return hooks[{i}](step_{(i * 7 + 1) % 60}(x))\n"
        for i in range(60)
    )
    program = f"""
hooks = [nn.Identity() for _ in range(60)]
{steps}
net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    generator = torch.Generator().manual_seed(0)
    for x, y in DataLoader(data, batch_size=8, shuffle=True, generator=generator):
        optimizer.zero_grad()
        F.cross_entropy(net(hooks[0](x)), y).backward()
        optimizer.step()
"""
    report = rehearsed(tmp_path, HEAD + program)
    assert {f.code for f in report.findings} == {"seed-repeated"}
