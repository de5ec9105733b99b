"""Batches of a `TensorDataset`: one item stands for all, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.api import rehearse_script
from shapewright.record.report import Report

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split

data = TensorDataset({tensors})
{between}
loader = DataLoader(data, batch_size={size}{options})
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def rehearsed(
    folder: Path,
    tensors: str = "torch.randn(100, 6), torch.randint(0, 3, (100,))",
    between: str = "",
    size: int = 32,
    options: str = "",
) -> Report:
    script = folder / "train.py"
    script.write_text(
        SCRIPT.format(tensors=tensors, between=between, size=size, options=options)
    )
    return rehearse_script(str(script))


@pytest.mark.parametrize(
    "between",
    [
        "",
        "data = Subset(data, range(50))",
        "data, _ = random_split(data, [60, 40])",
        "data = Subset(Subset(data, list(range(10, 80))), list(range(0, 70, 2)))",
    ],
)
def test_a_batch_has_the_shapes_of_its_items(tmp_path: Path, between: str) -> None:
    report = rehearsed(tmp_path, between=between)
    assert report.complete
    assert not report.findings
    text = str(report)
    assert "(32, 6) f32, (32,) i64" in text


def test_it_is_quick_and_reads_few_items(tmp_path: Path) -> None:
    tensors = "torch.randn(90_000, 6), torch.randint(0, 3, (90_000,))"
    report = rehearsed(tmp_path, tensors, size=4096)
    assert report.complete
    assert "(4096, 6) f32" in str(report)
    assert report.trace is not None
    reads = [op for op in report.trace.ops if op.name.endswith("__getitem__")]
    assert len(reads) < 20


def test_labels_whose_values_are_known_are_each_read(tmp_path: Path) -> None:
    labels = "torch.tensor([0, 1, 2] * 10 + [3] + [0] * 69)"
    report = rehearsed(tmp_path, f"torch.randn(100, 6), {labels}")
    assert any("class" in finding.message for finding in report.findings)


def test_a_transform_of_a_kind_of_its_own_is_called(tmp_path: Path) -> None:
    between = (
        "class Wide(TensorDataset):\n"
        "    def __getitem__(self, index):\n"
        "        x, y = super().__getitem__(index)\n"
        "        return torch.cat((x, x[:index % 2])), y\n"
        "data = Wide(*data.tensors)"
    )
    report = rehearsed(tmp_path, between=between)
    assert [finding.code for finding in report.findings] == ["items-do-not-stack"]
