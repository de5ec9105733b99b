"""Each silent mistake in settings that its page does not show.

The programs stand in `tests/posts/settings`, four for each code; their first line says
where the mistake is. Which of them are found is in `found.json` beside them. Of half of
them the mended program stands there too, of which nothing is to be said.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SETTINGS = Path(__file__).resolve().parents[1] / "posts" / "settings"
FOUND: dict[str, list[str]] = json.loads((SETTINGS / "found.json").read_text("utf-8"))
"""The programs whose code is reported, with the libraries that each needs."""
MENDED: dict[str, list[str]] = json.loads((SETTINGS / "mended.json").read_text("utf-8"))
"""The mended programs, with the libraries that each needs."""

QUIET = {
    "a quantile in two parts": """
output, value, q = model(x).mean((1, 2)), torch.randn(16), 0.9
over, under = F.relu(output - value), F.relu(value - output)
loss = (q * under + (1 - q) * over).mean()
""",
    "weights of both sides": """
output, value = model(x).mean((1, 2)), torch.randn(16)
loss = (0.1 * F.relu(output - value) + 0.9 * F.relu(value - output)).mean()
""",
    "states that are copied": """
state, kept = torch.zeros(8), [torch.zeros(8)]
for _ in range(6):
    state.add_(1)
    kept.append(state.clone())
loss = model(x).pow(2).mean() + torch.stack(kept).mean()
""",
    "a world without an end": """
def sample():
    return tuple(torch.rand(16, 8) for _ in range(5))

def update(gamma=0.9):
    states, actions, rewards, later, _ = sample()
    target = rewards + gamma * later
    return (model(states[:, None]).mean(1) - target.detach()).pow(2).mean()

loss = update()
""",
    "correlation of features": """
z = model(x).mean(1)
z = z / z.norm(dim=0, keepdim=True)
loss = ((z.T @ z) - torch.eye(8)).pow(2).sum()
""",
    "moved to the first point": """
paths = model(x)
loss = (paths - paths[0].detach()).pow(2).mean() + paths.pow(2).mean()
""",
    "statistics of the last dim": """
mean, std = x.mean(dim=(0, 1)), x.std(dim=(0, 1))
loss = model((x - mean) / std).pow(2).mean()
""",
    "one seed for both orders": """
import numpy as np
inputs, targets = np.arange(64.0), np.arange(64)
np.random.seed(3)
np.random.shuffle(inputs)
np.random.seed(3)
np.random.shuffle(targets)
pairs = list(zip(inputs, targets))
loss = model(x).pow(2).mean()
""",
    "padding that the loss ignores": """
rows = [torch.randint(1, 8, (n,)) for n in (3, 5, 4, 6)]
labels = torch.stack([F.pad(row, (0, 6 - len(row)), value=-100) for row in rows])
loss = F.cross_entropy(model(x[:4, :6]).transpose(1, 2), labels)
""",
    "a matrix of an environment": """
class World:
    def __init__(self):
        self.mix = torch.randn(8, 8)

    def step(self, state):
        return state @ self.mix


loss = model(World().step(x)).pow(2).mean()
""",
    "each value once": """
scores = model(x).mean((1, 2))
gap = scores.unsqueeze(1) - scores
loss = F.softplus(-gap).mean()
""",
    "a benchmark of an evaluation": """
import time
import numpy as np

def benchmark(net):
    net.eval()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        with torch.no_grad():
            net(x)
        times.append(time.perf_counter() - begin)
    return np.mean(times), np.std(times)

benchmark(nn.Sequential(model, nn.Dropout()))
loss = model(x).pow(2).mean()
""",
    "padding that only the total leaves out": """
rows = [torch.randint(8, (n,)) for n in (3, 5, 4, 6)]
labels = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
scores = model(x[:4, :6])
correct = (scores.argmax(-1) == labels).sum().item()
total = (labels != -100).sum().item()
loss = F.cross_entropy(scores.transpose(1, 2), labels)
""",
    "padding beside the lengths": """
rows = [torch.randint(8, (n,)) for n in (3, 5, 4, 6)]
labels = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
scores = model(x[:4, :6])
accuracy = (scores.argmax(-1) == labels).sum().item() / sum(map(len, rows))
loss = F.cross_entropy(scores.transpose(1, 2), labels)
""",
    "neighbours behind the first": """
labels = torch.randint(3, (16,))
with torch.no_grad():
    z = model(x).mean(1)
    nearest = labels[(z @ z.T).topk(4).indices]
    recall = (nearest[:, 1:] == labels[:, None]).any(1).float().mean()
loss = model(x).pow(2).mean()
""",
    "a logarithm of a quotient by zeros that are masked": """
counts = torch.tensor([[0.0, 2.0, 4.0]] * 16)
rates = torch.where(counts > 0, (1 / counts).log(), torch.zeros(()))
loss = (model(x).mean((1, 2)) - rates.sum(1)).pow(2).mean()
""",
    "similarities without the diagonal": """
z = F.normalize(model(x).mean(1), dim=-1)
scores = z @ z.T - 1e9 * torch.eye(16)
partner = (torch.arange(16) + 8) % 16
loss = F.cross_entropy(scores, partner)
""",
    "two sets of files": """
import random

def split(files):
    train_files, val_files = files[:20], files[20:]
    random.shuffle(train_files)
    random.shuffle(val_files)
    return train_files, val_files

split([f"{at}.png" for at in range(30)])
loss = model(x).pow(2).mean()
""",
    "the points of one cloud": """
class Cloud(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = model

    def forward(self, points):
        return self.body(points / points.abs().max()).amax(0)


loss = Cloud()(torch.randn(40, 8)).pow(2).mean()
""",
    "rows that differ": """
grid = torch.zeros(4, 6, dtype=torch.long)
for at in range(4):
    grid[at] = torch.arange(6)
loss = F.cross_entropy(model(x[:4, :6]).transpose(1, 2), grid)
""",
}
SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn

x = torch.randn(16, 9, 8)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{body}
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


@pytest.mark.parametrize("name", [name for name, needs in FOUND.items() if not needs])
def test_the_mistake_is_told(name: str, tmp_path: Path) -> None:
    program = (SETTINGS / f"{name}.py").read_text("utf-8")
    report = rehearsed(tmp_path, program)
    assert name.rpartition("_")[0] in {finding.code for finding in report.findings}


@pytest.mark.parametrize("name", [name for name, needs in MENDED.items() if not needs])
def test_nothing_is_said_of_the_mended_program(name: str, tmp_path: Path) -> None:
    program = (SETTINGS / f"{name}.right.py").read_text("utf-8")
    report = rehearsed(tmp_path, program)
    assert not [f for f in report.findings if f.severity != "note"]


@pytest.mark.parametrize("name", QUIET)
def test_what_is_meant_is_not_told(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(body=QUIET[name]))
    assert not [f for f in report.findings if f.severity != "note"]


HEADS = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.out = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        n, t, d = x.shape
        heads = self.q(x).view(n, t, 2, 4).transpose(1, 2)
        means = heads.mean(2, keepdim=True).expand(n, 2, t, 4).clone()
        means[:, :, :3] = heads[:, :, :3]
        return self.out(means.reshape(n, t, -1))


loss = Attention()(model(x)).pow(2).mean()
"""


def test_heads_are_put_behind_their_tokens(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(body=HEADS))
    (finding,) = [f for f in report.findings if f.code == "view-mixes-dims"]
    (fix,) = finding.fixes
    assert "means.transpose(1, 2).reshape(n, t, -1)" in fix.message


TOKENS = """
labels = torch.randint(8, (16,))
loss = F.cross_entropy(model(x), labels)
"""


def test_scores_of_tokens_are_not_those_of_more_classes(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(body=TOKENS))
    (finding,) = report.findings
    assert finding.code == "target-shape"
    assert not [fix for fix in finding.fixes if "flatten(1)" in fix.message]
