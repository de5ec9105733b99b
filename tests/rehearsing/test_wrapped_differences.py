"""Differences of bytes that are used as if they could be negative."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

frames = torch.randint(0, 256, (64, 5, 8), dtype=torch.uint8)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(frames), batch_size=16):
{body}
    loss = model(z).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "float after": "z = (x[:, 1] - x[:, 0]).float() / 255",
    "all steps": "z = (x[:, 1:] - x[:, :-1]).to(torch.float32)",
    "an amount": "z = (x[:, 1] - x[:, 0]).abs().float()",
    "divided": "z = torch.sub(x[:, 1], x[:, 0]) / 255.0",
    "diff": "z = x.diff(dim=1).float()",
    "stacked": "z = torch.stack([x[:, 1] - x[:, 0], x[:, 2] - x[:, 1]]).float()",
}
RIGHT = {
    "float before": "z = (x[:, 1].float() - x[:, 0].float()) / 255",
    "int before": "z = (x[:, 1].int() - x[:, 0].int()).float()",
    "a negative": "z = (255 - x[:, 0]).float()",
    "below a maximum": "z = (x.amax(1, keepdim=True) - x).float()",
    "above a minimum": "z = (x - x.min()).float()",
    "masks": "z = ((x[:, 0] > 9).byte() - (x[:, 0] > 99).byte()).float()",
    "bytes remain": "d = x[:, 1] - x[:, 0]\nz = (d > 128).float()",
}


def find_codes(folder: Path, body: str) -> list[str]:
    report = rehearsed(folder, SCRIPT.format(body=indent(body, "    ")))
    assert report.complete, report
    return [f.code for f in report.findings if f.code == "wrapped-difference"]


@pytest.mark.parametrize("name", WRONG)
def test_a_difference_of_bytes_is_found(name: str, tmp_path: Path) -> None:
    assert set(find_codes(tmp_path, WRONG[name])) == {"wrapped-difference"}


@pytest.mark.parametrize("name", RIGHT)
def test_differences_with_a_known_sign_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, RIGHT[name]) == []


def test_the_edit_makes_floats_first(tmp_path: Path) -> None:
    text = SCRIPT.format(body=indent(WRONG["float after"], "    "))
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == "`.float()` for both"
    assert finding.fixes[0].checked


INVERTED = {
    "of a comparison": "keep = (x[:, 0, :1] > 99).long()\nz = x[:, 0].float() * ~keep",
    "viewed": "keep = (x[:, 0, 0] > 99).int()\n"
    "z = x[:, 0].float() * (~keep).view(-1, 1)",
    "bytes": "keep = (x[:, 0, :1] > 99).byte()\nz = x[:, 0].float() * ~keep",
    "a function": "keep = (x[:, 0, :1] > 99).long()\n"
    "z = torch.mul(x[:, 0].float(), torch.bitwise_not(keep))",
}
INVERTED_RIGHT = {
    "truths": "keep = x[:, 0, :1] > 99\nz = x[:, 0].float() * ~keep",
    "one minus": "keep = (x[:, 0, :1] > 99).long()\nz = x[:, 0].float() * (1 - keep)",
    "bits": "bits = x[:, 0].long()\nz = x[:, 0].float() * ((~bits & 7) == 7)",
    "an index": "i = (x[:, 0, 0] > 99).long()\nz = x[:, 0].float()[:, ~i[:8]]",
}


@pytest.mark.parametrize("name", INVERTED)
def test_an_inverted_mask_of_integers_is_found(name: str, tmp_path: Path) -> None:
    body = indent(INVERTED[name], "    ")
    report = rehearsed(tmp_path, SCRIPT.format(body=body))
    (finding,) = (f for f in report.findings if f.code == "inverted-integers")
    assert f"makes {254 if name == 'bytes' else -2} of 1" in finding.message
    if name != "a function":
        assert finding.fixes[0].checked
        assert finding.fixes[0].edits[0].text == ".bool()"


@pytest.mark.parametrize("name", INVERTED_RIGHT)
def test_other_inversions_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path, SCRIPT.format(body=indent(INVERTED_RIGHT[name], "    "))
    )
    assert [f for f in report.findings if f.code == "inverted-integers"] == []
