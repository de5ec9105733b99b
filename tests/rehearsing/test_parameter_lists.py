"""Modules that no optimizer has: which one, and the list that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SCRIPT = """\
import itertools
import torch
from torch import nn

class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.other = nn.Linear(4, 8), nn.Linear(4, 8)
        self.coarse = nn.Linear(8, 3)
        self.fine = nn.Linear(8, 3)

    def forward(self, x):
        h = self.encoder(x) + self.other(x)
        return self.coarse(h) + self.fine(h)

    def optimizer(self):
        shared = list(self.encoder.parameters()) + list(self.other.parameters())
        {own}
        return torch.optim.Adam(shared + heads)

encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
decoder = nn.Sequential(nn.Linear(8, 4), nn.Tanh())
head = nn.Sequential(nn.Linear(4, 3))
{optimizer}
for step in range(3):
    loss = head(decoder(encoder(torch.randn(5, 4)))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LISTS = {
    "twice": (
        "optimizer = torch.optim.Adam(list(encoder.parameters()) + "
        "list(decoder.parameters()) + list(decoder.parameters()))",
        "`head.parameters()`",
    ),
    "named twice": (
        "params = [*encoder.parameters(), *encoder.parameters(), *head.parameters()]\n"
        "optimizer = torch.optim.SGD(params, lr=0.1)",
        "`decoder.parameters()`",
    ),
    "left out of a sum": (
        "optimizer = torch.optim.Adam("
        "list(encoder.parameters()) + list(decoder.parameters()))",
        "`list(encoder.parameters()) + list(decoder.parameters())"
        " + list(head.parameters())`",
    ),
    "left out of a chain": (
        "optimizer = torch.optim.Adam("
        "itertools.chain(encoder.parameters(), head.parameters()))",
        "`itertools.chain(encoder.parameters(), head.parameters(),"
        " decoder.parameters())`",
    ),
    "left out of a list": (
        "optimizer = torch.optim.Adam([*head.parameters(), *encoder.parameters()])",
        "`[*head.parameters(), *encoder.parameters(), *decoder.parameters()]`",
    ),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_module_that_no_list_has_is_put_into_one(case: str, tmp_path: Path) -> None:
    optimizer, fix = LISTS[case]
    text = SCRIPT.replace("{optimizer}", optimizer).replace("{own}", "heads = []")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-in-optimizer"
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "torch.optim" in row
                and not row.startswith("        return"))  # fmt: skip
    assert finding.span is not None
    assert finding.span.line == line


def test_all_modules_in_lists_are_quiet(tmp_path: Path) -> None:
    optimizer = (
        "optimizer = torch.optim.Adam("
        "[*encoder.parameters(), *decoder.parameters(), *head.parameters()])"
    )
    text = SCRIPT.replace("{optimizer}", optimizer).replace("{own}", "heads = []")
    assert rehearsed(tmp_path, text).findings == ()


NESTED = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        {lists}
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        x = self.first(x)
        for layer, act in self.rows:
            x = act(layer(x))
        return self.last(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "lists",
    [
        "self.rows = []\n        for _ in range(2):\n"
        "            self.rows.append([nn.Linear(8, 8), nn.ReLU()])",
        "self.rows = [[nn.Linear(8, 8), nn.ReLU()], [nn.Linear(8, 8), nn.Tanh()]]",
    ],
)
def test_lists_of_modules_in_a_list_are_registered(lists: str, tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, NESTED.replace("{lists}", lists)).findings
    assert finding.code == "not-in-optimizer"
    assert finding.fixes[0].checked
    assert (
        finding.fixes[0].message == "`nn.ModuleList` for the list and the lists in it"
    )


SHARED = """\
import itertools
import torch
from torch import nn

shared = nn.Linear(8, 8)

class Head(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block, self.out = block, nn.Linear(8, 1)

    def forward(self, x):
        return self.out(self.block(x).relu())

first, second = Head(shared), Head({block})
optimizer = {optimizer}
for step in range(3):
    x = torch.randn(4, 8)
    optimizer.zero_grad()
    (first(x) + second(x)).mean().backward()
    optimizer.step()
"""


def test_a_shared_layer_is_in_an_optimizer_once(tmp_path: Path) -> None:
    chained = "itertools.chain(first.parameters(), second.parameters())"
    script = SHARED.format(block="shared", optimizer=f"torch.optim.Adam({chained})")
    (only,) = rehearsed(tmp_path, script).findings
    assert only.code == "parameter-repeated"
    assert "`Head.block.weight`, `Head.block.bias`" in only.message
    assert only.span is not None
    assert only.span.line == 16
    assert [fix.message for fix in only.fixes] == [f"`list(dict.fromkeys({chained}))`"]


@pytest.mark.parametrize(
    ("block", "parameters"),
    [
        ("shared", "nn.ModuleList([first, second]).parameters()"),
        ("shared", "{*first.parameters(), *second.parameters()}"),
        ("nn.Linear(8, 8)", "[*first.parameters(), *second.parameters()]"),
        ("shared", "[{'params': first.parameters()}, {'params': second.out.weight}, "
         "{'params': [second.out.bias], 'lr': 1.0}]"),
    ],
)  # fmt: skip
def test_each_parameter_once_is_quiet(
    block: str, parameters: str, tmp_path: Path
) -> None:
    optimizer = f"torch.optim.SGD({parameters}, lr=0.1)"
    script = SHARED.format(block=block, optimizer=optimizer)
    assert rehearsed(tmp_path, script).findings == ()
