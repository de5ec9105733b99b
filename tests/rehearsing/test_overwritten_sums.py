"""Numbers that each batch assigns anew, and that are divided as if they were sums."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
    loader = DataLoader(data, 16, shuffle=True)
    sizes = {{name: len(part) for name, part in [("train", data)]}}
    model = nn.Linear(6, 3)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        {start}
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {inside}
        {behind}
"""
WRONG = {
    "the mean of a batch": (
        "total = 0.0",
        "total = loss.item()",
        "print(total / len(data))",
        "`total += loss.item() * x.size(0)`",
    ),
    "by the sizes of the parts": (
        "total, right = 0.0, 0",
        "total = loss.item()",
        "print(total / sizes['train'])",
        "`total += loss.item() * x.size(0)`",
    ),
    "by the number of batches": (
        "total = 0.0",
        "total = loss.item()",
        "print(total / len(loader))",
        "`total += loss.item()`",
    ),
    "the hits of a batch": (
        "right, count = 0, 0",
        "right = (out.argmax(1) == y).sum().item(); count += len(y)",
        "print(100 * right / count)",
        "`right += (out.argmax(1) == y).sum().item()`",
    ),
}
RIGHT = {
    "a sum": ("total = 0.0", "total += loss.item()", "print(total / len(loader))"),
    "by the last batch": (
        "right = 0",
        "right = (out.argmax(1) == y).sum().item(); count = len(y)",
        "print(right / count)",
    ),
    "by the size of the last batch": (
        "right = 0",
        "right = (out.argmax(1) == y).sum().item()",
        "print(right / len(y))",
    ),
    "read in the loop": (
        "total, mean = 0.0, 0.0",
        "last = loss.item(); total += last; mean = total / 5",
        "print(mean)",
    ),
    "the last loss": ("last = 0.0", "last = loss.item()", "print(last)"),
    "the last loss of several epochs": (
        "last = 0.0", "last = loss.item()", "print(last / (epoch + 1))"
    ),
}  # fmt: skip


def _rehearse(folder: Path, *parts: str) -> list[tuple[str, list[str]]]:
    """The findings of a loop with these parts, and their fixes."""
    start, inside, behind = parts
    text = TEXT.format(start=start, inside=inside, behind=behind)
    findings = rehearsed(folder, text).findings
    return [(each.code, [fix.message for fix in each.fixes]) for each in findings]


@pytest.mark.parametrize("name", WRONG)
def test_the_number_of_the_last_batch_is_no_sum(name: str, tmp_path: Path) -> None:
    *parts, fix = WRONG[name]
    assert _rehearse(tmp_path, *parts) == [("loss-overwritten", [fix])]


@pytest.mark.parametrize("name", RIGHT)
def test_numbers_of_the_last_batch_are_right(name: str, tmp_path: Path) -> None:
    assert _rehearse(tmp_path, *RIGHT[name]) == []


RESET = {
    "a count": (
        "",
        "right = 0; right += (out.argmax(1) == y).sum().item()",
        "print(right / len(data))",
        "`right = 0` before the loop",
    ),
    "two counts": (
        "",
        "right, count = 0, 0; right += (out.argmax(1) == y).sum().item();"
        " count += len(y)",
        "print(right / count)",
        "`right, count = 0, 0` before the loop",
    ),
}
KEPT = {
    "read in each batch": (
        "",
        "right = 0; right += (out.argmax(1) == y).sum().item(); print(right)",
        "print(right)",
    ),
    "set again behind": (
        "",
        "right = 0; right += (out.argmax(1) == y).sum().item()",
        "right = 1; print(right)",
    ),
}


@pytest.mark.parametrize("name", RESET)
def test_a_sum_that_each_batch_sets_to_zero(name: str, tmp_path: Path) -> None:
    start, inside, behind, fix = RESET[name]
    inside = inside.replace("; ", "\n            ")
    parts = start or "pass", inside, behind
    assert _rehearse(tmp_path, *parts) == [("loss-overwritten", [fix])]


@pytest.mark.parametrize("name", KEPT)
def test_a_count_of_each_batch_is_quiet(name: str, tmp_path: Path) -> None:
    start, inside, behind = KEPT[name]
    inside = inside.replace("; ", "\n            ")
    assert not _rehearse(tmp_path, start or "pass", inside, behind)
