"""Scores and labels in a training: which are compared, paired, averaged, stepped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.hidden = nn.Linear(16, 32)
        self.head = nn.Linear(32, {classes})

    def forward(self, x):
        h = F.relu(self.hidden(self.embed(x))){pool}
        return {output}


data = TensorDataset(torch.randint(0, 50, (70, 12)), {target})
loader = DataLoader(data, batch_size=16, shuffle=True)
model = Net()
criterion = {criterion}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion({given})
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            {predict}
            correct += (pred == y).sum().item()
    print(correct / len(data))
"""
PLAIN = {
    "classes": "5", "pool": ".mean(1)", "output": "self.head(h)",
    "target": "torch.randint(0, 5, (70,))", "criterion": "nn.CrossEntropyLoss()",
    "given": "out, y", "predict": "pred = model(x).argmax(1)",
}  # fmt: skip
WRONG = {
    "values of max": (
        {"predict": "pred, _ = torch.max(model(x), 1)"},
        "compared-scores", "`_, pred = torch.max(model(x), 1)`",
    ),
    "logits": (
        {"predict": "pred = model(x)[:, 0]"},
        "compared-scores", "",
    ),
    "along the batch": (
        {"predict": "pred = model(x).argmax(0)[0]"},
        "wrong-axis", "",
    ),
    "averaged over the batch": (
        {"pool": ".mean(0)[:1].expand(len(x), -1)"},
        "batch-axis", "",
    ),
    "relu before the loss": (
        {"output": "F.relu(self.head(h))"}, "loss-input", "`self.head(h)`",
    ),
    "one target for several outputs": (
        {"classes": "3", "target": "torch.rand(70, 1)", "criterion": "nn.MSELoss()",
         "predict": "pred = model(x).round()[:, :1]"},
        "outer-broadcast", "",
    ),
    "sigmoid of a relu": (
        {"classes": "1", "output": "torch.sigmoid(F.relu(self.head(h)))[:, 0]",
         "target": "torch.rand(70).round()", "criterion": "nn.BCELoss()",
         "predict": "pred = model(x).round()"},
        "loss-input", "",
    ),
    "rows in two orders": (
        {"classes": "50", "pool": "", "output": "self.head(h).transpose(0, 1)",
         "target": "torch.randint(0, 50, (70, 12))",
         "given": "out.reshape(-1, 50), y.view(-1)",
         "predict": "pred = model(x).transpose(0, 1).argmax(2)"},
        "paired-rows", "`y.transpose(0, 1).reshape(-1)`",
    ),
}  # fmt: skip
RIGHT = {
    "as it should be": {},
    "indices of max": {"predict": "_, pred = torch.max(model(x), 1)"},
    "item 1 of max": {"predict": "pred = torch.max(model(x), 1)[1]"},
    "a threshold": {
        "classes": "1", "output": "self.head(h)[:, 0]",
        "target": "torch.rand(70).round()", "criterion": "nn.BCEWithLogitsLoss()",
        "predict": "pred = (torch.sigmoid(model(x)) > 0.5).float()",
    },
    "rounded, integer labels": {
        "classes": "1", "output": "self.head(h)[:, 0]",
        "target": "torch.randint(0, 2, (70,))",
        "criterion": "nn.BCEWithLogitsLoss()", "given": "out, y.float()",
        "predict": "pred = torch.sigmoid(model(x)).round()",
    },
    "one order": {
        "classes": "50", "pool": "", "target": "torch.randint(0, 50, (70, 12))",
        "given": "out.view(-1, 50), y.view(-1)", "predict": "pred = model(x).argmax(2)",
    },
    "both turned": {
        "classes": "50", "pool": "", "output": "self.head(h).transpose(0, 1)",
        "target": "torch.randint(0, 50, (70, 12))",
        "given": "out.reshape(-1, 50), y.t().reshape(-1)",
        "predict": "pred = model(x).transpose(0, 1).argmax(2)",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_it_is_found(name: str, tmp_path: Path) -> None:
    change, code, edit = WRONG[name]
    report = rehearsed(tmp_path, PROGRAM.format(**{**PLAIN, **change}))
    assert [each.code for each in report.findings] == [code]
    fixes = report.findings[0].fixes
    assert not edit or fixes[0].message == edit


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(**{**PLAIN, **RIGHT[name]}))
    assert [each.message for each in report.findings] == []
