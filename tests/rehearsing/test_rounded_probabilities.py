"""Logarithms of what a softmax leaves of 1."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn

END = 2
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def penalty(scores, going):
BODY


for step in range(3):
    x, going = torch.randn(32, 6), torch.rand(32) < 0.5
    loss = penalty(net(x), going)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
REST = (
    "`{}torch.logsumexp(torch.cat([scores[..., :{}], scores[..., {} + 1:]], dim=-1),"
    " dim=-1) - torch.logsumexp(scores, dim=-1){}`"
)
WRONG = {
    "both logarithms of a name": (
        """
        p = F.softmax(scores, dim=-1)[..., END]
        stop, go = torch.log(p), 0
        rest = torch.log(1 - p)
        return -rest[going].mean() - stop[~going].mean()
        """,
        REST.format("", "END", "END", ""),
    ),
    "an expression": (
        "return -(1.0 - scores.softmax(-1)[..., 1]).log()[going].mean()",
        REST.format("(", "1", "1", ")"),
    ),
    "gathered classes": (
        """
        p = scores.softmax(-1)
        chosen = p.gather(1, going.long()[:, None])
        return -torch.log(1 - chosen).mean()
        """,
        "`(1 - chosen).clamp(min=1e-10)`",
    ),
}
RIGHT = {
    "a small number inside": """
        p = F.softmax(scores, dim=-1)[..., END]
        return -torch.log(1 - p + 1e-6)[going].mean()
        """,
    "a larger one": """
        p = F.softmax(scores, dim=-1)[..., END]
        return -torch.log(1 + 1e-6 - p)[going].mean()
        """,
    "a limit": """
        p = F.softmax(scores, dim=-1)[..., END].clamp(max=1 - 1e-6)
        return -torch.log(1 - p)[going].mean()
        """,
    "a limit of the rest": """
        p = F.softmax(scores, dim=-1)[..., END]
        return -torch.log((1 - p).clamp(min=1e-6))[going].mean()
        """,
    "a mixture with a uniform distribution": """
        p = 0.99 * F.softmax(scores, dim=-1)[..., END] + 0.002
        return -torch.log(1 - p)[going].mean()
        """,
    "bounded scores": """
        p = F.softmax(5 * torch.tanh(scores), dim=-1)[..., END]
        return -torch.log(1 - p)[going].mean()
        """,
    "the probability itself": """
        p = F.softmax(scores, dim=-1)[..., END]
        return -torch.log(p).mean()
        """,
    "no training": """
        with torch.no_grad():
            rest = torch.log(1 - F.softmax(scores, dim=-1)[..., END])
        return (scores[..., END] * rest.clamp(min=-9)).mean()
        """,
    "of the scores": """
        others = torch.cat([scores[..., :END], scores[..., END + 1:]], dim=-1)
        rest = torch.logsumexp(others, dim=-1) - torch.logsumexp(scores, dim=-1)
        return -rest[going].mean()
        """,
}


def write_script(body: str) -> str:
    """A training with a penalty."""
    return SCRIPT.replace("BODY", indent(dedent(body).strip(), "    "))


@pytest.mark.parametrize("case", WRONG)
def test_the_rest_of_a_softmax(tmp_path: Path, case: str) -> None:
    body, edit = WRONG[case]
    (finding,) = rehearsed(tmp_path, write_script(body)).findings
    assert finding.code == "log-of-zero"
    assert "the softmax is 1 in float32" in finding.message
    assert finding.fixes[0].message == edit
    assert finding.fixes[0].checked


def test_the_other_logarithm_is_mended_too(tmp_path: Path) -> None:
    body, _ = WRONG["both logarithms of a name"]
    (finding,) = rehearsed(tmp_path, write_script(body)).findings
    texts = [edit.text for edit in finding.fixes[0].edits]
    assert "F.log_softmax(scores, dim=-1)[..., END]" in texts
    assert "" in texts  # `p` is not read any more


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_limited_is_quiet(tmp_path: Path, case: str) -> None:
    assert rehearsed(tmp_path, write_script(RIGHT[case])).findings == ()
