"""Equations of einsum with one letter for two dims of different sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch

a, w, b = torch.randn(5, {first}), torch.randn(3, 4, 7), torch.randn(5, 7)
print(torch.einsum("{equation}", {order}).shape)
"""
WRONG = {
    "bilinear": ("bd,rdd,bd->br", "a, w, b", '`"bd,rde,be->br"`'),
    "the weight first": ("kii, ni, ni -> nk", "w, a, b", '`"kij,ni,nj->nk"`'),
    "a letter that is taken": ("nd,edd,nd->ne", "a, w, b", '`"nd,edf,nf->ne"`'),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_second_letter_is_suggested(case: str, tmp_path: Path) -> None:
    equation, order, fix = WRONG[case]
    text = SCRIPT.format(first=4, equation=equation, order=order)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "einsum-sizes"
    assert [one.message for one in finding.fixes if one.checked] == [fix]


OTHERS = {
    "in the output": (4, "bd,rdd,bd->brd", "a, w, b"),
    "no other of the size": (7, "bd,rdd,bd->br", "a, w, b"),
    "not twice": (4, "bd,rde,bd->br", "a, w, b"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_letters_are_not_chosen(case: str, tmp_path: Path) -> None:
    first, equation, order = OTHERS[case]
    text = SCRIPT.format(first=first, equation=equation, order=order)
    (finding,) = rehearsed(tmp_path, text).findings
    assert not any("->" in fix.message for fix in finding.fixes)
