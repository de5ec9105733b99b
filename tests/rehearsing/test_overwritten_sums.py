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


LISTS = {
    "a list": (
        "rows = []; rows.append(loss.item())",
        "print(sum(rows) / len(rows))",
        "`rows = []` before the loop",
    ),
    "of the same name behind": (
        "rows = list(); rows.extend((out.argmax(1) == y).tolist())",
        "rows = torch.tensor(rows); print(rows.shape)",
        "`rows = list()` before the loop",
    ),
    "two lists": (
        "hits, rows = [], []; hits += (out.argmax(1) == y).tolist(); rows.append(y)",
        "print(len(hits), torch.cat(rows))",
        "`hits, rows = [], []` before the loop",
    ),
    "a list and a count": (
        "hits, count = [], 0; hits.append(out.argmax(1)); count += len(y)",
        "print(torch.cat(hits), count)",
        "`hits, count = [], 0` before the loop",
    ),
}
KEPT_LISTS = {
    "before the loop": ("rows.append(loss.item())", "print(sum(rows))"),
    "read in each batch": (
        "rows = []; rows.append(loss.item()); print(rows)", "print(rows)"
    ),
    "kept in another": ("part = []; part.append(y); rows.append(part)", "print(part)"),
    "a picture of the last batch": (
        "shown = []; shown.append(x[0]); shown.append(out[0])",
        "print(torch.cat(shown))",
    ),
    "steps of a batch": (
        "steps = []\n            for t in range(3):\n"
        "                steps.append(out * t)",
        "print(torch.stack(steps))",
    ),
    "a search": (
        "shown = []; shown.append(x[0])\n            if loss > 0:\n"
        "                break",
        "print(shown)",
    ),
    "named so": ("last_rows = []; last_rows.append(y)", "print(last_rows)"),
    "not read behind": ("shown = []; shown.append(x[0])", "print(loss)"),
    "set again behind": ("rows = []; rows.append(y)", "rows = [1]; print(rows)"),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_each_batch_makes_anew(name: str, tmp_path: Path) -> None:
    inside, behind, fix = LISTS[name]
    inside = inside.replace("; ", "\n            ")
    assert _rehearse(tmp_path, "pass", inside, behind) == [("loss-overwritten", [fix])]


@pytest.mark.parametrize("name", KEPT_LISTS)
def test_a_list_of_each_batch_is_quiet(name: str, tmp_path: Path) -> None:
    inside, behind = KEPT_LISTS[name]
    inside = inside.replace("; ", "\n            ")
    assert not _rehearse(tmp_path, "rows = []", inside, behind)


LOSSES = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
loader = DataLoader(data, 16, shuffle=True)
model = nn.Linear(6, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    total, right = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        INSIDE
        optimizer.step()
    BEHIND
"""
SUM_AS_LOSS = {
    "in a sum of itself": (
        "total = criterion(out, y); total.backward(); total += total.item() * len(y)",
        "print(total / len(data))",
    ),
    "added in words": (
        "total = criterion(out, y)\n        total.backward()\n"
        "        total = total + float(total)",
        "print(total / len(loader))",
    ),
    "a backward pass alone": (
        "total = criterion(out, y)\n        total.backward()",
        "print(total / len(loader))",
    ),
    "means by samples": (
        "total = criterion(out, y)\n        total.backward()",
        "print(total.item() / len(data))",
    ),
}
OWN_LOSS = {
    "another name": (
        "loss = criterion(out, y); loss.backward(); total += loss.item()",
        "print(total / len(loader))",
    ),
    "two terms": (
        "total = criterion(out, y); total += model.weight.norm(); total.backward()",
        "print(total.item())",
    ),
    "the last loss": (
        "total = criterion(out, y); total.backward()",
        "print(total.item())",
    ),
    "not read behind": (
        "total = criterion(out, y); total.backward(); total += total.item()",
        "pass",
    ),
}


@pytest.mark.parametrize("name", SUM_AS_LOSS)
def test_a_sum_that_is_the_loss_is_found(name: str, tmp_path: Path) -> None:
    inside, behind = SUM_AS_LOSS[name]
    text = LOSSES.replace("INSIDE", inside).replace("BEHIND", behind)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "loss-overwritten"
    assert finding.message.startswith("`total` is the sum and the loss of a batch")
    fix = finding.fixes[0]
    assert fix.message == "`loss = criterion(out, y)`"
    assert ("size(0)" in fix.edits[-1].text) == (name == "means by samples")


@pytest.mark.parametrize("name", OWN_LOSS)
def test_a_loss_with_a_name_of_its_own_is_right(name: str, tmp_path: Path) -> None:
    inside, behind = OWN_LOSS[name]
    text = LOSSES.replace("INSIDE", inside).replace("BEHIND", behind)
    codes = [found.code for found in rehearsed(tmp_path, text).findings]
    assert "loss-overwritten" not in codes
