"""Partial likelihoods of Cox with risks added up over ascending times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

net = nn.Linear(5, 1)
x = torch.randn(20, 5)
time, event = torch.rand(20), (torch.rand(20) < 0.5).float()
risk = net(x).squeeze(-1)
"""
END = "loss.backward()\n"
WRONG = {
    "logcumsumexp": "order = torch.argsort(time)\n"
    "h, e = risk[order], event[order]\n"
    "loss = -((h - torch.logcumsumexp(h, dim=0)) * e).sum()",
    "exponentials": "order = time.argsort(dim=0)\n"
    "h, e = risk[order], event[order]\n"
    "total = torch.log(torch.cumsum(torch.exp(h), dim=0) + 1e-8)\n"
    "loss = -torch.mean((h - total) * e)",
    "sort": "_, order = torch.sort(time, descending=False)\n"
    "h, e = risk.gather(0, order), event.gather(0, order)\n"
    "h = h - h.max()\n"
    "loss = -((h - h.exp().cumsum(0).log()) * e).sum()",
    "in a function": """\
def cox(out, durations, events):
    idx = durations.sort()[1]
    events = events.index_select(0, idx)
    out = out.index_select(0, idx)
    gamma = out.max()
    logs = out.sub(gamma).exp().cumsum(0).add(1e-7).log().add(gamma)
    return -out.sub(logs).mul(events).sum().div(events.sum())

loss = cox(risk, time, event)""",
}
RIGHT = {
    "descending": WRONG["logcumsumexp"].replace("(time)", "(time, descending=True)"),
    "descending by place": WRONG["exponentials"].replace("(dim=0)", "(0, True)"),
    "negative times": WRONG["logcumsumexp"].replace("(time)", "(-time)"),
    "turned": WRONG["logcumsumexp"].replace("argsort(time)", "argsort(time).flip(0)"),
    "from the end": "order = torch.argsort(time)\n"
    "h, e = risk[order], event[order]\n"
    "total = torch.logcumsumexp(h.flip(0), 0).flip(0)\n"
    "loss = -((h - total) * e).sum()",
    "what is left of all": "order = torch.argsort(time)\n"
    "h, e = risk[order], event[order]\n"
    "w = h.exp()\n"
    "loss = -((h - torch.log(w.sum() - w.cumsum(0) + w)) * e).sum()",
    "a list of relevances": "order = torch.argsort(time)\n"
    "h = risk[order]\n"
    "loss = -(h - torch.logcumsumexp(h, dim=0)).sum()",
    "a mask of a list": "grade, kept = torch.rand(20), torch.ones(20)\n"
    "order = torch.argsort(grade)\n"
    "h, m = risk[order], kept[order]\n"
    "loss = -((h - torch.logcumsumexp(h, dim=0)) * m).sum()",
    "a matrix of pairs": "at_risk = (time[None] >= time[:, None]).float()\n"
    "total = torch.log(at_risk @ risk.exp())\n"
    "loss = -((risk - total) * event).sum()",
}


@pytest.mark.parametrize("name", WRONG)
def test_an_ascending_risk_set_is_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + WRONG[name] + "\n" + END)
    findings = [f for f in report.findings if f.code == "ascending-risk-set"]
    assert len(findings) == 1
    (fix,) = findings[0].fixes
    assert "descending=True" in fix.message


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name] + "\n" + END)
    codes = [finding.code for finding in report.findings]
    assert "ascending-risk-set" not in codes
