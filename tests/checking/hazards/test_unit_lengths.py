"""Similarities of which one side alone has unit length."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
head = nn.Linear(6, 4)
train, x = torch.randn(30, 6), torch.randn(12, 6)
with torch.no_grad():
"""
WRONG = {
    "raw queries": (
        "    bank = F.normalize(net(train), dim=1)\n"
        "    queries = net(x)\n"
        "    near = (queries @ bank.t()).div(0.1).exp()",
        "`F.normalize(queries, dim=-1)`",
    ),
    "a bank of parts": (
        "    parts = [F.normalize(net(part), dim=1) for part in train.split(10)]\n"
        "    bank = torch.cat(parts).t()\n"
        "    out = net(x)\n"
        "    weights, near = torch.mm(out, bank).topk(3)\n"
        "    votes = weights.exp().sum(1)",
        "`F.normalize(out, dim=-1)`",
    ),
    "divided by hand": (
        "    bank = net(train)\n"
        "    out = net(x)\n"
        "    out = out / out.norm(dim=1, keepdim=True)\n"
        "    near = (bank @ out.T).argmax(0)",
        "`F.normalize(bank, dim=-1)`",
    ),
}
RIGHT = {
    "both": "    a, b = F.normalize(net(train), dim=1), F.normalize(net(x), dim=1)\n"
    "    near = b @ a.t()",
    "neither": "    near = net(x) @ net(train).t()",
    "weights of a head": "    w = F.normalize(head.weight, dim=1)\n"
    "    scores = head(x) @ torch.randn(4, 6) @ w.t()",
    "ranked alone": "    bank, out = F.normalize(net(train), dim=1), net(x)\n"
    "    near = (out @ bank.t()).topk(3).indices, (out @ bank.t()).argmax(1)",
    "of two layers": "    near = head(x) @ F.normalize(net(train), dim=1).t()",
    "its own direction": "    out = net(x)\n"
    "    length = out.unsqueeze(1) @ F.normalize(out, dim=1).unsqueeze(2)",
    "standardized": "    out = net(train)\n"
    "    near = net(x) @ ((out - out.mean(0)) / out.std(0)).t()",
}


@pytest.mark.parametrize("name", WRONG)
def test_one_side_of_unit_length_is_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text + "\n")
    (finding,) = report.findings
    assert finding.code == "one-side-normalized"
    assert finding.fixes[0].message == fix


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name] + "\n")
    codes = [finding.code for finding in report.findings]
    assert "one-side-normalized" not in codes
