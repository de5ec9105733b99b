"""Masks of FlexAttention that read a tensor at more positions than it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch.nn.attention.flex_attention import create_block_mask

def make(owner):
    def document(b, h, i, j):
        return {read}
    return document

def build(mod, seq=256):
    return create_block_mask(mod, 1, 1, seq, seq, device="cpu")

def run(total):
    owner = torch.repeat_interleave(torch.arange(3), torch.tensor([40, 60, 92]))
    return build(make(owner), {seq})

run({total})
"""
SAME = "owner[i] == owner[j]"


def find_errors(folder: Path, **parts: str) -> list[Finding]:
    words = {"read": SAME, "seq": "seq=256", "total": "192", **parts}
    findings = rehearsed(folder, PROGRAM.format(**words)).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ({}, "`seq=total` in the call of `build`"),
        ({"seq": "256"}, "`total` in the call of `build`"),
        ({"total": "int(192.0)"}, "`seq=owner.size(0)` in the call of `build`"),
        (
            {"read": "(owner[i] == owner[j]) & (i >= j)"},
            "`seq=total` in the call of `build`",
        ),
    ],
)
def test_a_mask_is_built_for_as_many_positions_as_it_reads(
    parts: dict[str, str], shown: str, tmp_path: Path
) -> None:
    (finding,) = find_errors(tmp_path, **parts)
    assert finding.code == "index-out-of-range"
    assert "indices 0 to 191 of `owner`" in finding.message
    assert finding.fixes[0].message == shown
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "parts",
    [
        {"seq": "seq=192"},
        {"seq": "seq=128"},
        {"seq": "len(owner)"},
        {"read": "owner[i % 192] == owner[j % 192]"},
        {"read": "owner[i.clamp(max=191)] == owner[j.clamp(max=191)]"},
        {"read": "i >= j"},
        {"read": "owner[0] <= i - j"},
    ],
)
def test_positions_that_are_there_are_read(
    parts: dict[str, str], tmp_path: Path
) -> None:
    assert not find_errors(tmp_path, **parts)
