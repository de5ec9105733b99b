"""`[layer] * n`: one layer n times, where n layers are meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.line = nn.LayerNorm(dim), nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.line(self.norm(x))


class Net(nn.Module):
    def __init__(self, block=None, depth=3):
        super().__init__()
{build}

    def forward(self, x):
{forward}


net = Net({given})
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = net(torch.randn(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
EACH = "for layer in self.layers:\n    x = layer(x)\nreturn x"
WRONG = {
    "constructed": ("self.layers = nn.ModuleList([Block(8)] * depth)", EACH, ""),
    "in a sequential": (
        "self.body = nn.Sequential(*[Block(8)] * 4)", "return self.body(x)", ""
    ),
    "two of them": (
        "self.body = nn.Sequential(*(3 * [nn.Linear(8, 8), nn.ReLU()]))",
        "return self.body(x)", ""
    ),
    "a list before": (
        "layers = [Block(8)] * depth\nself.layers = nn.ModuleList(layers)", EACH, ""
    ),
    "under a name": (
        "layer = Block(8)\nself.layers = nn.ModuleList([layer] * depth)", EACH, ""
    ),
    "given and not cloned": (
        "self.layers = nn.ModuleList([block for _ in range(depth)])", EACH, "Block(8)"
    ),
    "heads": (
        "self.heads = nn.ModuleList([nn.Linear(8, 2)] * 3)",
        "return torch.cat([head(x) for head in self.heads], -1)", ""
    ),
}  # fmt: skip
RIGHT = {
    "a comprehension": (
        "self.layers = nn.ModuleList([Block(8) for _ in range(depth)])", EACH, ""
    ),
    "copies": (
        "self.layers = nn.ModuleList([copy.deepcopy(block) for _ in range(depth)])",
        EACH, "Block(8)"
    ),
    "no weights": (
        "self.one = nn.Linear(8, 8)\nself.body = nn.Sequential(*[nn.ReLU()] * 3)",
        "return self.body(self.one(x))", ""
    ),
    "shared on purpose": (
        "# ALBERT: all layers share their weights\n"
        "self.layers = nn.ModuleList([Block(8)] * depth)", EACH, ""
    ),
    "a loop over one layer": (
        "self.block = Block(8)", "for _ in range(3):\n    x = self.block(x)\nreturn x",
        ""
    ),
    "a head for each level": (
        "self.head = nn.Linear(8, 8)\n"
        "self.heads = nn.ModuleList([self.head for _ in range(3)])\n"
        "self.layers = nn.ModuleList([Block(8) for _ in range(3)])",
        "out = 0\nfor layer, head in zip(self.layers, self.heads):\n"
        "    x = layer(x)\n    out = out + head(x)\nreturn out", ""
    ),
    "one cell over steps": (
        "layers = 1\nself.cells = nn.ModuleList([nn.GRUCell(8, 8)] * layers)",
        "h = torch.zeros(4, 8)\nfor _ in range(5):\n    h = self.cells[0](x, h)\n"
        "return h", ""
    ),
    "sizes": (
        "sizes = [8] * 4\nself.layers = nn.ModuleList("
        "[nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])", EACH, ""
    ),
    "written out": (
        "self.one = Block(8)\nself.body = nn.Sequential(self.one, nn.ReLU(), self.one)",
        "return self.body(x)", ""
    ),
}  # fmt: skip


def _codes(folder: Path, build: str, forward: str, given: str) -> list[tuple[str, int]]:
    """The code of each finding, with its number of fixes that were tried."""
    pad = " " * 8
    text = SCRIPT.format(
        build="\n".join(pad + line for line in build.split("\n")),
        forward="\n".join(pad + line for line in forward.split("\n")),
        given=given,
    )
    report = rehearsed(folder, text)
    assert report.complete
    return [(each.code, len(each.fixes)) for each in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_one_layer_several_times_is_found_with_an_edit(
    name: str, tmp_path: Path
) -> None:
    assert _codes(tmp_path, *WRONG[name]) == [("repeated-layer", 1)]


@pytest.mark.parametrize("name", RIGHT)
def test_own_layers_and_shared_ones_are_right(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, *RIGHT[name]) == []
