"""Counts, loaded weights and dropout that are not as they were meant to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randint(3, (40,))), 8)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(5, 4)
def init(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
def train(net, x, y):
    optimizer.zero_grad()
    out = net(x)
    loss = nn.functional.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    return out, loss
"""
WRONG = {
    "counts": (
        "count-not-reset",
        """
hits, n = 0, 0
for epoch in range(3):
    for x, y in loader:
        out, loss = train(net, x, y)
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    print(epoch, hits / n)
""",
    ),
    "a sum of losses": (
        "count-not-reset",
        """
def fit(epochs):
    running = 0.0
    for epoch in range(epochs):
        for x, y in loader:
            running += train(net, x, y)[1].item()
        print(epoch, running / len(loader))
fit(3)
""",
    ),
    "weights": (
        "loaded-weights-lost",
        """
torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt"))
for m in net.modules():
    init(m)
net(x)
""",
    ),
    "a spread": (
        "equal-samples",
        """
net.eval()
draws = []
for _ in range(5):
    with torch.no_grad():
        draws.append(net(x).softmax(-1))
print(torch.stack(draws).var(dim=0))
""",
    ),
    "a spread of joined columns": (
        "equal-samples",
        """
net.eval()
draws = [net(x).unsqueeze(0) for _ in range(5)]
print(torch.cat(draws).std(0))
""",
    ),
}
RIGHT = {
    "counts of each epoch": """
for epoch in range(3):
    hits, n = 0, 0
    for x, y in loader:
        out, loss = train(net, x, y)
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    print(epoch, hits / n)
""",
    "a total that is read at the end": """
running, n = 0.0, 0
for epoch in range(3):
    for x, y in loader:
        running += train(net, x, y)[1].item()
        n += 1
    print(epoch, running / n)
print(running / n)
""",
    "a mean over all steps": """
running, n = 0.0, 0
for epoch in range(3):
    for x, y in loader:
        running += train(net, x, y)[1].item()
        n += 1
    print(epoch, running / n)
""",
    "a new head": """
torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt"))
net[2].reset_parameters()
net(x)
""",
    "drawn after a use": """
torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt"))
net(x)
net.apply(init)
net(x)
""",
    "dropout that is on": """
net.train()
print(torch.stack([net(x) for _ in range(5)]).std(0))
""",
    "other inputs": """
net.eval()
print(torch.stack([net(x + 0.1 * torch.randn_like(x)) for _ in range(5)]).std(0))
""",
    "the spread over the samples": """
net.eval()
print(torch.cat([net(x) for _ in range(5)]).std(0))
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_silent_mistake_is_found(name: str, tmp_path: Path) -> None:
    code, text = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text)
    assert [finding.code for finding in report.findings] == [code]


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name])
    messages = [finding.message for finding in report.findings]
    assert [m for m in messages if "training mode" not in m] == []
