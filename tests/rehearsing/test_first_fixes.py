"""Errors and mistakes of posts, each with the first fix that its answer gives."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from shapewright.commands.check import fix_trials
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
from torch.nn import functional as F

"""
CASES = {
    "a state behind a function of its own": (
        """
        class Step(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return (x >= 0).to(x)

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        class Node(nn.Module):
            def __init__(self):
                super().__init__()
                self.v = 0.0

            def reset(self):
                self.v = 0.0

            def forward(self, x):
                self.v = self.v + x
                spike = Step.apply(self.v - 1)
                self.v = self.v * (1 - spike.detach())
                return spike

        def reset_net(net):
            for part in net.modules():
                if isinstance(part, Node):
                    part.reset()

        net = nn.Sequential(nn.Linear(4, 4), Node(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        reset_net(net)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).mean().backward()
            optimizer.step()
        """,
        "graph-freed",
        "`reset_net(net)` first in the loop",
    ),
    "a state of several steps": (
        """
        class Node(nn.Module):
            def __init__(self):
                super().__init__()
                self.v = None

            def forward(self, x):
                if self.v is None:
                    self.v = torch.zeros_like(x)
                self.v = 0.9 * self.v + x
                return torch.tanh(self.v)

        def reset(net):
            for part in net.modules():
                if isinstance(part, Node):
                    part.v = None

        net = nn.Sequential(nn.Linear(4, 4), Node(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            torch.stack([net(x) for _ in range(5)]).mean().backward()
            optimizer.step()
        """,
        "graph-freed",
        "`reset(net)` first in the loop",
    ),
    "a slice for an optimizer": (
        """
        table = nn.Embedding(12, 4)

        class Tuner:
            def __init__(self):
                self.words = table(torch.arange(8))
                self.tuned = self.words[1:5]
                self.tuned.requires_grad_(True)
                self.optimizer = torch.optim.Adam([self.tuned], lr=0.1)

        tuner = Tuner()
        tuner.tuned.mean().backward()
        """,
        "nothing-to-train",
        "`self.words[1:5].detach().clone()`",
    ),
    "targets of another dtype": (
        """
        import numpy as np

        net = nn.Linear(4, 1)
        target = torch.from_numpy(np.zeros((8, 1)))
        loss = nn.HuberLoss()(net(torch.randn(8, 4)), target)
        loss.backward()
        """,
        "dtype-mismatch",
        "`target.float()`",
    ),
    "a method that is not called": (
        """
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters, lr=0.1)
        """,
        "program-error",
        "`net.parameters()`",
    ),
    "an argument that is gone": (
        """
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.5, verbose=True
        )
        """,
        "program-error",
        "without `verbose=True`",
    ),
    "the number of a loss": (
        """
        net = nn.Linear(4, 1)
        loss = net(torch.randn(8, 4)).mean()
        loss.backward()
        print(loss.data[0])
        """,
        "too-many-indices",
        "`loss.item()`",
    ),
    "an argument as another call has it": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = nn.Linear(6, 8)

            def onehot(self, c):
                return F.one_hot(c, 2).float()

            def decode(self, z):
                return self.decoder(z)

            def forward(self, x, c):
                z = x[:, :4]
                return self.decode(torch.cat([z, self.onehot(c)], 1))

            def sample(self, c):
                z = torch.randn(c.size(0), 4)
                return self.decode(z)

        net = Net()
        c = torch.tensor([0, 1, 1])
        net(torch.randn(3, 8), c).mean().backward()
        net.sample(c)
        """,
        "inner-dim-mismatch",
        "`self.decode(torch.cat([z, self.onehot(c)], 1))`",
    ),
    "a class along another dim": (
        """
        net = nn.Conv1d(3, 5, 1)
        x, y = torch.randn(4, 3, 6), torch.randint(5, (4, 6))
        scores = net(x)
        F.cross_entropy(scores, y).backward()
        chances = F.softmax(scores, dim=-1)
        print((chances.argmax(dim=1) == y).float().mean())
        """,
        "wrong-axis",
        "`F.softmax(scores, dim=1)`",
    ),
    "a label to ignore that nothing reads": (
        """
        class Net(nn.Module):
            def __init__(self, ignore_index=0):
                super().__init__()
                self.ignore_index = ignore_index
                self.out = nn.Linear(4, 5)

            def forward(self, x, y):
                return F.cross_entropy(self.out(x), y)

        Net()(torch.randn(8, 4), torch.tensor([1, 2, 0, 0, 3, 4, 0, 0])).backward()
        """,
        "padded-targets",
        "`F.cross_entropy(self.out(x), y, ignore_index=self.ignore_index)`",
    ),
}


LOOP = """
from torch.utils.data import DataLoader, TensorDataset

inputs = torch.randn(40, 5)
data = TensorDataset(inputs, torch.randint(3, (40,)))
net = nn.Linear(5, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    total = 0.0
    for x, y in DataLoader(data, batch_size=16):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""
UNCALLED = {
    "optimizer.zero_grad": "gradients-not-cleared",
    "loss.backward": "no-gradient",
    "optimizer.step": "never-stepped",
}


@pytest.mark.parametrize("method", UNCALLED)
def test_parentheses_of_a_step_that_is_not_called(method: str, tmp_path: Path) -> None:
    program = LOOP.replace(f"{method}()", method)
    report = rehearsed(tmp_path, HEAD + program)
    (finding,) = [f for f in report.findings if f.severity != "note"]
    assert finding.code == UNCALLED[method]
    assert finding.fixes[0].message == f"`{method}()`"
    where = f"`{method}` without parentheses calls nothing"
    assert where in [related.message for related in finding.related]


def test_a_training_that_never_steps_is_told_once(tmp_path: Path) -> None:
    program = LOOP.replace("        optimizer.step()\n", "")
    report = rehearsed(tmp_path, HEAD + program)
    codes = [f.code for f in report.findings if f.severity != "note"]
    assert codes == ["never-stepped"]


SEVERAL = """
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.rand(6), index % 3, f"row {index}"

net = nn.Sequential(nn.Linear(6, 8), *[nn.Linear(8, 8) for _ in range(90)])
head = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters, lr=0.1)
for x, y in DataLoader(Rows(), batch_size=4):
    loss = F.cross_entropy(head(net(x)), y)
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def without_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries of fixes take as long as they take on a busy machine."""
    monkeypatch.setattr(fix_trials, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(fix_trials, "ALL_SECONDS", 110.0)


@pytest.mark.usefixtures("without_clock")
def test_each_error_behind_another_has_its_fix(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + SEVERAL)
    errors = [f for f in report.findings if f.severity == "error"]
    assert [error.fixes[0].message for error in errors] == [
        "`net.parameters()`",
        "`for x, y, _ in DataLoader(Rows(), batch_size=4)`",
        "`nn.Linear(8, 3)`",
    ]


@pytest.mark.usefixtures("without_clock")
def test_an_error_without_a_fix_hides_no_fix_before_it(tmp_path: Path) -> None:
    program = SEVERAL.replace("head(net(x))", "torch.zeros(len(y), 3) @ net(x)")
    program = program.replace("range(90)", "range(3)")  # no matter of limits
    report = rehearsed(tmp_path, HEAD + program)
    errors = [f for f in report.findings if f.severity == "error"]
    assert [error.fixes[0].message for error in errors[:2]] == [
        "`net.parameters()`",
        "`for x, y, _ in DataLoader(Rows(), batch_size=4)`",
    ]


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_that_of_the_answer(name: str, tmp_path: Path) -> None:
    body, code, fix = CASES[name]
    report = rehearsed(tmp_path, HEAD + dedent(body))
    finding = next(f for f in report.findings if f.severity != "note")
    assert finding.code == code
    assert finding.fixes[0].message.startswith(fix)


TABLE = """
import numpy as np

codes = np.array([1004, 1009, 2440] * 4)
table = torch.tensor(np.stack([np.arange(12) % 3, codes], axis=1))
layers = nn.ModuleList([nn.Embedding(3, 2), nn.Embedding({rows}, 2)])
for rows in torch.randperm(12).split(4):
    part = table[rows]
    loss = sum(layer(part[:, at]).mean() for at, layer in enumerate(layers))
    loss.backward()
"""


@pytest.mark.parametrize(("rows", "told"), [(3, ["drawn-index"]), (2441, [])])
def test_ids_of_an_array_beyond_an_embedding(
    rows: int, told: list[str], tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, HEAD + TABLE.replace("{rows}", str(rows)))
    assert [f.code for f in report.findings if f.severity != "note"] == told


def test_a_name_is_said_to_be_what_it_was_given_alone(tmp_path: Path) -> None:
    program = """
def compare(x, y, pair):
    first, second = x.flatten(1), y.flatten(1)
    third, fourth = zip(*pair)
    return first.nothing(second, third)

compare(torch.randn(4, 2, 3), torch.randn(4, 2, 3), [(torch.ones(4), 1)] * 4)
"""
    report = rehearsed(tmp_path, HEAD + program)
    places = [related.message for related in report.findings[0].related]
    assert "`second` is `y.flatten(1)`" in places
    assert "`third` is a part of `zip(*pair)`" in places


@pytest.mark.parametrize(
    ("own", "is_told"),
    [("rows = len(items)", False), ("pass", True)],
    ids=["set in this function", "set once"],
)
def test_a_number_is_said_of_no_other_variable(
    tmp_path: Path, own: str, is_told: bool
) -> None:
    program = f"""
def prepare(rows=96):
    return list(range(rows))

def cut(items):
    {own}
    return items["first"] if rows else items

cut(prepare())
"""
    report = rehearsed(tmp_path, HEAD + program)
    places = [related.message for related in report.findings[0].related]
    assert any("`rows` is 96 from here" in words for words in places) == is_told
