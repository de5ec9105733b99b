"""Numbers of heads and groups that do not divide a width."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

OPTIONS = """\
import argparse
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, d_model, nhead):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            d_model, nhead, dim_feedforward=256, batch_first=True)
        self.head = nn.Linear(d_model, 8)
        self.embed = nn.Embedding(50, d_model)

    def forward(self, x):
        return self.head(self.layer(self.embed(x)).mean(1))

parser = argparse.ArgumentParser()
parser.add_argument("--d-model", type=int, default={width})
parser.add_argument("--nhead", type=int, default={heads})
args = parser.parse_args()
print(Net(args.d_model, args.nhead)(torch.randint(0, 50, (8, 5))).shape)
"""
DEFAULTS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, embed_dim={width}, num_heads={heads}):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]

print(Net()(torch.randn(2, 8, {width})).shape)
"""
KEYWORDS = """\
import torch
from torch import nn

attention = nn.MultiheadAttention(embed_dim={width}, num_heads={heads}, kdim=30)
x = torch.randn(8, 2, {width})
print(attention(x, torch.randn(8, 2, 30), x)[0].shape)
"""


def find_errors(folder: Path, text: str, width: int, heads: int) -> list[Finding]:
    findings = rehearsed(folder, text.format(width=width, heads=heads)).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("text", [OPTIONS, DEFAULTS, KEYWORDS])
def test_heads_that_divide_the_width_are_suggested(text: str, tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, text, 300, 8)
    assert finding.message.startswith("300 is no multiple of 8: 296 and 304 are")
    assert finding.message.endswith("; 6 and 10 divide 300")
    assert finding.fixes[0].message == "`10` for `8`"
    assert finding.fixes[0].checked


def test_a_width_is_no_number_of_heads(tmp_path: Path) -> None:
    text = DEFAULTS.replace("num_heads, b", "int(str(num_heads)), b")
    (finding,) = find_errors(tmp_path, text, 300, 8)
    assert not any("embed_dim" in fix.message for fix in finding.fixes)


@pytest.mark.parametrize("text", [OPTIONS, DEFAULTS])
def test_heads_that_divide_are_quiet(text: str, tmp_path: Path) -> None:
    assert not find_errors(tmp_path, text, 300, 10)
