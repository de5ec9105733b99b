"""Errors whose fix stands elsewhere: where an operand, an optimizer or a schedule is
made.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import lr_scheduler

"""
STEP = """
x, y = torch.randn(8, 6), torch.randint(3, (8,))
for _ in range(2):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
SCHEDULE = """
class Warmup(lr_scheduler.LRScheduler):
    def __init__(self, optimizer, steps, last_epoch=-1):
        super().__init__(optimizer, last_epoch)
        self.steps = steps
        self.least = 1e-5

    def get_lr(self):
        part = min(1.0, (self.last_epoch + 1) / self.steps)
        return [max(self.least, rate * part) for rate in self.base_lrs]

model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = Warmup(optimizer, 5)
"""
FIXES = {
    "the caller's argument lacks a dim": (
        """\
class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(9, 4), nn.Embedding(9, 4)

    def score(self, user, item):
        u = self.users(user)
        return (u * self.items(item)).sum(-1)

    def forward(self, user, liked, others):
        return self.score(user, liked), self.score(user, others)

user, others = torch.randint(9, (6,)), torch.randint(9, (6, 5))
liked, other = Scores()(user, user.flip(0), others)
(other - liked.unsqueeze(1)).mean().backward()
""",
        "`user.unsqueeze(1)`",
    ),
    "too few classes happen to be there": (
        """\
CLASSES = 7

class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4 + CLASSES, 5)

    def forward(self, z, labels):
        return self.fc(torch.cat([z, F.one_hot(labels).float()], 1))

Generator()(torch.randn(3, 4), torch.tensor([0, 2, 1]))
""",
        "`one_hot(labels, CLASSES)`",
    ),
    "an empty list has no columns": (
        """\
def read(rows):
    return torch.tensor(rows, dtype=torch.float32)

for rows in ([[1, 2, 3, 4], [0, 0, 5, 5]], [], [[2, 2, 3, 3]]):
    boxes = read(rows)
    sizes = boxes[:, 2:] - boxes[:, :2]
""",
        "`torch.tensor(rows, dtype=torch.float32).reshape(-1, 4)`",
    ),
    "labels that begin with 3": (
        """\
grades = [3, 5, 8, 4, 7, 6, 3, 3]
y = torch.tensor(grades)
numbers = torch.as_tensor(y.numpy())
F.cross_entropy(nn.Linear(6, 6)(torch.randn(8, 6)), numbers).backward()
""",
        "`y.numpy() - y.numpy().min()`",
    ),
    "a right-hand side that is computed number by number": (
        """\
rates = nn.Parameter(torch.tensor([0.5, 0.2]))

def field(state):
    a, b = state
    return torch.tensor([rates[0] * a, rates[1] * b])

field(torch.tensor([1.0, 2.0])).sum().backward()
""",
        "`torch.stack([rates[0] * a, rates[1] * b])`",
    ),
    "gradients of several numbers": (
        """\
x = torch.rand(20, 1, requires_grad=True)
y = nn.Linear(1, 1)(x)
(slopes,) = torch.autograd.grad(y, x, create_graph=True)
slopes.pow(2).mean().backward()
""",
        "grad_outputs=torch.ones_like(y)",
    ),
    "lengths in front of a layer with a stride": (
        """\
frames = torch.randn(3, 8, 40)
lengths = torch.tensor([40, 36, 30])
scores = nn.Conv1d(8, 5, 3, stride=2, padding=1)(frames).permute(2, 0, 1)
targets = torch.randint(1, 5, (3, 6))
loss = nn.CTCLoss()
loss(scores.log_softmax(2), targets, lengths, torch.full((3,), 6)).backward()
""",
        "`(lengths + 1) // 2`",
    ),
    "a gather of the first feature": (
        """\
x, kept = torch.randn(4, 9, 16), torch.randint(9, (4, 3))
tokens = torch.gather(x, 1, kept.unsqueeze(-1))
nn.LayerNorm(16)(tokens).sum()
""",
        "`kept.unsqueeze(-1).expand(-1, -1, x.size(-1))`",
    ),
    "a size that was divided": (
        """\
width = 32
layers = []
for _ in range(3):
    layers.append(nn.Linear(width, width / 2))
    width = width // 2
""",
        "`width // 2`",
    ),
    "a width that the heads do not divide": (
        """\
CONFIG = {"width": 100, "heads": 8, "layers": 2}
if CONFIG["width"] % CONFIG["heads"]:
    raise ValueError(f"{CONFIG['width']} must be divisible by {CONFIG['heads']}")
""",
        "`96` for `100`",
    ),
    "the same size with a stride": (
        "nn.Conv2d(3, 8, 3, stride=2, padding='same')\n",
        "`padding=1`",
    ),
    "a module that keeps a result": (
        """\
import copy

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.hidden = nn.Linear(6, 4), None

    def forward(self, x):
        self.hidden = torch.relu(self.fc(x))
        return self.hidden.sum()

net = Net()
net(torch.randn(3, 6)).backward()
best = copy.deepcopy(net)
""",
        "`net.hidden = None` before it",
    ),
    "a pruned model": (
        """\
from torch.nn.utils import prune

def build():
    return nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))

net = build()
prune.l1_unstructured(net[0], "weight", amount=0.5)
torch.save(net.state_dict(), "net.pt")
other = build()
other.load_state_dict(torch.load("net.pt"))
""",
        '`prune.remove(layer, "weight")`',
    ),
    "a counter in a state dict": (
        """\
model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))
other = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))
with torch.no_grad():
    weights = model.state_dict()
    for name, average in other.state_dict().items():
        average.mul_(0.9).add_(weights[name], alpha=0.1)
""",
        "`if average.is_floating_point():`",
    ),
    "gradients of an embedding are sparse": (
        """\
model = nn.Sequential(nn.Embedding(9, 6, sparse=True), nn.Flatten(), nn.Linear(12, 3))
optimizer = torch.optim.Adam(model.parameters())
F.cross_entropy(model(torch.randint(9, (4, 2))), torch.tensor([0, 1, 2, 0])).backward()
optimizer.step()
""",
        "`sparse=False`",
    ),
    "an option of the command line is a text": (
        """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", default="0.01")
args = parser.parse_args()
model = nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)
"""
        + STEP,
        "type=float",
    ),
    "a learning rate in quotes": (
        "model = nn.Linear(6, 3)\n"
        'optimizer = torch.optim.Adam(model.parameters(), lr="1e-3")\n' + STEP,
        "`lr=1e-3`",
    ),
    "a number of YAML is a text": (
        """\
CONFIG = '''
optimizer:
  lr: 5e-4
  betas: [0.9, 0.99]
'''
settings = {}
for line in CONFIG.strip().splitlines()[1:]:
    key, value = line.strip().split(": ")
    settings[key] = value if "e" in value and "." not in value else eval(value)
model = nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters(), **settings)
"""
        + STEP,
        "`5.0e-4`",
    ),
    "a scheduler is not told its metric": (
        """\
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
x, y = torch.randn(8, 6), torch.randint(3, (8,))
for epoch in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val_loss = F.cross_entropy(model(x.flip(0)), y.flip(0)).item()
    scheduler.step()
""",
        "`step(val_loss)`",
    ),
    "attributes are set behind the constructor that reads them": (
        SCHEDULE + STEP,
        "`super().__init__(optimizer, last_epoch)` below `self.least = 1e-5`",
    ),
}


@pytest.mark.parametrize("name", FIXES)
def test_the_fix_stands_where_it_is_made(name: str, tmp_path: Path) -> None:
    body, fix = FIXES[name]
    report = rehearsed(tmp_path, HEAD + body)
    (finding,) = [each for each in report.findings if each.severity == "error"]
    assert fix in finding.fixes[0].message


@pytest.mark.parametrize(
    "use",
    [
        "nn.Conv2d(3, 4, 3)(picture.float().unsqueeze(0) / 255)",
        "picture.reshape(1, 3, 8, picture.shape[2])",
    ],
    ids=["a layer", "a view"],
)
def test_a_picture_has_another_mode(use: str, tmp_path: Path) -> None:
    body = """\
import numpy as np

class Image:
    def __init__(self, channels):
        self.array = np.zeros((8, 8, channels), dtype=np.uint8)

    @staticmethod
    def open(path):
        return Image(4)

    def convert(self, mode):
        return Image(len(mode))

picture = torch.from_numpy(Image.open("picture.png").array).permute(2, 0, 1)
"""
    (finding,) = rehearsed(tmp_path, HEAD + body + use).findings
    assert finding.fixes[0].message == '`Image.open("picture.png").convert("RGB")`'
    if finding.code == "channel-mismatch":
        assert "and is RGBA" in finding.related[0].message


def test_a_cast_that_is_written_and_thrown_away_is_no_fix(tmp_path: Path) -> None:
    body = "count = torch.tensor([3, 4])\ncount.mul_(0.5)\nprint(count)\n"
    (finding,) = rehearsed(tmp_path, HEAD + body).findings
    assert all("count.float()" not in fix.message for fix in finding.fixes)


def test_a_float_factor_of_whole_numbers_reads_no_index(tmp_path: Path) -> None:
    body = "count = torch.tensor(3)\ncount.add_(torch.tensor(4), alpha=0.5)\n"
    (finding,) = rehearsed(tmp_path, HEAD + body).findings
    assert finding.code == "dtype-mismatch"


LOOSE = """\
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log_std = nn.Linear(6, 2), nn.Parameter(torch.zeros(2))

    def forward(self, x):
        mean = self.mean(x)
        return torch.distributions.Normal(mean, {0})

policy = Policy()
loss = -policy(torch.randn(8, 6)).log_prob(torch.randn(8, 2)).mean()
loss.backward()
"""


@pytest.mark.parametrize("scale", ["self.log_std", "self.log_std.expand_as(mean)"])
def test_a_logarithm_is_no_deviation(scale: str, tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + LOOSE.format(scale)).findings
    assert finding.code == "loss-input"
    assert finding.fixes[0].message == f"`{scale}.exp()`"


@pytest.mark.parametrize(
    "scale", ["self.log_std.exp()", "F.softplus(self.log_std).expand_as(mean)", "0.3"]
)
def test_a_deviation_may_be_given(scale: str, tmp_path: Path) -> None:
    assert rehearsed(tmp_path, HEAD + LOOSE.format(scale)).findings == ()


ORDER = """\
import numpy as np
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(60, 6), torch.randint(2, (60,)).float())
test_loader = DataLoader(data, 20, shuffle={0})
model = nn.Linear(6, 1)
model.eval()
with torch.no_grad():
    scores = torch.cat([model(x)[:, 0] for x, {1} in test_loader]).numpy()
truths = test_loader.dataset.tensors[1].numpy()
error = np.abs(scores - truths).mean()
"""


def test_scores_of_a_shuffled_loader_without_their_labels(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + ORDER.format("True", "_")).findings
    assert finding.code == "shuffled-order"
    assert finding.fixes[0].message == "`shuffle=False`"


def test_scores_of_a_loader_in_order(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, HEAD + ORDER.format("False", "_")).findings == ()


def test_a_student_is_not_made_as_wide_as_its_teacher(tmp_path: Path) -> None:
    body = """\
student, teacher = nn.Linear(6, 4), nn.Linear(6, 16)
x = torch.randn(8, 6)
with torch.no_grad():
    hints = teacher(x)
F.mse_loss(student(x), hints).backward()
"""
    (finding,) = rehearsed(tmp_path, HEAD + body).findings
    assert all("nn.Linear(6, " not in fix.message for fix in finding.fixes)


def test_a_decay_by_epochs_is_no_plan_for_batches(tmp_path: Path) -> None:
    body = """\
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
data = torch.utils.data.TensorDataset(torch.randn(100, 6), torch.randint(3, (100,)))
for epoch in range(4):
    for x, y in torch.utils.data.DataLoader(data, 10):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    scheduler.step()
"""
    assert rehearsed(tmp_path, HEAD + body).findings == ()


QUIET = {
    "a module that is saved with a result": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.hidden = nn.Linear(6, 4), None

    def forward(self, x):
        self.hidden = torch.relu(self.fc(x))
        return self.hidden.sum()

net = Net()
net(torch.randn(3, 6)).backward()
torch.save(net, "net.pt")
assert torch.load("net.pt", weights_only=False).hidden.shape == (3, 4)
""",
    "a quantile loss": """\
model = nn.Linear(6, 2)
q, x, y = torch.tensor([0.1, 0.9]), torch.randn(8, 6), torch.randn(8, 1)
error = y - model(x)
torch.maximum(q * error, (q - 1) * error).mean().backward()
""",
    "a leaky loss of another kind": """\
model = nn.Linear(6, 2)
x, y = torch.randn(8, 6), torch.randn(8, 2)
error = model(x) - y
torch.maximum(0.9 * error, -0.9 * error).mean().backward()
""",
    "a penalty over all pixels": """\
model = nn.Sequential(nn.Flatten(), nn.Linear(12, 1))
x = torch.randn(8, 3, 2, 2, requires_grad=True)
(gradients,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
((gradients.norm(2, dim=(1, 2, 3)) - 1) ** 2).mean().backward()
""",
    "pixels that are never scaled": """\
model = nn.Linear(6, 2)
for _ in range(2):
    x = torch.randint(256, (8, 6), dtype=torch.uint8)
    model((x.float() - 127.5) / 127.5).sum().backward()
""",
    "labels that are left out": """\
model = nn.Linear(6, 3)
data = torch.utils.data.TensorDataset(torch.randn(8, 6), torch.randint(3, (8,)))
for x, y in torch.utils.data.DataLoader(data, 4):
    scores = model(x)
    F.cross_entropy(scores, y, ignore_index=255).backward()
    kept = y < 3
    torch.bincount(y[kept] * 3 + scores.argmax(1)[kept], minlength=9).view(3, 3)
""",
    "a schedule of factors": """\
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 400))
x, y = torch.randn(8, 6), torch.randint(3, (8,))
for _ in range(3):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    scheduler.step()
""",
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_right_programs(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + QUIET[name])
    assert [finding.message for finding in report.findings] == []
    assert report.complete
