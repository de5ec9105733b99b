"""Boxes of a detector that hold a width and a height instead of a corner."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

DETECTOR = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
{imports}

def detect(images, targets):
    for at, target in enumerate(targets):
        boxes = target["boxes"]
        bad = boxes[:, 2:] <= boxes[:, :2]
        if bad.any():
            box = boxes[torch.where(bad.any(dim=1))[0][0]].tolist()
            torch._assert(
                False,
                "All bounding boxes should have positive height and width."
                f" Found invalid box {{box}} for target at index {{at}}.",
            )
    return sum(target["boxes"].mean() for target in targets) * images.mean()

class Images(Dataset):
    def __init__(self):
        self.rows = [[{{"bbox": [60, 40, 20, 10]}}, {{"bbox": [50, 30, 5, 9]}}]] * 8

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        {lines}
        return torch.rand(3, 32, 32), target

def collate(items):
    return torch.stack([image for image, _ in items]), [t for _, t in items]

net = nn.Conv2d(3, 3, 3)
for images, targets in DataLoader(Images(), batch_size=4, collate_fn=collate):
    detect(net(images), targets).backward()
"""
TARGET = 'target = {"boxes": boxes}'
READ = "boxes = torch.tensor([row['bbox'] for row in self.rows[index]]).float()"
LOOP = """\
boxes = []
        for row in self.rows[index]:
            x, y, w, h = row["bbox"]
            boxes.append([x, y, w, h])
        boxes = torch.tensor(boxes).float()
        target = {}
        target["boxes"] = boxes"""


@pytest.mark.parametrize(
    ("imports", "lines", "new"),
    [
        ("", f"{READ}\n        {TARGET}", "boxes[:, 2:] += boxes[:, :2]"),
        (
            "bright = 'no corner'",
            f"{READ}\n        {TARGET}",
            "boxes[:, 2:] += boxes[:, :2]",
        ),
        (
            "import torchvision",
            f"{READ}\n        target = dict(boxes=boxes)",
            f'torchvision.ops.box_convert({READ[8:]}, "xywh", "xyxy")',
        ),
        ("", LOOP, "[x, y, x + w, y + h]"),
        (
            "",
            "boxes = torch.tensor([(x, y, w, h) for x, y, w, h in"
            " [row['bbox'] for row in self.rows[index]]]).float()\n"
            f"        {TARGET}",
            "[x, y, x + w, y + h]",
        ),
    ],
)
def test_boxes_of_sizes_are_made_corners(
    imports: str, lines: str, new: str, tmp_path: Path
) -> None:
    if imports:
        pytest.importorskip("torchvision")
    text = DETECTOR.format(imports=imports, lines=lines)
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.severity == "error")
    assert "takes boxes as corners (x1, y1, x2, y2)" in finding.message
    assert finding.fixes[0].message == f"`{new}`"
    assert finding.fixes[0].checked


def test_corners_in_another_order_have_no_edit(tmp_path: Path) -> None:
    lines = (
        "x1, y1, x2, y2 = 9, 9, 3, 3\n        boxes = torch.tensor([[x1, y1, x2, y2]])"
    )
    text = DETECTOR.format(imports="", lines=f"{lines}\n        {TARGET}")
    finding = rehearsed(tmp_path, text).findings[0]
    assert "takes boxes as corners (x1, y1, x2, y2)" in finding.message
    assert not finding.fixes


def test_corners_are_quiet(tmp_path: Path) -> None:
    lines = f"{READ}\n        boxes[:, 2:] += boxes[:, :2]\n        {TARGET}"
    text = DETECTOR.format(imports="", lines=lines)
    report = rehearsed(tmp_path, text)
    assert not any(f.severity == "error" for f in report.findings)
