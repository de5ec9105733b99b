"""Metrics that have the formula of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn

tp, fp, fn, tn, eps = 8, 2, 4, 6, 1e-8
pred, mask = torch.rand(4, 9) > 0.5, torch.rand(4, 9) > 0.5

class Counts:
    def __init__(self):
        self.true_pos, self.false_pos, self.false_neg = 8, 2, 4

{body}
"""
WRONG = {
    "precision": ("precision = tp / (tp + fn)", "`tp + fp`"),
    "recall of a class": (
        "def recall(c):\n    return c.true_pos / max(c.true_pos + c.false_pos, 1)\n"
        "print(recall(Counts()))",
        "`max(c.true_pos + c.false_neg, 1)`",
    ),
    "specificity": ("specificity = tn / (tn + fn + eps)", "`tn + fp + eps`"),
    "a dict": ('scores = {"fpr": fp / float(fp + tp)}', "`float(fp + tn)`"),
    "F1": (
        "p, r = 0.5, 0.7\nprecision, recall = p, r\n"
        "f1 = precision * recall / (precision + recall + eps)",
        "`2 * precision * recall`",
    ),
    "IoU": (
        "inter = (pred & mask).sum(1)\nunion = pred.sum(1) + mask.sum(1)\n"
        "iou = ((inter + eps) / (union + eps)).mean()",
        "`pred.sum(1) + mask.sum(1) - inter`",
    ),
}
RIGHT = {
    "all of them": (
        "precision = tp / (tp + fp + eps)\nrecall = tp / (tp + fn + eps)\n"
        "specificity = tn / (tn + fp)\nfpr = fp / (fp + tn)\n"
        "accuracy = 100.0 * (tp + tn) / (tp + tn + fp + fn)\n"
        "f1 = 2 * tp / (2 * tp + fp + fn)\ndice = tp / (tp + 0.5 * (fp + fn))\n"
        "iou = tp / (tp + fp + fn)"
    ),
    "a mean of both": (
        "precision, recall = 0.5, 0.7\n"
        "f1 = 2 * precision * recall / (precision + recall)\n"
        "f1_score = 2 * (precision * recall) / (precision + recall)"
    ),
    "areas": (
        "inter = (pred & mask).sum(1)\nunion = pred.sum(1) + mask.sum(1) - inter\n"
        "iou = inter / union\ndice = 2 * inter / (pred.sum(1) + mask.sum(1))\n"
        "union = (pred | mask).sum(1)\niou = inter / union"
    ),
    "curves": "tps = torch.arange(9)\nrecall = tps / tps[-1]",
}


@pytest.mark.parametrize("case", WRONG)
def test_the_formula_of_another_metric_is_found(case: str, tmp_path: Path) -> None:
    body, fix = WRONG[case]
    findings = rehearsed(tmp_path, HEAD.format(body=body)).findings
    assert [finding.code for finding in findings] == ["metric-formula"]
    assert [edit.message for edit in findings[0].fixes] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_formula_is_quiet(case: str, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, HEAD.format(body=RIGHT[case])).findings
