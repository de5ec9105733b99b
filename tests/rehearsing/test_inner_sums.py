"""Accuracies of several steps of each batch, divided by the number of batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

T = 3
data = TensorDataset(torch.randn(64, 6), torch.randint(3, (64, T)))
loader = DataLoader(data, 8, shuffle=True)
heads = nn.ModuleList([nn.Linear(6, 3) for _ in range(T)])
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(heads.parameters(), lr=0.1)

def measure_accuracy(logits, labels):
    return (logits.argmax(1) == labels).float().mean()

def run():
    {start}
    for x, y in loader:
        loss, accs = 0.0, []
        for t in range(T):
            logits = heads[t](x)
            loss = loss + criterion(logits, y[:, t])
            accs.append(measure_accuracy(logits, y[:, t]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
{inner}
    return {result}

print(run())
"""
START = "total_acc = 0.0"
TABLE = "total_acc = {k: 0.0 for k in range(T)}"
WRONG = {
    "a range": (
        START,
        "for t in range(T):\n    total_acc += measure_accuracy(heads[t](x), y[:, t])",
        "total_acc / len(loader)",
        "`(len(loader) * T)`",
    ),
    "a list of results": (
        START,
        "for a in accs:\n    total_acc += a.item()",
        "total_acc / len(loader)",
        "",
    ),
    "a mean of matches": (
        START,
        "for t in range(T):\n    acc = (heads[t](x).argmax(1) == y[:, t])"
        ".float().mean()\n    total_acc += acc.item()",
        "total_acc / len(loader)",
        "`(len(loader) * T)`",
    ),
    "a table": (
        TABLE,
        "for i, a in enumerate(accs):\n    total_acc[i] += a.item()",
        "sum(total_acc.values()) / len(loader)",
        "`(len(loader) * len(total_acc))`",
    ),
}
RIGHT = {
    "divided by both": (
        START,
        "for a in accs:\n    total_acc += a.item()",
        "total_acc / (len(loader) * T)",
    ),
    "divided twice": (
        START,
        "for a in accs:\n    total_acc += a.item()",
        "total_acc / len(loader) / T",
    ),
    "divided before": (
        START,
        "for a in accs:\n    total_acc += a.item() / T",
        "total_acc / len(loader)",
    ),
    "each entry alone": (
        TABLE,
        "for i, a in enumerate(accs):\n    total_acc[i] += a.item()",
        "{k: v / len(loader) for k, v in total_acc.items()}",
    ),
    "one in each batch": (
        START,
        "total_acc += torch.stack(accs).mean().item()",
        "total_acc / len(loader)",
    ),
    "losses": (
        "total = 0.0",
        "for a in accs:\n    total += a.item()",
        "total / len(loader)",
    ),
}


def _write(start: str, inner: str, result: str) -> str:
    rows = "\n".join(f"        {row}" for row in inner.split("\n"))
    return TEXT.replace("{start}", start).replace("{inner}", rows).replace(
        "{result}", result
    )  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_several_accuracies_of_a_batch_are_found(name: str, tmp_path: Path) -> None:
    start, inner, result, edit = WRONG[name]
    report = rehearsed(tmp_path, _write(start, inner, result))
    (finding,) = [f for f in report.findings if f.code == "count-over-batches"]
    assert edit in [fix.message for fix in finding.fixes if fix.checked] or not edit


@pytest.mark.parametrize("name", RIGHT)
def test_one_accuracy_of_each_batch_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, _write(*RIGHT[name]))
    assert "count-over-batches" not in [f.code for f in report.findings]
