"""Custom functions whose `backward` leaves out the gradient that it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.autograd import Function


class Own(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return {result}

    @staticmethod
    def backward(ctx, {gradient}):
        (x,) = ctx.saved_tensors
        {body}


first, second = nn.Linear(4, 8), nn.Linear(8, 1)
y = Own.apply(first(torch.randn(6, 4)), 2.0)
{loss}.backward()
"""
PLAIN = {
    "result": "scale * torch.tanh(x)",
    "gradient": "grad_output",
    "loss": "second(y).pow(2).mean()",
}
WRONG = {
    "a product": (
        "return ctx.scale * (1 - torch.tanh(x) ** 2), None",
        "`grad_output * ctx.scale * (1 - torch.tanh(x) ** 2)`",
    ),
    "a sum": ("return 1 - torch.tanh(x) ** 2, None",
              "`grad_output * (1 - torch.tanh(x) ** 2)`"),
    "a name": ("d = (x > 0).float(); return d, None", "`grad_output * d`"),
    "ones": ("return torch.ones_like(x), None", "`grad_output * torch.ones_like(x)`"),
}  # fmt: skip
RIGHT = {
    "read": {"body": "return grad_output * ctx.scale, None"},
    "reversed": {"body": "return -ctx.scale * grad_output, None"},
    "written": {"body": "g = grad_output.clone(); g[x < 0] = 0; return g, None"},
    "a star": {"body": "return grads[0] * x, None", "gradient": "*grads"},
    "nothing": {"body": "return None, None"},
    "zeros": {"body": "return torch.zeros_like(x), None"},
    "not meant": {"body": "raise NotImplementedError", "loss": "y.detach().mean().add("
                  "first.weight.sum())"},
    "a loss of its own": {"body": "return 2 * x / x.numel(), None",
                          "result": "x.pow(2).mean()", "loss": "(1.0 * y)"},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_gradient_that_is_left_out_is_told(name: str, tmp_path: Path) -> None:
    body, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(**PLAIN, body=body))
    (finding,) = (f for f in report.findings if f.code == "gradient-left-out")
    assert [one.message for one in finding.fixes if one.checked] == [fix]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_the_chain_rule(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(**{**PLAIN, **RIGHT[name]}))
    assert "gradient-left-out" not in {f.code for f in report.findings}
