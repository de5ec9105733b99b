"""Weights of a softmax over all edges that are added up for each node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

n, edges, heads = 20, 90, 4
src, dst = torch.randint(n, (edges,)), torch.randint(n, (edges,))
lin, att = nn.Linear(6, 8), nn.Linear(16, 1)
optimizer = torch.optim.SGD([*lin.parameters(), *att.parameters()], lr=0.1)
nodes, target = torch.randn(n, 6), torch.randn(n, 8)
for step in range(3):
    h = lin(nodes)
    e = att(torch.cat([h[src], h[dst]], 1)).squeeze(1)
    {body}
    optimizer.zero_grad()
    F.mse_loss(out, target).backward()
    optimizer.step()
"""
WRONG = {
    "edges": """\
    alpha = F.softmax(e, dim=0)
    out = torch.zeros(n, 8).index_add(0, dst, alpha.unsqueeze(-1) * h[src])""",
    "in place": """\
    alpha = torch.softmax(e, 0)
    out = torch.zeros_like(h)
    out.index_add_(0, dst, h[src] * alpha[:, None])""",
    "heads": """\
    scores = e[:, None].expand(edges, heads)
    alpha = scores.softmax(dim=0)
    messages = alpha.unsqueeze(-1) * h[src].view(edges, heads, 2)
    out = torch.zeros(n, heads, 2).index_add(0, dst, messages).flatten(1)""",
    "dropout": """\
    alpha = F.dropout(F.softmax(e, dim=0), 0.1)
    out = h.new_zeros(n, 8).index_add(0, dst, (alpha.unsqueeze(1) * h[src]))""",
    "scattered": """\
    alpha = e.softmax(-1).view(-1, 1)
    messages = alpha * h[src]
    out = torch.zeros(n, 8).scatter_add_(0, dst[:, None].expand(-1, 8), messages)""",
    "reduced": """\
    messages = F.softmax(e, dim=0)[:, None] * h[src]
    index = dst[:, None].expand(-1, 8)
    out = torch.zeros(n, 8).scatter_reduce(0, index, messages, reduce="sum")""",
}
RIGHT = {
    "sums of groups": """\
    w = (e - e.detach().max()).exp()
    alpha = w / torch.zeros(n).index_add(0, dst, w)[dst]
    out = torch.zeros(n, 8).index_add(0, dst, alpha.unsqueeze(-1) * h[src])""",
    "divided afterwards": """\
    w = F.softmax(e, dim=0)
    total = torch.zeros(n).index_add(0, dst, w)
    out = torch.zeros(n, 8).index_add(0, dst, w.unsqueeze(-1) * h[src])
    out = out / (total[:, None] + 1e-9)""",
    "over the features": """\
    alpha = F.softmax(h[src], dim=1)
    out = torch.zeros(n, 8).index_add(0, dst, alpha * h[src])""",
    "over the heads": """\
    alpha = F.softmax(e[:, None].expand(edges, heads), dim=1)
    messages = alpha.unsqueeze(-1) * h[src].view(edges, heads, 2)
    out = torch.zeros(n, heads, 2).index_add(0, dst, messages).flatten(1)""",
    "not scattered": """\
    alpha = F.softmax(e, dim=0)
    out = h + (alpha.unsqueeze(-1) * h[src]).sum(0)""",
    "one group": """\
    alpha = F.softmax(e, dim=0)
    group = torch.zeros(edges, dtype=torch.long)
    out = torch.zeros(1, 8).index_add(0, group, alpha.unsqueeze(1) * h[src]) + h""",
    "a pointer": """\
    copy = F.softmax(e, dim=0) * 0.5
    out = torch.zeros(n).scatter_add(0, dst, copy)[:, None] * h""",
    "values of atoms": """\
    p = F.softmax(h, dim=1)
    place = torch.randint(8, (n, 8))
    out = torch.zeros(n, 8).scatter_add(1, place, p * torch.rand(n, 8))""",
}


@pytest.mark.parametrize("name", WRONG)
def test_weights_of_all_edges_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("    {body}", WRONG[name]))
    (finding,) = report.findings
    assert finding.code == "softmax-over-groups"


def test_the_fix_divides_by_the_sum_of_each_node(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("    {body}", WRONG["edges"]))
    assert [fix.message for fix in report.findings[0].fixes] == [
        "`alpha = (e - e.detach().max()).exp()` and `alpha = alpha /"
        " alpha.new_zeros(n, *alpha.shape[1:]).index_add(0, dst, alpha)[dst]`"
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_weights_of_each_node_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("    {body}", RIGHT[name]))
    codes = {finding.code for finding in report.findings}
    assert "softmax-over-groups" not in codes
