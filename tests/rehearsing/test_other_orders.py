"""What stands in the wrong order, or teaches the other one: pairs, ranks, heads behind
a freezing, models of each epoch, rows of both parts, epochs as metrics.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

PAIRS = """\
import torch
from torch import nn
import torch.nn.functional as F

net = nn.Linear(6, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    a, p, n = (net(torch.randn(8, 6)) for _ in range(3))
{loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DISTANCES = "d_pos, d_neg = (a - p).norm(dim=1), (a - n).norm(dim=1)\n"
SCORES = "pos, neg = (a * p).sum(1), (a * n).sum(1)\n"
LOSSES = {
    "a triplet": (
        DISTANCES + "loss = F.relu(d_neg - d_pos + 0.5).mean()",
        "reversed-mining", "`d_pos - d_neg`",
    ),
    "a pair": (
        SCORES + "loss = F.logsigmoid(pos - neg).mean()",
        "reversed-mining", "`(-F.logsigmoid(pos - neg))`",
    ),
    "a pair, twice turned": (
        SCORES + "loss = -F.logsigmoid(neg - pos).mean()", "reversed-mining", None,
    ),
    "a triplet that is right": (
        DISTANCES + "loss = F.relu(d_pos - d_neg + 0.5).mean()", "", None,
    ),
    "a triplet of scores": (
        SCORES + "loss = F.relu(neg - pos + 0.5).mean()", "", None,
    ),
    "a pair that is right": (
        SCORES + "loss = -F.logsigmoid(pos - neg).mean()", "", None,
    ),
    "a diagonal": (
        "d = torch.diag(torch.rand(8))\nloss = (d * (a @ a.t()) * d).sum()",
        "diagonal-only", "`d @ a @ a.t() @ d`",
    ),
    "a diagonal of rows": (
        "d = torch.diag(torch.rand(8))\nloss = (d @ (a @ a.t()) @ d).sum()", "", None,
    ),
    "a mask of the diagonal": (
        "d = torch.eye(8)\nloss = (d * (a @ a.t())).sum()", "", None,
    ),
    "half an overlap": (
        "q, m = a.sigmoid(), (n > 0).float().detach()\n"
        "both = (q * m).sum()\nloss = 1 - (both + 1) / (q.sum() + m.sum() + 1)",
        "minimized-overlap", "`2 * both`",
    ),
    "an overlap": (
        "q, m = a.sigmoid(), (n > 0).float().detach()\n"
        "both = (q * m).sum()\nloss = 1 - (2 * both + 1) / (q.sum() + m.sum() + 1)",
        "", None,
    ),
    "a union": (
        "q, m = a.sigmoid(), (n > 0).float().detach()\n"
        "both = (q * m).sum()\nloss = 1 - (both + 1) / (q.sum() + m.sum() - both + 1)",
        "", None,
    ),
}  # fmt: skip
SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

X, Y = torch.randn(100, 6), torch.randint(0, 3, (100,))
X_train, y_train = X[:80], Y[:80]
X_test, y_test = X[{start}:], Y[{start}:]
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
{before}
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()))
scheduler = ReduceLROnPlateau(optimizer, patience=1)
for epoch in range(3):
{within}
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = model(X_test)
        val_loss = F.cross_entropy(scores, y_test).item()
    scheduler.step({metric})
best = {best}
print(best, val_loss)
"""
FREEZING = "for p in model.parameters():\n    p.requires_grad = False"
HEAD = "model.head = nn.Linear(4, 3)"
BODY = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 4), nn.Linear(4, 9)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
model = Net()
"""


def fill(
    start: str = "80",
    before: str = "",
    within: str = "pass",
    metric: str = "val_loss",
    best: str = "scores[0].argsort(descending=True)[:2]",
) -> str:
    return SCRIPT.format(
        start=start, before=before, within=indent(within, "    "), metric=metric,
        best=best,
    )  # fmt: skip


SCRIPTS = {
    "rows of both parts": (fill(start="70"), "copies-before-split", "`X[80:]`"),
    "an epoch as a metric": (
        fill(metric="epoch"), "misplaced-argument", "`scheduler.step(val_loss)`",
    ),
    "the smallest scores": (
        fill(best="torch.argsort(scores[0])[:2]"), "metric-direction",
        "`torch.argsort(scores[0], descending=True)`",
    ),
    "a head that is frozen": (
        fill(before=f"{BODY}{HEAD}\n{FREEZING}\nmodel.body.requires_grad_(True)"),
        "no-gradient", f"`{HEAD}` behind the loop",
    ),
    "all right": (fill(), "", None),
    "a head behind": (fill(before=f"{BODY}{FREEZING}\n{HEAD}"), "", None),
    "a head that is thawed": (
        fill(
            before=f"{BODY}{HEAD}\n{FREEZING}\nfor p in model.head.parameters():\n"
            "    p.requires_grad = True"
        ),
        "", None,
    ),
    "the last in order": (fill(best="torch.argsort(scores[0])[-2:]"), "", None),
}  # fmt: skip
EPOCHS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Linear):
    pass

loader = DataLoader(TensorDataset(torch.randn(32, 6), torch.randn(32, 1)), 8)
for {name} in range(3):
    model = Net(6, 1)
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("case", LOSSES)
def test_losses_of_pairs(case: str, tmp_path: Path) -> None:
    body, code, fix = LOSSES[case]
    report = rehearsed(tmp_path, PAIRS.format(loss=indent(body, "    ")))
    codes = [finding.code for finding in report.findings]
    assert codes == ([code] if code else [])
    if fix is not None:
        assert [edit.message for edit in report.findings[0].fixes][:1] == [fix]


@pytest.mark.parametrize("case", SCRIPTS)
def test_orders_of_a_script(case: str, tmp_path: Path) -> None:
    text, code, fix = SCRIPTS[case]
    report = rehearsed(tmp_path, text)
    codes = [f.code for f in report.findings if f.severity == "warning"]
    assert codes == ([code] if code else [])
    if fix is not None:
        assert [edit.message for edit in report.findings[0].fixes][:1] == [fix]


@pytest.mark.parametrize("name", ["epoch", "seed"])
def test_a_model_of_each_epoch(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, EPOCHS.format(name=name))
    codes = [finding.code for finding in report.findings]
    assert codes == ["schedule-restarted"] * (name == "epoch")
    if codes:
        (fix,) = report.findings[0].fixes
        assert fix.message == "`model = Net(6, 1)` in front of the loop"
