"""`x[:, index]` with an index for each row: where one element of each is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(
    torch.randn(96, 6), torch.randint(0, 4, (96,)), torch.randn(96)
)
loader = DataLoader(data, batch_size=16)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
target_net = nn.Linear(6, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for x, y, reward in loader:
        scores = net(x)
        {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
WRONG = {
    "weighted by row": (
        "loss = -(scores.log_softmax(1)[:, y] * reward).mean()",
        "`scores.log_softmax(1).gather(1, y.unsqueeze(1)).squeeze(1)`",
    ),
    "against a target": (
        "loss = F.mse_loss(scores[:, y], reward + target_net(x).amax(1).detach())",
        "`scores[torch.arange(len(scores)), y]`",
    ),
    "the mean of all": (
        "log_p = scores.log_softmax(1); loss = -log_p[:, y].mean()",
        "`log_p[torch.arange(len(log_p)), y]`",
    ),
    "of all batches": (
        "kept = [scores.log_softmax(1)[:, y]]; loss = -torch.cat(kept).mean()",
        "",
    ),
    "a column of rows": (
        "loss = ((scores[:, y] - reward.unsqueeze(1)) ** 2).mean()",
        "",
    ),
    "index_select": (
        "loss = (scores.index_select(1, y) * reward).mean()",
        "`scores[torch.arange(len(scores)), y]`",
    ),
}
WRONG |= {
    "a row of indices": (
        "q = scores.gather(1, y.unsqueeze(0)).squeeze(); loss = F.mse_loss(q, reward)",
        "`y.unsqueeze(1)`",
    ),
    "a named row of indices": (
        "at = y[None]\n        loss = (scores.gather(1, at).squeeze() * reward).mean()",
        "`y[:, None]`",
    ),
    "a viewed row of indices": (
        "loss = (torch.gather(scores, -1, y.view(1, -1)).view(-1) * reward).mean()",
        "`y.view(-1, 1)`",
    ),
}
RIGHT = {
    "columns of the first":
        "loss = (scores.gather(1, torch.tensor([[0, 2, 1]])) ** 2).mean()",
    "rows by indices": "loss = scores.gather(0, y.unsqueeze(0)[:, :4]).mean()",
    "an index for rows and columns":
        "loss = -(scores.log_softmax(1)[torch.arange(len(y)), y] * reward).mean()",
    "gather": "loss = -(scores.log_softmax(1).gather(1, y[:, None])[:, 0]).mean()",
    "the diagonal": "loss = -(scores.log_softmax(1)[:, y].diag() * reward).mean()",
    "a diagonal": "loss = -(scores[:, y].diagonal() * reward).mean()",
    "negatives within a batch":
        "loss = F.cross_entropy(scores[:, y] - reward, torch.arange(len(y)))",
    "columns of all": "loss = (scores[:, torch.tensor([0, 2])] ** 2).mean()",
    "another order of columns":
        "loss = (scores[:, torch.randperm(4)] * torch.rand(4)).mean()",
    "another order of a square":
        "loss = ((scores @ scores.t())[:, torch.randperm(16)] * reward).mean()",
    "a softmax over all":
        "loss = ((scores[:, y] * reward).softmax(1) @ scores).mean()",
    "rows": "loss = (scores[y] ** 2).mean()",
    "joined pairs":
        "loss = F.cross_entropy(torch.cat([scores[:, y]]), torch.arange(len(y)))",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_columns_of_all_rows_are_found(name: str, tmp_path: Path) -> None:
    loss, edit = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(loss=loss))
    (finding,) = [f for f in report.findings if f.code == "index-of-all-rows"]
    assert "16 rows" in finding.message
    assert finding.fixes[0].checked
    assert not edit or finding.fixes[0].message == edit


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_meant_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(loss=RIGHT[name]))
    assert "index-of-all-rows" not in [each.code for each in report.findings]


PAIRS = """\
import torch
from torch import nn

n, classes = 16, 4
net = nn.Linear(6, classes)
rows = torch.arange(n)

class Picker:
    def __init__(self):
        self.rows = torch.arange(n, device="cpu")

    def pick(self, scores, chosen):
        return scores[self.rows, chosen]

scores = net(torch.randn(2 * n, 6))
chosen = torch.randint(0, classes, (2 * n,))
few = torch.randint(0, classes, (n // 2,))
picked = {}
picked.sum().backward()
"""


@pytest.mark.parametrize(
    ("picked", "fix"),
    [
        ("scores[rows, chosen]", "`torch.arange(len(chosen))`"),
        ("scores[torch.arange(n), chosen]", "`torch.arange(len(chosen))`"),
        ("scores.log_softmax(1)[rows, chosen]", "`torch.arange(len(chosen))`"),
        ("scores[range(n), chosen]", "`range(len(chosen))`"),
        ("scores[list(range(n)), chosen]", "`range(len(chosen))`"),
        ("Picker().pick(scores, chosen)", '`torch.arange(len(chosen), device="cpu")`'),
    ],
)
def test_there_is_a_row_for_each_choice(tmp_path: Path, picked: str, fix: str) -> None:
    (finding,) = rehearsed(tmp_path, PAIRS.format(picked)).findings
    assert "cannot line up" in finding.message or "range" in fix
    assert [each.message for each in finding.fixes] == [fix]


def test_rows_and_choices_are_not_crossed(tmp_path: Path) -> None:
    text = PAIRS.format("scores[torch.arange(2 * n), few]")
    for finding in rehearsed(tmp_path, text).findings:
        for fix in finding.fixes:
            assert "None" not in fix.message
            assert "arange(1)" not in fix.message


@pytest.mark.parametrize(
    "picked",
    [
        "scores[torch.arange(2 * n), chosen]",
        "scores[rows[:, None], torch.arange(3)]",
        "scores[rows, few[:1]]",
    ],
)
def test_indices_that_line_up_are_right(tmp_path: Path, picked: str) -> None:
    assert not rehearsed(tmp_path, PAIRS.format(picked)).findings


GATHERED = """\
import torch
from torch import nn

critics = nn.ModuleList(nn.Linear(6, 4) for _ in range(2))
states = torch.randn(16, 6)
actions = torch.randint(0, 4, (16,))
{read}
(values - torch.zeros(16)).pow(2).mean().backward()
"""
TWICE = "scores = torch.stack([critic(states) for critic in critics])\n"


@pytest.mark.parametrize(
    ("read", "fix"),
    [
        (
            f"{TWICE}index = actions.unsqueeze(-1)\n"
            "values = torch.gather(scores, -1, index=index).squeeze(-1)",
            "`index.expand(scores.shape[0], -1, -1)`",
        ),
        (
            f"{TWICE}values = scores.gather(2, actions[:, None]).squeeze(2)",
            "`actions[:, None].expand(scores.shape[0], -1, -1)`",
        ),
    ],
)
def test_an_index_is_for_all_scores_that_are_stacked(
    read: str, fix: str, tmp_path: Path
) -> None:
    (finding,) = rehearsed(tmp_path, GATHERED.format(read=read)).findings
    assert [shown.message for shown in finding.fixes] == [fix]


def test_an_index_of_one_for_each_row_gets_the_dim_that_is_gathered(
    tmp_path: Path,
) -> None:
    read = "values = critics[0](states).gather(1, actions).squeeze(1)"
    (finding,) = rehearsed(tmp_path, GATHERED.format(read=read)).findings
    assert finding.fixes[0].message == "`actions.unsqueeze(1)`"


def test_an_expanded_index_is_quiet(tmp_path: Path) -> None:
    read = f"{TWICE}index = actions.expand(2, -1).unsqueeze(-1)\n"
    read += "values = scores.gather(-1, index).squeeze(-1)"
    assert not rehearsed(tmp_path, GATHERED.format(read=read)).findings


SUMS = """\
import torch
from torch import nn

group = torch.randint(0, 5, (14,))
counts, sums, kept = torch.rand(6, 14), torch.zeros(6, 5), torch.randint(0, 9, (4, 3))
states, order = torch.randn(4, 9, 8), torch.randn(14, 6)
"""
UNSTRETCHED = {
    "a row": (
        "sums.scatter_add_(1, group.unsqueeze(0), counts)",
        "`group.unsqueeze(0).expand_as(counts)`",
    ),
    "by keyword": (
        "sums.scatter_add_(dim=1, index=group[None], src=counts)",
        "`group[None].expand_as(counts)`",
    ),
    "a column": (
        "sums = torch.zeros(5, 6).scatter_add(0, group[:, None], order)",
        "`group[:, None].expand_as(order)`",
    ),
    "the largest": (
        "sums = sums.scatter_reduce(1, group.view(1, -1), counts, 'amax')",
        "`group.view(1, -1).expand_as(counts)`",
    ),
    "written": (
        "sums = torch.zeros(14, 6).scatter_(0, torch.randperm(14)[:, None], order)",
        "`torch.randperm(14)[:, None].expand_as(order)`",
    ),
    "of torch": (
        "sums = torch.scatter_add(sums, 1, group[None], counts)",
        "`group[None].expand_as(counts)`",
    ),
    "of a call": (
        "sums = torch.zeros(5, 6)\nsums.scatter_add_(0, group[:, None], order.relu())",
        "`group[:, None].expand(-1, sums.size(1))`",
    ),
    "features that are read": (
        "sums = states.gather(1, kept.unsqueeze(-1))",
        "`kept.unsqueeze(-1).expand(-1, -1, states.size(2))`",
    ),
}
STRETCHED = {
    "expanded": "sums.scatter_add_(1, group.expand_as(counts), counts)",
    "the summed dim": "sums.scatter_add_(1, torch.zeros(6, 1).long(), counts[:, :1])",
    "one row": "sums[:1].scatter_add_(1, group[None], counts[:1])",
    "one column to add": "sums.scatter_add_(0, group[:4, None] % 2, counts[:4, :1])",
    "marks": "sums.scatter_(1, torch.randint(0, 5, (6, 1)), 1.0)",
    "the chosen class": "sums = states.gather(2, kept.repeat(1, 3).unsqueeze(-1))",
    "fewer rows": "sums.scatter_add_(1, group.expand(3, -1), counts)",
}


@pytest.mark.parametrize("case", UNSTRETCHED)
def test_an_index_is_not_stretched(case: str, tmp_path: Path) -> None:
    text, fix = UNSTRETCHED[case]
    (finding,) = rehearsed(tmp_path, SUMS + text + "\nprint(sums)").findings
    assert finding.code == "index-of-all-rows"
    assert [each.message for each in finding.fixes if each.checked] == [fix]


@pytest.mark.parametrize("case", STRETCHED)
def test_indices_of_each_element_are_quiet(case: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, SUMS + STRETCHED[case] + "\nprint(sums)").findings
    assert "index-of-all-rows" not in {each.code for each in findings}
