"""Sequences that are turned for layers which take the batch first, and tables of
positions that are laid out for another order of the dims than they are cut by.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

LAYERS = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, batch_first=True):
        super().__init__()
        self.attention = {layer}

    def forward(self, x, mask):
        return {call}


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(30, 16)
        self.block = Block(16)
        self.head = nn.Linear(16, 4)
        self.register_buffer("mask", torch.full((9, 9), float("-inf")).triu(1))

    def forward(self, ids):
        x = self.table(ids)
        x = {before}
        x = self.block(x, self.mask)
        x = {behind}
        return self.head(x[:, -1])


net = Tower()
for _ in range(2):
    net(torch.randint(30, (6, 9))).mean().backward()
"""
PLAIN = "nn.MultiheadAttention(width, 2, batch_first=True)"
OF_NAME = "nn.MultiheadAttention(width, 2, batch_first=batch_first)"
ENCODER = "nn.TransformerEncoderLayer(width, 2, 32, batch_first=True)"
ATTEND = "self.attention(x, x, x, attn_mask=mask)[0]"
ENCODE = "self.attention(x, src_mask=mask)"
PERMUTED = "x.permute(1, 0, 2)"
TURNED = "x.transpose(0, 1)"


def _find_errors(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("layer", "call", "turn"),
    [
        (PLAIN, ATTEND, PERMUTED),
        (OF_NAME, ATTEND, PERMUTED),
        (OF_NAME, ATTEND, TURNED),
        (ENCODER, ENCODE, TURNED),
    ],
)
def test_the_sequence_keeps_its_layout(
    layer: str, call: str, turn: str, tmp_path: Path
) -> None:
    text = LAYERS.format(layer=layer, call=call, before=turn, behind=turn)
    (finding,) = _find_errors(tmp_path, text)
    assert [fix.message for fix in finding.fixes] == [
        f"without `{turn}`, and without the same behind the layers",
        "`batch_first=False`",
    ]
    assert [edit.text for edit in finding.fixes[0].edits] == ["", ""]
    assert all(fix.checked for fix in finding.fixes)
    assert any("takes dim 1 for time" in place.message for place in finding.related)


def test_a_mask_of_another_length_is_no_matter_of_the_layout(tmp_path: Path) -> None:
    text = LAYERS.format(layer=PLAIN, call=ATTEND, before=PERMUTED, behind=PERMUTED)
    text = text.replace("(9, 9)", "(12, 12)")
    for finding in _find_errors(tmp_path, text):
        assert all("behind the layers" not in fix.message for fix in finding.fixes)


@pytest.mark.parametrize("turn", [PERMUTED, TURNED])
def test_layers_with_the_time_first_are_quiet(turn: str, tmp_path: Path) -> None:
    layer = "nn.MultiheadAttention(width, 2)"
    text = LAYERS.format(layer=layer, call=ATTEND, before=turn, behind=turn)
    assert not _find_errors(tmp_path, text)


TABLE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Positions(nn.Module):
    def __init__(self, width, most=60):
        super().__init__()
        angles = torch.arange(most).unsqueeze(1) * torch.ones(width)
        {made}

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(3, 16)
        self.positions = Positions(16)
        self.core = nn.TransformerEncoderLayer(16, 2, 32{flag})
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        x = self.inputs(x){turn}
        return self.head(self.core(self.positions(x)).{mean})


net = Net()
for x, in DataLoader(TensorDataset(torch.randn(24, 10, 3)), batch_size=8):
    net(x).mean().backward()
"""
BUFFER = 'self.register_buffer("pe", angles.sin().unsqueeze(0))'
NAMED = 'pe = angles.sin().unsqueeze(0)\n        self.register_buffer("pe", pe)'
LEARNED = "self.pe = nn.Parameter(torch.zeros(1, most, width))"


@pytest.mark.parametrize(
    ("made", "edit"),
    [
        (BUFFER, "`angles.sin().unsqueeze(1)`"),
        (NAMED, "`angles.sin().unsqueeze(1)`"),
        (LEARNED, "`self.pe.transpose(0, 1)`"),
    ],
)
def test_a_table_gets_its_rows_in_dim_0(made: str, edit: str, tmp_path: Path) -> None:
    text = TABLE.format(made=made, flag="", turn=".transpose(0, 1)", mean="mean(0)")
    (finding,) = _find_errors(tmp_path, text)
    assert [fix.message for fix in finding.fixes] == [edit]
    assert finding.fixes[0].checked


def test_a_table_for_layers_with_the_batch_first_is_cut_by_dim_1(
    tmp_path: Path,
) -> None:
    flag = ", batch_first=True"
    text = TABLE.format(made=BUFFER, flag=flag, turn="", mean="mean(1)")
    (finding,) = _find_errors(tmp_path, text)
    assert [fix.message for fix in finding.fixes] == ["`self.pe[:, : x.size(1)]`"]
    assert finding.fixes[0].checked


def test_a_batch_that_nothing_turned_has_its_table_as_it_is(tmp_path: Path) -> None:
    text = TABLE.format(made=BUFFER, flag="", turn="", mean="mean(1)")
    for finding in _find_errors(tmp_path, text):
        assert all("unsqueeze(1)" not in fix.message for fix in finding.fixes)


@pytest.mark.parametrize(
    ("made", "flag", "turn"),
    [
        (BUFFER.replace("unsqueeze(0)", "unsqueeze(1)"), "", ".transpose(0, 1)"),
        (BUFFER.replace("(0))", "(0).transpose(0, 1))"), "", ".transpose(0, 1)"),
    ],
)
def test_a_table_that_fits_is_quiet(
    made: str, flag: str, turn: str, tmp_path: Path
) -> None:
    text = TABLE.format(made=made, flag=flag, turn=turn, mean="mean(0)")
    assert not _find_errors(tmp_path, text)
