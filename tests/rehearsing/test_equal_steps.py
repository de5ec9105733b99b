"""Decoders whose input is the same at every position, and those whose is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import EQUAL_STEPS
from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.read, self.out = nn.Linear(5, 8), nn.Linear(8, 5)
            self.ids, self.place = nn.Embedding(4, 8), nn.Embedding(7, 8)
            self.queries = nn.Parameter(torch.randn(7, 8))
            layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True{layer})
            self.decoder = nn.TransformerDecoder(layer, 2)
        def forward(self, memory, tgt):
            {tgt}
            return self.out(self.decoder(tgt, memory{mask}))
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(2):
        memory, y = torch.randn(6, 9, 8), torch.randn(6, 7, 5)
        {zeros}
        loss = nn.functional.mse_loss(net(memory, {given}), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """
CAUSAL = ", tgt_mask=torch.full((7, 7), float('-inf')).triu(1)"


@pytest.mark.parametrize(
    ("values", "edit"),
    [
        ({"given": "torch.zeros_like(y)"}, "`y[:, :-1]` here, and `y[:, 1:]`"),
        ({"given": "zeros", "zeros": "zeros = torch.ones(6, 7, 5)",
          "layer": ", norm_first=True"}, "`y[:, :-1]` here, and `y[:, 1:]`"),
        ({"given": "y * 0", "tgt": "tgt = torch.zeros(*tgt.shape[:2], 8)"}, ""),
        ({"given": "torch.full((6, 7), 2)", "tgt": "tgt = self.ids(tgt)"}, ""),
    ],
    ids=["zeros_like", "ones", "inside", "start tokens"],
)  # fmt: skip
@pytest.mark.parametrize("mask", ["", CAUSAL])
def test_equal_steps(
    values: dict[str, str], edit: str, mask: str, tmp_path: Path
) -> None:
    (finding,) = _find(tmp_path, {"mask": mask, **values})
    assert "the 7 positions that the decoder begins with are all alike" in finding[0]
    # a mask of 7 steps does not fit the 6 of the edit
    assert finding[1].startswith(edit) if edit and not mask else not finding[1]


@pytest.mark.parametrize(
    "values",
    [
        {"given": "y"},
        {"given": "torch.zeros_like(y)",
         "tgt": "tgt = self.read(tgt) + self.place.weight"},
        {"given": "y", "tgt": "tgt = torch.zeros(6, 7, 8) + self.queries"},
        {"given": "y", "tgt": "tgt = self.queries.expand(6, 7, 8)"},
        {"given": "shifted",
         "zeros": "shifted = torch.zeros_like(y); shifted[:, 1:] = y[:, :-1]"},
        {"given": "torch.zeros_like(y)",
         "mask": ", memory_mask=torch.ones(7, 9).triu(1).bool()"},
        {"given": "torch.cat([y[:, :3], torch.zeros(6, 4, 5)], 1)"},
        {"given": "torch.zeros(6, 1, 5)", "zeros": "y = y[:, :1]"},
    ],
    ids=["targets", "positions", "queries added", "queries", "written", "memory mask",
         "known steps first", "one query"],
)  # fmt: skip
def test_other_steps(values: dict[str, str], tmp_path: Path) -> None:
    assert _find(tmp_path, values) == []


def _find(tmp_path: Path, values: dict[str, str]) -> list[tuple[str, str]]:
    """Return the warnings of a program, each with its edit that helped."""
    lines = {"layer": "", "tgt": "tgt = self.read(tgt)", "mask": "", "zeros": "pass"}
    report = rehearsed(tmp_path, PROGRAM.format(**{**lines, **values}))
    return [
        (f.message, next((fix.message for fix in f.fixes if fix.checked), ""))
        for f in report.findings
        if f.code == EQUAL_STEPS
    ]
