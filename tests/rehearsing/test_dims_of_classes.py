"""A softmax along another dim than the loss reads the classes in, and `argmax` without
a dim that meets the classes of all samples: found with the edit, legal programs quiet.
"""

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
MATCHING = """
class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.option = nn.Linear(6, 12), nn.Linear(4, 12)
        self.log_softmax = nn.LogSoftmax(dim={dim})

    def forward(self, x, options):
        h = self.option(options)
        scores = {scores}
        return {output}

data = TensorDataset(
    torch.randn(64, 6), torch.randn(64, {many}, 4), torch.randint({many}, (64,))
)
model = Matcher()
optimizer = torch.optim.Adam(model.parameters())
for x, options, y in DataLoader(data, batch_size=16, shuffle=True):
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
"""
SCORES = "(h * self.query(x).unsqueeze(1)).sum(2)"
PAIRS = "self.query(x) @ h[:, 0].t()"
STEPS = """
table, head = nn.Embedding(20, 8), nn.Conv1d(8, 5, 1)
params = [*table.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params)
data = TensorDataset(torch.randint(20, (32, 12)), torch.randint(5, (32, 12)))
for words, tags in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    scores = head(table(words).transpose(1, 2))
    F.nll_loss(F.log_softmax(scores, dim={dim}), tags).backward()
    optimizer.step()
"""
NLL = "F.nll_loss(model(x, options), y)"
LOSSES = {
    "the batch": (
        {"dim": 0}, "batch-axis", "`nn.LogSoftmax(dim=-1)`",
    ),
    "the batch, with a softmax and a logarithm": (
        {"output": "torch.log(torch.softmax(scores, dim=0))"},
        "batch-axis", "`torch.softmax(scores, dim=-1)`",
    ),
}  # fmt: skip
RIGHT_LOSSES = {
    "the options": {},
    "options that are pooled": {
        "output": "self.log_softmax((h.softmax(1) * h).sum(1) + self.query(x))",
        "loss": "F.nll_loss(model(x, options), y.clamp(max=4))",
    },
    "all pairs, in both directions": {
        "dim": 0,
        "scores": PAIRS,
        "loss": "F.nll_loss(model(x, options), torch.arange(len(x)))",
    },
    "columns that are turned": {
        "dim": 0, "output": "self.log_softmax(scores.t()).t()",
    },
    "as many options as samples": {"dim": 0, "many": 16},
}  # fmt: skip


def write_matching(**words: object) -> str:
    """Return the program with these parts replaced."""
    parts = {
        "dim": 1, "scores": SCORES, "output": "self.log_softmax(scores)",
        "many": 5, "loss": NLL,
    }  # fmt: skip
    return HEAD + MATCHING.format(**{**parts, **words})


@pytest.mark.parametrize("name", LOSSES)
def test_a_softmax_along_another_dim_than_its_loss(name: str, tmp_path: Path) -> None:
    parts, code, message = LOSSES[name]
    (finding,) = rehearsed(tmp_path, write_matching(**parts)).findings
    assert finding.code == code
    assert finding.fixes[0].message == message
    assert finding.fixes[0].checked


def test_a_softmax_over_steps_of_which_the_loss_reads_classes(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + STEPS.format(dim=-1)).findings
    assert finding.code == "wrong-axis"
    assert "along dim 2, and `nll_loss` reads the 5 classes" in finding.message
    assert finding.fixes[0].message == "`F.log_softmax(scores, dim=1)`"
    assert not rehearsed(tmp_path, HEAD + STEPS.format(dim=1)).findings


@pytest.mark.parametrize("name", RIGHT_LOSSES)
def test_a_softmax_along_the_dim_of_its_loss(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_matching(**RIGHT_LOSSES[name]))
    assert not report.findings, report.findings


CHOICES = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
data = TensorDataset(torch.randn(48, 6), torch.randint(4, (48,)))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=16):
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    optimizer.step()
net.eval()
right = 0
with torch.no_grad():
    for x, y in DataLoader(data, batch_size={batch}):
        out = net(x)
        {use}
print(right)
"""
WRONG_CHOICES = {
    "of a function": (
        "right += (torch.argmax(out) == y).sum().item()",
        "`torch.argmax(out, dim=1)`",
    ),
    "of a method, by its name": (
        "pred = out.softmax(1).argmax().cpu(); right += pred.eq(y).sum().item()",
        "`out.softmax(1).argmax(dim=1)`",
    ),
    "labels first": (
        "right += torch.eq(y, torch.argmax(out.detach())).sum().item()",
        "`torch.argmax(out.detach(), dim=1)`",
    ),
}
RIGHT_CHOICES = {
    "along the classes": (16, "right += (out.argmax(1) == y).sum().item()"),
    "of one sample": (1, "right += (out.argmax() == y).sum().item()"),
    "of the scores of one sample": (
        16, "right += (out[0].argmax() == y[0]).sum().item()",
    ),
    "the samples of the class that has the largest score of a sample": (
        16, "right += (out[0].argmax() == y).sum().item()",
    ),
    "a place among all elements": (
        16, "right += (out.argmax() == torch.arange(out.numel())).sum().item()",
    ),
    "the row of the largest score": (
        16, "right += (out.argmax() // 4 == torch.arange(len(out))).sum().item()",
    ),
    "the best of one column": (
        16, "right += (out[:, :1].argmax() == torch.arange(len(out))).sum().item()",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_CHOICES)
def test_one_index_that_meets_the_classes_of_all(name: str, tmp_path: Path) -> None:
    use, message = WRONG_CHOICES[name]
    report = rehearsed(tmp_path, HEAD + CHOICES.format(batch=16, use=use))
    (finding,) = report.findings
    assert finding.code == "wrong-axis"
    assert "gives one index into all 64 elements" in finding.message
    assert [fix.message for fix in finding.fixes] == [message]
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT_CHOICES)
def test_one_index_that_is_meant(name: str, tmp_path: Path) -> None:
    batch, use = RIGHT_CHOICES[name]
    report = rehearsed(tmp_path, HEAD + CHOICES.format(batch=batch, use=use))
    assert not report.findings, report.findings
