"""Boxes that are put together of centres and sizes, and go to an overlap of corners."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torchvision.ops import {imported}

def corners_of(b):
    return torch.cat([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], dim=1)

def own_iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    sides = (a[:, 2:] - a[:, :2]).prod(1)[:, None] + (b[:, 2:] - b[:, :2]).prod(1)
    return inter / (sides - inter + 1e-6)

def middle_iou(a, b):
    lt = torch.max(a[:, None, :2] - a[:, None, 2:] / 2, b[None, :, :2] - b[None, :, 2:])
    rb = torch.min(a[:, None, :2] + a[:, None, 2:] / 2, b[None, :, :2] + b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    return inter / (a[:, 2:].prod(1)[:, None] + b[:, 2:].prod(1) - inter)

def converting_iou(a, b):
    a, b = corners_of(a), corners_of(b)
    lt, rb = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    return (rb - lt).clamp(min=0).prod(-1)

net = nn.Linear(8, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    out = net(torch.randn(16, 8)).sigmoid()
    {boxes}
    loss = (boxes - torch.rand(16, 4)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    out = net(torch.randn(16, 8)).sigmoid()
    {boxes}
    scores = torch.rand(16)
    {use}
"""
NAMES = "cx, cy, w, h = out.unbind(-1)"
STACKED = f"{NAMES}; boxes = torch.stack([cx, cy, w, h], dim=-1)"
JOINED = (
    "centers, sizes = out[:, :2], out[:, 2:].exp()"
    "; boxes = torch.cat([centers, sizes], dim=-1)"
)
NMS = 'box_convert(boxes, "cxcywh", "xyxy")'
WRONG = {
    "nms": ("box_convert, nms", STACKED, "keep = nms(boxes, scores, 0.5)", NMS),
    "not imported": ("nms", STACKED, "keep = nms(boxes, scores, 0.5)", NMS),
    "scaled":
        ("box_convert, nms", STACKED, "keep = nms(boxes * 64, scores, 0.5)",
         'box_convert(boxes * 64, "cxcywh", "xyxy")'),
    "centres joined":
        ("box_convert, nms", JOINED, "keep = nms(boxes[:8], scores[:8], 0.5)",
         'box_convert(boxes[:8], "cxcywh", "xyxy")'),
    "an overlap of itself":
        ("box_convert, box_iou", STACKED, "overlap = box_iou(boxes, boxes)",
         f"{NMS}` and `{NMS}"),
    "an own overlap":
        ("box_convert, nms", STACKED, "overlap = own_iou(boxes, boxes)",
         f"{NMS}` and `{NMS}"),
    "other boxes": ("box_iou", STACKED, "o = box_iou(boxes, torch.rand(3, 4))", ""),
}  # fmt: skip
CORNERS = (
    f"{NAMES}; boxes = torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], 1)"
)
RIGHT = {
    "corners": (CORNERS, "keep = nms(boxes, scores, 0.5)"),
    "converted": (STACKED, f"keep = nms({NMS}, scores, 0.5)"),
    "by hand": (STACKED, "keep = nms(corners_of(boxes), scores, 0.5)"),
    "in place":
        (STACKED, "boxes[:, :2] -= boxes[:, 2:] / 2; boxes[:, 2:] += boxes[:, :2];"
                  " keep = nms(boxes, scores, 0.5)"),
    "an overlap of centres": (STACKED, "overlap = middle_iou(boxes, boxes)"),
    "an overlap that converts": (STACKED, "overlap = converting_iou(boxes, boxes)"),
    "corners of two": ("boxes = torch.cat([out[:, :2], out[:, 2:]], dim=-1)",
                       "keep = nms(boxes, scores, 0.5)"),
    "corners of a centre":
        ("center, size = out[:, :2], out[:, 2:];"
         " boxes = torch.cat([center - size / 2, center + size / 2], dim=-1)",
         "keep = nms(boxes, scores, 0.5)"),
}  # fmt: skip


OPERATORS = """\
import torch

def box_convert(boxes, in_fmt, out_fmt):
    x, y, w, h = boxes.unbind(-1)
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], dim=-1)

def box_iou(boxes, others):
    upper = torch.max(boxes[:, None, :2], others[:, :2])
    lower = torch.min(boxes[:, None, 2:], others[:, 2:])
    return (lower - upper).clamp(min=0).prod(2)

def nms(boxes, scores, threshold):
    return (box_iou(boxes, boxes) > threshold).float().mul(scores).sum(1).argsort()
"""


def _write_library(folder: Path) -> None:
    """Operators with the names of torchvision's, which not every machine has."""
    (folder / "torchvision").mkdir()
    (folder / "torchvision" / "__init__.py").touch()
    (folder / "torchvision" / "ops.py").write_text(OPERATORS)


@pytest.mark.parametrize("name", WRONG)
def test_centres_and_sizes_are_no_corners(name: str, tmp_path: Path) -> None:
    _write_library(tmp_path)
    imported, boxes, use, edit = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(imported=imported, boxes=boxes, use=use))
    (finding,) = report.findings
    assert finding.code == "box-format"
    assert [fix.message for fix in finding.fixes] == ([f"`{edit}`"] if edit else [])
    assert all(fix.checked for fix in finding.fixes)


@pytest.mark.parametrize("name", RIGHT)
def test_corners_are_quiet(name: str, tmp_path: Path) -> None:
    _write_library(tmp_path)
    boxes, use = RIGHT[name]
    text = SCRIPT.format(imported="box_convert, nms", boxes=boxes, use=use)
    assert not rehearsed(tmp_path, text).findings
