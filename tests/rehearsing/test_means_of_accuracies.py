"""Means of accuracies of unequal batches, where the metric is a function that the
evaluation is handed.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

EVALUATION = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rows = TensorDataset(torch.randn(SIZE, 6), torch.randint(3, (SIZE,)))
loader = DataLoader(rows, 16)
model = nn.Linear(6, 3)


def accuracy(scores, labels):
    return (scores.argmax(dim=1) == labels).float().mean()


def count(scores, labels):
    return (scores.argmax(dim=1) == labels).float().sum()


def largest(scores, labels):
    return scores.max()


BODY
"""

HANDED = """
    def evaluate(model, metric, data):
        kept = []
        with torch.no_grad():
            for x, y in data:
                kept.append(metric(model(x), y).numpy())
        return np.mean(kept)  # here

    def report(model, data, metric=accuracy):
        print(evaluate(model, metric, data))

    report(model, loader)
    report(model, loader, metric=accuracy)
"""
ATTRIBUTE = """
    class Evaluator:
        def __init__(self, model, metric):
            self.model, self.metric = model, metric

        @torch.no_grad()
        def run(self, data):
            total = 0.0
            for x, y in data:
                total += self.metric(self.model(x), y).cpu().item()
            return total / len(data)  # here

    print(Evaluator(model, accuracy).run(loader))
"""

WRONG = {
    "handed on through a function": (HANDED, "mean-of-means"),
    "an attribute of an object": (ATTRIBUTE, "mean-of-means"),
    "a mean of counts": (HANDED.replace("accuracy", "count"), "count-over-batches"),
    "without a graph": (
        HANDED.replace(".numpy()", ".detach().cpu().numpy()"),
        "mean-of-means",
    ),
}


def told(folder: Path, body: str, size: int = 50) -> list[tuple[str, str]]:
    """Codes, and the lines at which something is found."""
    text = EVALUATION.replace("BODY", dedent(body).strip()).replace("SIZE", str(size))
    report = rehearsed(folder, text)
    assert report.complete
    lines = text.splitlines()
    return [
        (found.code, lines[found.span.line - 1] if found.span else "")
        for found in report.findings
    ]


@pytest.mark.parametrize(("body", "code"), WRONG.values(), ids=WRONG)
def test_a_handed_metric_is_read(tmp_path: Path, body: str, code: str) -> None:
    ((other, line),) = told(tmp_path, body)
    assert other == code
    assert line.endswith("# here")


WEIGHTED = HANDED.replace(".numpy()", ".numpy() * len(x)").replace(
    "np.mean(kept)", "np.sum(kept) / len(data.dataset)"
)
RIGHT = {
    "weighted by the sizes": (WEIGHTED, 50),
    "batches of one size": (HANDED, 48),
    "another measure": (HANDED.replace("accuracy", "largest"), 50),
    "another measure at times": (
        HANDED.replace("metric=accuracy)\n", "metric=largest)\n", 2),
        50,
    ),
    "a function of a library": (
        HANDED.replace("accuracy", "torch.nn.functional.cross_entropy"),
        48,
    ),
}


@pytest.mark.parametrize(("body", "size"), RIGHT.values(), ids=RIGHT)
def test_other_means_are_left_alone(tmp_path: Path, body: str, size: int) -> None:
    assert told(tmp_path, body, size) == []
