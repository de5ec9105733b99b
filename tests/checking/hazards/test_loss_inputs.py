"""Losses of log-probabilities that get probabilities."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import program, warned
from tests.rehearsing.rehearsed import rehearsed

FORWARD = """\
x, target:
q = {weights}
return F.kl_div({given}, target.softmax(1), reduction="batchmean")
"""
WEIGHTS = "1 / (1 + self.fc(x) ** 2)"
LAYERS = "self.fc = nn.Linear(8, 5)"
INPUTS = "torch.rand(4, 8), torch.rand(4, 5)"
WRONG = {
    "softmax": "self.fc(x).softmax(1)",
    "softmax and a small number": "self.fc(x).softmax(1) + 1e-8",
    "sum of a dim": "q / q.sum(1, keepdim=True)",
    "sum of everything": "q / q.sum()",
    "transposed for the sum": "(q.t() / q.sum(1)).t()",
    "small number beside the sum": "q / (q.sum(1, keepdim=True) + 1e-6)",
    "sum from below": "q / q.sum(1, keepdim=True).clamp(min=1e-6)",
    "function": "torch.div(q, q.sum(1).unsqueeze(1))",
    "exponential by hand": "q.exp() / q.exp().sum(1, keepdim=True)",
}
RIGHT = {
    "log of softmax": "self.fc(x).softmax(1).log()",
    "log with a small number": "(self.fc(x).softmax(1) + 1e-8).log()",
    "log of a quotient": "(q / q.sum(1, keepdim=True)).log()",
    "log_softmax": "self.fc(x).log_softmax(1)",
    "divided by another sum": "q / x.sum(1, keepdim=True)",
    "divided by a mean": "q / q.mean(1, keepdim=True)",
    "minus logsumexp": "q - q.logsumexp(1, keepdim=True)",
    "divided by a temperature": "self.fc(x).log_softmax(1) / 2.0",
}


@pytest.mark.parametrize("name", WRONG)
def test_probabilities_are_found(name: str, tmp_path: Path) -> None:
    text = FORWARD.format(weights=WEIGHTS, given=WRONG[name])
    codes = [each.partition(":")[0] for each in warned(
        tmp_path, program(LAYERS, text, INPUTS))]  # fmt: skip
    assert codes == ["loss-input"]


@pytest.mark.parametrize("name", RIGHT)
def test_logarithms_are_quiet(name: str, tmp_path: Path) -> None:
    text = FORWARD.format(weights=WEIGHTS, given=RIGHT[name])
    assert "loss-input" not in str(warned(tmp_path, program(LAYERS, text, INPUTS)))


def test_targets_are_probabilities(tmp_path: Path) -> None:
    forward = """\
    x, target:
    wanted = target / target.sum(1, keepdim=True)
    return F.kl_div(self.fc(x).log_softmax(1), wanted, reduction="batchmean")
    """
    assert not warned(tmp_path, program(LAYERS, forward, INPUTS))


SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(8, 5)
criterion = nn.KLDivLoss(reduction="batchmean")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    x, target = torch.rand(4, 8), torch.rand(4, 5).softmax(1)
    {line}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("line", "edit"),
    [
        (
            "q = model(x) ** 2; p = q / q.sum(1, keepdim=True)"
            "; loss = criterion(p, target)",
            "`p.log()`",
        ),
        (
            "loss = criterion(model(x).softmax(1), target)",
            "`log_softmax` for `softmax`",
        ),
    ],
)
def test_the_logarithm_is_tried(line: str, edit: str, tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, SCRIPT.format(line=line)).findings
    assert finding.code == "loss-input"
    assert finding.fixes[0].message == edit
    assert finding.fixes[0].checked


MIXED = """\
x, target:
labels = target.argmax(1)
rows = torch.arange(8, device=x.device) % 5
hot = F.one_hot(rows, 5).float()
near = self.fc(x) @ self.keys.weight.t()
return {loss}
"""
KEYS = "self.fc = nn.Linear(8, 5)\nself.keys = nn.Embedding(8, 5)"
PROBABILITIES = {
    "of one-hot labels": "F.cross_entropy(near.softmax(1) @ hot, labels)",
    "of one-hot labels, by a function": (
        "F.cross_entropy(torch.mm(F.softmax(near, dim=-1), hot.to(x.device)), labels)"
    ),
    "of rows of an identity": (
        "F.cross_entropy(near.softmax(-1) @ torch.eye(5, device=x.device)[rows],"
        " labels)"
    ),
    "a mean of several": (
        "F.cross_entropy(torch.stack([near.softmax(1), (near / 2).softmax(1)]).mean(0),"
        " labels)"
    ),
    "for the other loss": "F.nll_loss(near.softmax(1) @ hot, labels)",
}
SCORES = {
    "scores of one-hot labels": "F.cross_entropy(near @ hot, labels)",
    "logarithms": "F.nll_loss((near.softmax(1) @ hot + 1e-8).log(), labels)",
    "learned values": "F.cross_entropy(near.softmax(1) @ self.keys.weight, labels)",
    "a temperature": "F.cross_entropy(10 * (near.softmax(1) @ hot), labels)",
    "a mean of scores": (
        "F.cross_entropy(torch.stack([near, near / 2]).mean(0), labels)"
    ),
    "what a binary loss expects": (
        "F.binary_cross_entropy(near.softmax(1) @ hot, target)"
    ),
    "another dim": "F.cross_entropy(near.softmax(0) @ hot, labels)",
}


@pytest.mark.parametrize("name", PROBABILITIES)
def test_mixed_probabilities_are_no_logits(name: str, tmp_path: Path) -> None:
    text = MIXED.format(loss=PROBABILITIES[name])
    codes = [each.partition(":")[0] for each in warned(
        tmp_path, program(KEYS, text, INPUTS))]  # fmt: skip
    assert codes == ["loss-input"]


@pytest.mark.parametrize("name", SCORES)
def test_mixed_scores_are_quiet(name: str, tmp_path: Path) -> None:
    text = MIXED.format(loss=SCORES[name])
    assert "loss-input" not in str(warned(tmp_path, program(KEYS, text, INPUTS)))


READ_TWICE = """\
import torch
from torch import nn
import torch.nn.functional as F


class Edges(nn.Module):
    def __init__(self):
        super().__init__()
        self.edge, self.head = nn.Linear(4, 1), nn.Linear(5, 1)

    def forward(self, x):
        edge = torch.sigmoid(self.edge(x))
        OTHER


model = Edges()
x, y = torch.randn(8, 4), torch.rand(8, 1).round()
edge, out = model(x)
loss = F.binary_cross_entropy_with_logits(edge, y) + F.mse_loss(out, y)
loss.backward()
"""


@pytest.mark.parametrize(
    ("other", "edit"),
    [
        ("return edge, self.head(torch.cat([x, edge], 1))",
         "`binary_cross_entropy` for `binary_cross_entropy_with_logits`"),
        ("return edge, self.head(torch.cat([x, x[:, :1]], 1))", "`self.edge(x)`"),
    ],
    ids=["read twice", "the loss alone"],
)  # fmt: skip
def test_probabilities_that_a_layer_reads_stay(
    other: str, edit: str, tmp_path: Path
) -> None:
    findings = rehearsed(tmp_path, READ_TWICE.replace("OTHER", other)).findings
    (finding,) = [each for each in findings if each.code == "loss-input"]
    assert finding.fixes[0].message == edit
