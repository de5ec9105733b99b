"""Masks that hide padding along the queries as well as along the keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, ids):
        pad, keep = ids == 0, ids != 0
        mask = MASK
        x = self.embed(ids)
        x = ATTENDED
        return self.head(x.mean(1))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    ids, y = torch.randint(0, 20, (4, 6)), torch.randint(3, (4,))
    loss = F.cross_entropy(net(ids), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LAYER = "self.attention(x, x, x, attn_mask=mask.repeat_interleave(2, 0))[0]"
NO_WEIGHTS = LAYER.replace(", attn_mask", ", need_weights=False, attn_mask")
SCORES = "x @ x.transpose(1, 2)"
FILL = f'({SCORES}).masked_fill(mask, float("-inf")).softmax(-1) @ x'
TRUTHS = f"F.softmax(({SCORES}).masked_fill(mask == 0, -torch.inf), dim=-1) @ x"
EITHER = "pad.unsqueeze(1) | pad.unsqueeze(2)"
FUSED = (
    "F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], ~mask[:, None])"
)
WRONG = {
    "a layer": (EITHER, LAYER, "pad.unsqueeze(1).expand(-1, pad.size(-1)"),
    "a function": (
        "torch.logical_or(pad[:, :, None], pad[:, None])", FILL, "`pad[:, None]`"
    ),
    "not both": ("~(keep[:, None] & keep[..., None])", FILL, "`keep[:, None]`"),
    "a product": (
        "keep.unsqueeze(1) * keep.unsqueeze(2) == 0", FILL, "`keep.unsqueeze(1)`"
    ),
    "an outer product": (
        "keep.float().unsqueeze(2) @ keep.float().unsqueeze(1)",
        TRUTHS,
        "`keep.float().unsqueeze(1)`",
    ),
    "with a causal mask": (
        "torch.ones(6, 6).triu(1).bool() | pad.unsqueeze(1) | pad.unsqueeze(2)",
        FILL,
        "`(torch.ones(6, 6).triu(1).bool() | pad.unsqueeze(1))`",
    ),
}  # fmt: skip
RIGHT = {
    "columns": ("pad.unsqueeze(1).expand(-1, 6, -1)", LAYER),
    "columns and the future": (
        "torch.ones(6, 6).triu(1).bool() | pad.unsqueeze(1)", FILL
    ),
    "a finite number": (EITHER, FILL.replace('float("-inf")', "-1e9")),
    "one entry is kept": (
        f"({EITHER}) & ~torch.eye(6, dtype=torch.bool)", FILL
    ),
    "without weights": (EITHER, NO_WEIGHTS),
    "the fused call": (EITHER, FUSED),
    "replaced behind it": (
        EITHER, FILL.replace(".softmax(-1)", ".softmax(-1).masked_fill(mask, 0.0)")
    ),
    "nan_to_num": (EITHER, FILL.replace(".softmax(-1)", ".softmax(-1).nan_to_num()")),
    "either is seen": ("~(keep[:, None] | keep[..., None])", FILL),
}  # fmt: skip


def _write(mask: str, attended: str) -> str:
    """The script with a mask and its use."""
    return SCRIPT.replace("MASK", mask).replace("ATTENDED", attended)


@pytest.mark.parametrize("name", WRONG)
def test_rows_that_are_hidden_are_found(name: str, tmp_path: Path) -> None:
    mask, attended, fix = WRONG[name]
    findings = rehearsed(tmp_path, _write(mask, attended)).findings
    (finding,) = [found for found in findings if found.code == "mask-axis"]
    assert "hides every key of a padded query" in finding.message
    assert fix in finding.fixes[0].message


@pytest.mark.parametrize("name", RIGHT)
def test_rows_that_keep_a_key_are_right(name: str, tmp_path: Path) -> None:
    codes = [f.code for f in rehearsed(tmp_path, _write(*RIGHT[name])).findings]
    assert "mask-axis" not in codes
