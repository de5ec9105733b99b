"""Maps of labels that are interpolated and cast back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
import torch.nn.functional as F

labels = torch.zeros(1, 1, 20, 20)
labels[..., 5:15, 5:15] = 4
labels[..., 8:12, 8:12] = 7
ids = torch.randint(0, 5, (2, 20, 20))
image = torch.randint(0, 255, (2, 1, 20, 20))
{line}
print(out.shape, out.unique())
"""
WRONG = {
    "written": (
        "out = F.interpolate(labels, size=(30, 30), mode='bilinear',"
        " align_corners=False).long()"
    ),
    "cast": (
        "seg = F.interpolate(ids.unsqueeze(1).float(), scale_factor=2,"
        " mode='bicubic')\nout = seg.squeeze(1).to(torch.int64)"
    ),
    "a volume": (
        "volume = labels.unsqueeze(2).expand(-1, -1, 4, -1, -1)\n"
        "mask = F.interpolate(volume, (8, 30, 30), mode='trilinear')\n"
        "out = mask.int()"
    ),
    "a line": (
        "gt = ids[:, :1].float()\n"
        "out = F.interpolate(gt, 40, mode='linear').long()  # labels\n"
    ),
}
RIGHT = {
    "nearest": "out = F.interpolate(labels, size=(30, 30), mode='nearest').long()",
    "an image": "out = F.interpolate(image.float(), (30, 30), mode='bilinear').int()",
    "a threshold": "mask = F.interpolate((labels > 2).float(), (30, 30),"
    " mode='bilinear')\nout = (mask > 0.5).long()",
    "classes apart": "hot = F.one_hot(ids, 5).permute(0, 3, 1, 2).float()\n"
    "out = F.interpolate(hot, (30, 30), mode='bilinear').argmax(1)  # labels",
    "random": "mask = torch.rand(1, 1, 20, 20)\n"
    "out = F.interpolate(mask, (30, 30), mode='bilinear').long()",
    "kept as floats": "mask = F.interpolate(labels, (30, 30), mode='bilinear')\n"
    "out = mask / 7",
}


@pytest.mark.parametrize("name", WRONG)
def test_an_averaged_map_is_told(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(line=WRONG[name]))
    (finding,) = (f for f in report.findings if f.code == "interpolated-labels")
    fixes = [one.message for one in finding.fixes if one.checked]
    assert fixes == ['`mode="nearest"`']


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_other_maps(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(line=RIGHT[name]))
    assert "interpolated-labels" not in {f.code for f in report.findings}
