"""Indices among filtered rows by which all rows are taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch


def nms(boxes, scores, limit):
    return scores.argsort(descending=True)[:5]


boxes, scores = torch.rand(50, 4), torch.rand(50)
labels = torch.arange(50)


"""
WRONG = {
    "nms": (
        "confident = scores > 0.3\n"
        "keep = nms(boxes[confident], scores[confident], 0.5)\n"
        "print(boxes[keep], scores[keep])",
        "`boxes[confident][keep]`, and 1 more",
    ),
    "named rows, in a function": (
        "def pick(b, s, y):\n"
        "    mask = (s > 0.2) & (y >= 0)\n"
        "    sure, y_sure = s[mask], y[mask]\n"
        "    values, order = sure.topk(5)\n"
        "    return b[mask].shape, b[order], values\n\n"
        "pick(boxes, scores, labels)",
        "`b[mask][order]`",
    ),
    "the best of a class": (
        "for c in range(3):\n"
        "    best = scores[labels == c].argmax()\n"
        "    print(boxes[labels == c].mean(), boxes[best])",
        "`boxes[labels == c][best]`",
    ),
    "arrays": (
        "p = np.random.rand(40)\nnames = np.arange(40)\n"
        "m = p > 0.5\n"
        "first = np.argsort(p[m])[:3]\n"
        "order = np.argsort(p[m])\n"
        "print(p[order], names[m])",
        "`p[m][order]`",
    ),
    "indices of a sort": (
        "m = scores > 0.5\n"
        "order = torch.sort(scores[m], descending=True).indices\n"
        "out = scores[order]",
        "`scores[m][order]`",
    ),
}
RIGHT = {
    "filtered first": "confident = scores > 0.3\n"
    "boxes, scores = boxes[confident], scores[confident]\n"
    "keep = nms(boxes, scores, 0.5)\n"
    "print(boxes[keep], scores[keep])",
    "filtered one by one": "confident = scores > 0.3\n"
    "boxes = boxes[confident]\n"
    "scores = scores[confident]\n"
    "keep = nms(boxes, scores, 0.5)\n"
    "print(boxes[keep])",
    "filtered in between": "confident = scores > 0.3\n"
    "keep = nms(boxes[confident], scores[confident], 0.5)\n"
    "boxes = boxes[confident]\n"
    "print(boxes[keep])",
    "filtered again": "confident = scores > 0.3\n"
    "keep = nms(boxes[confident], scores[confident], 0.5)\n"
    "print(boxes[confident][keep])",
    "places of the mask": "confident = scores > 0.3\n"
    "keep = nms(boxes[confident], scores[confident], 0.5)\n"
    "keep = confident.nonzero().squeeze(1)[keep]\n"
    "print(boxes[keep])",
    "of another tensor": "table = torch.rand(20, 3)\n"
    "m = scores > 0.3\n"
    "order = scores[m].argsort()\n"
    "print(table[order[:5]], scores[m][order])",
    "a part by place": "keep = nms(boxes[:20], scores[:20], 0.5)\nprint(boxes[keep])",
    "values of a sort": "m = scores > 0.3\n"
    "values, _ = scores[m].sort()\n"
    "best = values.argmax()\nprint(values[best])",
    "among all": "order = scores.argsort()\nm = scores > 0.5\n"
    "print(boxes[order], boxes[m])",
}


@pytest.mark.parametrize("name", WRONG)
def test_an_index_of_filtered_rows_is_found(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT + body).findings
    finding = next(f for f in findings if f.code == "filtered-index")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_a_right_one(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert "filtered-index" not in {f.code for f in findings}
