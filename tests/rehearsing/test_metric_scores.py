"""Scores that metrics of scikit-learn refuse, and labels behind predictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import numpy as np
import torch
from torch import nn
from sklearn import metrics
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, roc_auc_score

x = torch.randn(60, 4)
{labels}
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, {classes}))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    {loss}
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    {scores}
print({metric})
"""
THREE = {
    "labels": "y = torch.arange(60) % 3",
    "classes": 3,
    "loss": "loss = nn.functional.cross_entropy(model(x), y)",
}
TWO = {
    "labels": "y = torch.arange(60) % 2",
    "classes": 1,
    "loss": "loss = nn.functional.binary_cross_entropy_with_logits("
    "model(x).squeeze(1), y.float())",
}
OF_THRESHOLD = {
    "labels": "y = (x[:, 0] > 1.0).long()",
    "classes": 2,
    "loss": "loss = nn.functional.cross_entropy(model(x), y)",
}
PROBABILITIES = [
    (
        TWO,
        "probs = torch.sigmoid(model(x)).squeeze(1)",
        "f1_score(y.numpy(), probs.numpy())",
        "probs.numpy() > 0.5",
    ),
    (
        TWO,
        "probs = model(x).sigmoid().view(-1).numpy()",
        "metrics.accuracy_score(y, probs)",
        "probs > 0.5",
    ),
    (
        TWO,
        "probs = []\n    probs.append(torch.sigmoid(model(x)))\n"
        "    probs = torch.cat(probs).squeeze(1).numpy()",
        "f1_score(y, probs)",
        "probs > 0.5",
    ),
]


def list_metrics(folder: Path, parts: dict, scores: str, metric: str) -> list:
    pytest.importorskip("sklearn")
    text = PROGRAM.format(**parts, scores=scores, metric=metric)
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.code == "metric-arguments"]


@pytest.mark.parametrize(
    ("scores", "metric"),
    [
        ("scores = model(x)", "roc_auc_score(y, scores, multi_class='ovr')"),
        (
            "scores = []\n    scores.append(model(x).cpu())\n"
            "    scores = torch.cat(scores).numpy()",
            "roc_auc_score(y.numpy(), scores, multi_class='ovr')",
        ),
        (
            "out = model(x).numpy()",
            "metrics.roc_auc_score(y, out, multi_class='ovo')",
        ),
    ],
)
def test_an_area_of_several_classes_takes_probabilities(
    tmp_path: Path, scores: str, metric: str
) -> None:
    (finding,) = list_metrics(tmp_path, THREE, scores, metric)
    assert "probabilities that add up to 1" in finding.message
    assert [fix.message for fix in finding.fixes] == ["`model(x).softmax(dim=1)`"]


@pytest.mark.parametrize(("parts", "scores", "metric", "new"), PROBABILITIES)
def test_probabilities_are_no_classes(
    tmp_path: Path, parts: dict, scores: str, metric: str, new: str
) -> None:
    (finding,) = list_metrics(tmp_path, parts, scores, metric)
    assert "holds probabilities, which scikit-learn refuses" in finding.message
    assert [fix.message for fix in finding.fixes] == [f"`{new}`"]


@pytest.mark.parametrize(
    ("parts", "scores", "metric"),
    [
        (
            THREE,
            "scores = model(x).softmax(dim=1)",
            "roc_auc_score(y, scores, multi_class='ovr')",
        ),
        (
            THREE,
            "out = model(x)\n    scores = nn.functional.softmax(out, dim=1)",
            "roc_auc_score(y, scores, multi_class='ovr')",
        ),
        (
            TWO,
            "probs = torch.sigmoid(model(x)).squeeze(1)",
            "f1_score(y, (probs > 0.5).numpy())",
        ),
        (
            TWO,
            "probs = torch.sigmoid(model(x)).squeeze(1).numpy()\n"
            "    probs[probs > 0.5] = 1\n    probs[probs <= 0.5] = 0",
            "f1_score(y, probs)",
        ),
        (
            TWO,
            "probs = torch.sigmoid(model(x)).squeeze(1).round().numpy()",
            "f1_score(y, probs)",
        ),
        (
            THREE,
            "pred = model(x).softmax(dim=1).argmax(1)",
            "confusion_matrix(y, pred)",
        ),
        (
            OF_THRESHOLD,
            "y_pred = model(x).argmax(1).numpy()",
            "confusion_matrix(y.numpy(), y_pred)",
        ),
        (
            TWO,
            "probs = torch.sigmoid(model(x)).squeeze(1).numpy()",
            "roc_auc_score(y, probs)",
        ),
    ],
)
def test_scores_that_metrics_take_are_quiet(
    tmp_path: Path, parts: dict, scores: str, metric: str
) -> None:
    assert list_metrics(tmp_path, parts, scores, metric) == []


@pytest.mark.parametrize(
    ("scores", "metric", "new"),
    [
        (
            "y_pred = model(x).argmax(dim=1).numpy()",
            "confusion_matrix(y_pred, y.numpy())",
            "confusion_matrix(y.numpy(), y_pred)",
        ),
        (
            "out = model(x)\n    pred = out.argmax(1)",
            "confusion_matrix(pred, y)",
            "confusion_matrix(y, pred)",
        ),
    ],
)
def test_labels_of_a_threshold_come_first(
    tmp_path: Path, scores: str, metric: str, new: str
) -> None:
    (finding,) = list_metrics(tmp_path, OF_THRESHOLD, scores, metric)
    assert "takes the labels first" in finding.message
    assert [fix.message for fix in finding.fixes] == [f"`{new}`"]
