"""Labels of which -1 is a class, where a loss counts classes from 0 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, TensorDataset
    labels = np.array({labels} * 8)
    class Rows(Dataset):
        def __len__(self):
            return len(labels)
        def __getitem__(self, i):
            {item}
    data = {data}
    net = nn.Linear(4, {classes})
    criterion = nn.CrossEntropyLoss()
    for x, y in DataLoader(data, batch_size=8):
        criterion(net(x), y).backward()
    """
WORDS = {
    "labels": [-1, 1, 1, -1], "data": "Rows()", "classes": 2,
    "item": "return torch.randn(4), int(labels[i])",
}  # fmt: skip
TENSORS = "TensorDataset(torch.randn(len(labels), 4), torch.tensor(labels))"


def find_error(folder: Path, words: dict[str, object]):  # type: ignore[no-untyped-def]
    """The only error of a program, or None."""
    report = rehearsed(folder, PROGRAM.format(**{**WORDS, **words}))
    return next((f for f in report.findings if f.severity == "error"), None)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ({}, "`int(labels[i] > 0)`"),
        ({"item": "label = labels[i]; return torch.randn(4), label"},
         "`int(labels[i] > 0)`"),
        ({"data": TENSORS}, "`(torch.tensor(labels) > 0).long()`"),
        ({"labels": [-1, 0, 1, 0], "classes": 3}, "`int(labels[i]) + 1`"),
        ({"labels": [-1, 0, 1, 0], "classes": 3, "data": TENSORS},
         "`(torch.tensor(labels) + 1)`"),
    ],
    ids=["an item", "a name", "a tensor", "three classes", "three, a tensor"],
)  # fmt: skip
def test_a_class_is_not_left_out(
    words: dict[str, object], first: str, tmp_path: Path
) -> None:
    finding = find_error(tmp_path, words)
    notes = [place.message for place in finding.related]
    assert any("-1 is one of" in note for note in notes)
    assert [fix.message for fix in finding.fixes if fix.checked] == [first]


@pytest.mark.parametrize(
    "words",
    [{"labels": [-1, 0, 1, 0]}, {"labels": [-1, 0, 1, 2], "classes": 3}],
    ids=["two classes", "three classes"],
)
def test_minus_one_may_mark_what_is_left_out(
    words: dict[str, object], tmp_path: Path
) -> None:
    finding = find_error(tmp_path, words)
    assert all("-1 is one of" not in place.message for place in finding.related)
    messages = [fix.message for fix in finding.fixes if fix.checked]
    assert any("ignore_index=-1" in message for message in messages)
    assert not any("masked_fill" in message for message in messages)


def test_labels_from_0_are_right(tmp_path: Path) -> None:
    assert find_error(tmp_path, {"labels": [0, 1, 1, 0]}) is None
