"""Means of batches that are divided by the number of samples, however it is written."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

EVALUATION = """\
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.data import DataLoader, TensorDataset

features = torch.randn(50, 6)
data = TensorDataset(features, torch.randint(3, (50,)))
loader = DataLoader(data, SIZE)
model = nn.Linear(6, 3)
criterion = nn.CrossEntropyLoss()


def loss_of(inputs, labels):
    loss = cross_entropy(model(inputs), labels)
    return loss


def sum_of(inputs, labels):
    loss = cross_entropy(model(inputs), labels)
    return loss * len(labels)


@torch.no_grad()
def evaluate():
BODY


for _ in range(2):
    print(evaluate())
"""


def told(folder: Path, body: str, size: int = 16) -> list[str]:
    """The texts at which means over samples are found in an evaluation."""
    text = EVALUATION.replace("BODY", indent(dedent(body).strip(), "    "))
    report = rehearsed(folder, text.replace("SIZE", str(size)))
    assert report.complete
    assert {each.code for each in report.findings} <= {"mean-over-samples"}
    lines = (folder / "train.py").read_text().splitlines()
    return [lines[each.span.line - 1].strip() for each in report.findings if each.span]


WRONG = {
    "divided within the loop": """
        total, seen = 0.0, 0
        for at, (inputs, labels) in enumerate(loader):
            total += criterion(model(inputs), labels).item()
            seen += len(labels)
            if at % 2 == 1:
                print(total / seen)  # here
                total, seen = 0.0, 0
    """,
    "the mean of what a mask leaves": """
        total, seen = 0.0, 0
        for inputs, labels in loader:
            losses = cross_entropy(model(inputs), labels, reduction="none")
            mask = (labels > 0).float()
            loss = (losses * mask).sum() / mask.sum().clamp(min=1)
            total += loss.item()
            seen += inputs.size(0)
        return total / seen  # here
    """,
    "divided in place": """
        total = 0.0
        for inputs, labels in loader:
            total += criterion(model(inputs), labels).item()
        total /= len(loader.dataset)  # here
        return total
    """,
    "added in full": """
        total = 0.0
        for inputs, labels in loader:
            loss = criterion(model(inputs), labels)
            total = total + loss.data.item()
        return total / len(data)  # here
    """,
    "by the rows of a tensor": """
        total = 0.0
        for inputs, labels in loader:
            total += criterion(model(inputs), labels).item()
        return total / len(features)  # here
    """,
    "a list": """
        losses = []
        for inputs, labels in loader:
            losses.append(criterion(model(inputs), labels).item())
        return sum(losses) / len(loader.dataset)  # here
    """,
    "a list of tensors": """
        losses = []
        for inputs, labels in loader:
            losses.append(criterion(model(inputs), labels))
        return (torch.stack(losses).sum() / len(loader.sampler)).item()  # here
    """,
    "samples that are counted": """
        total, n = 0.0, 0
        for inputs, labels in loader:
            total += float(criterion(model(inputs), labels))
            n += labels.size(0)
        return total / max(n, 1)  # here
    """,
    "an entry": """
        sums = {"loss": 0.0, "n": 0}
        n = 0
        for batch in loader:
            sums["loss"] += criterion(model(batch[0]), batch[1]).item()
            n += batch[0].shape[0]
        return sums["loss"] / n  # here
    """,
    "a tensor": """
        total, n = torch.zeros(()), 0
        for inputs, labels in loader:
            total += loss_of(inputs, labels)
            n += len(labels)
        return total.item() / n  # here
    """,
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_it_is_found_where_it_is_divided(tmp_path: Path, body: str) -> None:
    (found,) = told(tmp_path, body)
    assert found.endswith("# here")


RIGHT = {
    "divided by batches within the loop": """
        total, seen = 0.0, 0
        for at, (inputs, labels) in enumerate(loader):
            total += criterion(model(inputs), labels).item()
            seen += 1
            if at % 2 == 1:
                print(total / seen)
                total, seen = 0.0, 0
    """,
    "sums of what a mask leaves": """
        total, seen = 0.0, 0
        for inputs, labels in loader:
            losses = cross_entropy(model(inputs), labels, reduction="none")
            total += losses.sum().item()
            seen += len(labels)
        return total / seen
    """,
    "means of batches": """
        total, n, losses = 0.0, 0, []
        for inputs, labels in loader:
            loss = criterion(model(inputs), labels).item()
            total += loss
            losses.append(loss)
            n += 1
        total /= len(loader)
        return total, sum(losses) / len(losses), total / n
    """,
    "sums": """
        total = 0.0
        for inputs, labels in loader:
            total += cross_entropy(model(inputs), labels, reduction="sum").item()
        total /= len(loader.dataset)
        return total
    """,
    "means that are multiplied": """
        total, n, losses = 0.0, 0, []
        for inputs, labels in loader:
            loss = criterion(model(inputs), labels)
            total += loss.item() * len(labels)
            losses.append(loss.item() * labels.size(0))
            n += labels.size(0)
        return total / n, sum(losses) / n
    """,
    "a function that gives sums": """
        total, n = 0.0, 0
        for inputs, labels in loader:
            total += sum_of(inputs, labels).item()
            n += len(labels)
        return total / n
    """,
    "one sample after the other": """
        total = 0.0
        for inputs, labels in loader:
            for one, label in zip(inputs, labels):
                total += criterion(model(one), label).item()
        return total / len(loader.dataset)
    """,
    "another total of the same name": """
        total = 0.0
        for inputs, labels in loader:
            total += criterion(model(inputs), labels).item()
        print(total / len(loader))
        total = 0.0
        for inputs, labels in loader:
            total += criterion(model(inputs), labels).item() * len(labels)
        return total / len(loader.dataset)
    """,
    "turns that are counted elsewhere": """
        total, n = 0.0, 0
        for inputs, labels in loader:
            for half in inputs.chunk(2), labels.chunk(2):
                n += 1 / len(half)
            total += criterion(model(inputs), labels).item()
        return total / n
    """,
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_left_alone(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body) == []


def test_the_mean_of_one_sample_is_its_loss(tmp_path: Path) -> None:
    assert told(tmp_path, WRONG["divided in place"], size=1) == []


def test_a_mean_is_weighed_by_what_is_counted(tmp_path: Path) -> None:
    body = """
        total, count = 0.0, 0
        for inputs, labels in loader:
            pairs = torch.cat([inputs, inputs])
            both = torch.cat([labels, labels])
            total += criterion(model(pairs), both).item()
            count += both.size(0)
        return total / count
    """
    text = EVALUATION.replace("BODY", indent(dedent(body).strip(), "    "))
    (finding,) = rehearsed(tmp_path, text.replace("SIZE", "16")).findings
    assert finding.fixes[0].message.endswith(".item() * both.size(0)`")
