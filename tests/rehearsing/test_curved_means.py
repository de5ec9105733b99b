"""Means over batches of exponentials and roots of losses."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

EVALUATION = """\
import math
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 6), torch.randint(3, (48,)))
loader = DataLoader(data, SIZE)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


for inputs, labels in loader:
    optimizer.zero_grad()
    train_loss = TRAINED
    train_loss.backward()
    optimizer.step()


@torch.no_grad()
def evaluate(meter):
BODY


for _ in range(2):
    print(evaluate(Meter()))
"""
TRAINED = "cross_entropy(model(inputs), labels)"


def find(
    folder: Path, body: str, size: int = 16, trained: str = TRAINED
) -> list[tuple[str, str]]:
    """Code and first checked edit of each finding."""
    text = EVALUATION.replace("BODY", indent(dedent(body).strip(), "    "))
    text = text.replace("SIZE", str(size)).replace("TRAINED", trained)
    report = rehearsed(folder, text)
    assert report.complete
    return [
        (finding.code, finding.fixes[0].message if finding.fixes else "")
        for finding in report.findings
    ]


WRONG = {
    "an exponential of numbers": (
        """
        total = 0.0
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels)
            total += math.exp(loss.item())
        return total / len(loader)
        """,
        "`math.exp(total / len(loader))`",
    ),
    "an exponential of tensors": (
        """
        total = 0.0
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels)
            total += torch.exp(loss)
        return total / len(loader)
        """,
        "`torch.exp(total / len(loader))`",
    ),
    "a method, and a division in place": (
        """
        ppl = 0.0
        for inputs, labels in loader:
            ppl += cross_entropy(model(inputs), labels).exp().item()
        ppl /= len(loader)
        return ppl
        """,
        "`ppl = math.exp(ppl / len(loader))`",
    ),
    "a list": (
        """
        values = []
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels)
            perplexity = math.exp(loss.item())
            values.append(perplexity)
        return sum(values) / len(values)
        """,
        "`math.exp(sum(values) / len(values))`",
    ),
    "a meter": (
        """
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels)
            meter.update(math.exp(loss.item()), len(labels))
        return meter.avg
        """,
        "",
    ),
    "weighted": (
        """
        total, count = 0.0, 0
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels)
            total += torch.exp(loss).item() * len(labels)
            count += len(labels)
        return total / count
        """,
        "`math.exp(total / count)`",
    ),
    "a root": (
        """
        rmse = 0.0
        for inputs, labels in loader:
            mse = mse_loss(model(inputs), inputs[:, :3])
            rmse += torch.sqrt(mse).item()
        return rmse / len(loader)
        """,
        "`math.sqrt(rmse / len(loader))`",
    ),
    "a power": (
        """
        rmse = 0.0
        for inputs, labels in loader:
            rmse += mse_loss(model(inputs), inputs[:, :3]).item() ** 0.5
        return rmse / len(loader)
        """,
        "`math.sqrt(rmse / len(loader))`",
    ),
}
RIGHT = {
    "the exponential of the mean": """
        total = 0.0
        for inputs, labels in loader:
            total += cross_entropy(model(inputs), labels).item()
        loss = total / len(loader)
        return loss, math.exp(loss)
    """,
    "looked at for each batch": """
        total = 0.0
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels)
            print(math.exp(loss.item()))
            total += loss.item()
        return total / len(loader)
    """,
    "kept for each batch": """
        values = []
        for inputs, labels in loader:
            loss = cross_entropy(model(inputs), labels)
            values.append(math.exp(loss.item()))
        return values
    """,
    "exponentials of samples": """
        total = 0.0
        for inputs, labels in loader:
            total += torch.exp(model(inputs)).mean().item()
        return total / len(loader)
    """,
    "roots of sums": """
        total = 0.0
        for inputs, labels in loader:
            squares = (model(inputs) - inputs[:, :3]).square().sum(1)
            total += torch.sqrt(squares).mean().item()
        return total / len(loader)
    """,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mean_of_exponentials_or_roots(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    assert find(tmp_path, body) == [("mean-of-means", edit)]


@pytest.mark.parametrize("name", RIGHT)
def test_other_means_are_quiet(tmp_path: Path, name: str) -> None:
    assert find(tmp_path, RIGHT[name]) == []


def test_a_mean_of_one_batch_is_quiet(tmp_path: Path) -> None:
    assert find(tmp_path, WRONG["an exponential of numbers"][0], size=64) == []


def test_the_mean_of_what_is_trained_is_quiet(tmp_path: Path) -> None:
    trained = "torch.sqrt(mse_loss(model(inputs), inputs[:, :3]))"
    assert find(tmp_path, WRONG["a root"][0], trained=trained) == []


MEASURED = """
    def f1_score(labels, chosen, average):  # as that of scikit-learn
        return 1.0
    precision_score = f1_score
    scores, total = [], 0.0
    labels_seen, seen = [], []
    for inputs, labels in loader:
        loss = cross_entropy(model(inputs), labels)
        chosen = model(inputs).argmax(1)
        EACH
    RETURN
"""
MEASURES = {
    "a list": ("scores.append(f1_score(labels, chosen, average='macro'))",
               "return sum(scores) / len(scores)"),
    "a sum": ("total += precision_score(labels, chosen, average='macro')",
              "return total / len(loader)"),
    "under a name": ("auc = f1_score(labels, chosen, average='micro')\n"
                     "        total += auc", "return total / len(loader)"),
}  # fmt: skip
WHOLE = {
    "of all": ("labels_seen += labels.tolist(); seen += chosen.tolist()",
               "return f1_score(labels_seen, seen, average='macro')"),
    "printed": ("print(f1_score(labels, chosen, average='macro'))", "return total"),
    "of samples": (
        "scores.append(f1_score(torch.eye(3)[labels], torch.eye(3)[chosen],"
        " average='samples'))", "return sum(scores) / len(scores)"
    ),
    "of parts of the data": (
        "pass",
        "for part in (0, 1, 2): scores.append(f1_score([part], [1], 'micro'))\n"
        "    return sum(scores) / len(scores)"
    ),
}  # fmt: skip


def measure(folder: Path, each: str, returned: str) -> list[str]:
    """The code of each finding of an evaluation."""
    body = MEASURED.replace("EACH", each).replace("RETURN", returned)
    return [code for code, _ in find(folder, body)]


@pytest.mark.parametrize("name", MEASURES)
def test_means_of_measures_of_batches_are_found(name: str, tmp_path: Path) -> None:
    assert measure(tmp_path, *MEASURES[name]) == ["mean-of-means"]


@pytest.mark.parametrize("name", WHOLE)
def test_measures_of_the_whole_are_right(name: str, tmp_path: Path) -> None:
    assert measure(tmp_path, *WHOLE[name]) == []
