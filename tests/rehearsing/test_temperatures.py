"""Probabilities that are divided by a temperature and normalized again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

layer = nn.Linear(6, 9)


@torch.no_grad()
def draw(x, temperature):
    logits = layer(x)
    {body}


for temperature in (0.5, 1.0, 2.0):
    print(draw(torch.rand(4, 6), temperature))
"""
WRONG = {
    "drawn": (
        "p = F.softmax(logits, dim=-1) / temperature\n"
        "    return torch.multinomial(p, 1)",
        "`F.softmax(logits / temperature, dim=-1)`",
    ),
    "a method": (
        "return (logits[:, :8].softmax(-1) / temperature).multinomial(1)",
        "`(logits[:, :8] / temperature).softmax(-1)`",
    ),
    "in steps": (
        "p = torch.softmax(logits, -1)\n    p = p / temperature\n"
        "    return torch.multinomial(p, 2)",
        "`torch.softmax(logits / temperature, -1)`",
    ),
    "in place": (
        "p = torch.softmax(-logits, -1)\n    p /= temperature\n"
        "    return torch.multinomial(p, 2)",
        "`torch.softmax((-logits) / temperature, -1)`",
    ),
    "another name": (
        "p = torch.softmax(logits, -1)\n    q = p / temperature\n"
        "    return torch.multinomial(q, 2)",
        "`torch.softmax(logits / temperature, -1)`",
    ),
    "normalized": (
        "p = F.softmax(logits, -1) / temperature\n"
        "    return p / p.sum(-1, keepdim=True)",
        "`F.softmax(logits / temperature, -1)`",
    ),
    "a distribution": (
        "p = F.softmax(logits, -1) / temperature\n"
        "    return torch.distributions.Categorical(probs=p).sample()",
        "`F.softmax(logits / temperature, -1)`",
    ),
    "the largest": (
        "p = F.softmax(logits, -1) / temperature\n    best, at = p.topk(3)\n"
        "    return at.gather(1, torch.multinomial(best, 1))",
        "`F.softmax(logits / temperature, -1)`",
    ),
}
RIGHT = {
    "scores": "return torch.multinomial(F.softmax(logits / temperature, -1), 1)",
    "a power": "p = F.softmax(logits, -1) ** (1 / temperature)\n"
               "    return torch.multinomial(p, 1)",
    "logarithms": "p = F.log_softmax(logits, -1) / temperature\n"
                  "    return torch.multinomial(p.softmax(-1), 1)",
    "read as it is": "return F.softmax(logits, -1) / temperature",
    "a second softmax": "p = F.softmax(logits, -1) / temperature\n"
                        "    return p.softmax(-1)",
    "a mean of two": "p = F.softmax(logits, -1) + F.softmax(-logits, -1)\n"
                     "    return torch.multinomial(p / 2, 1)",
    "one weight for each": "p = F.softmax(logits, -1) / torch.arange(1, 10)\n"
                           "    return torch.multinomial(p, 1)",
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_temperature_that_cancels_is_told(case: str, tmp_path: Path) -> None:
    body, fix = WRONG[case]
    (finding,) = rehearsed(tmp_path, SCRIPT.format(body=body)).findings
    assert finding.code == "temperature-cancels"
    assert [each.message for each in finding.fixes if each.checked] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_temperatures_with_an_effect_are_quiet(case: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(body=RIGHT[case]))
    assert report.complete
    assert not report.findings
