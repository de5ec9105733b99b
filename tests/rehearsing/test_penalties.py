"""Gradients in losses: those that need a graph, and those that are right without."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
from torch import autograd, nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.rand(40, 2), torch.rand(40, 1))
loader = DataLoader(data, 8)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def slope_of(out, x, **options):
    return autograd.grad(out, x, torch.ones_like(out), **options)[0]


for x, y in loader:
    x.requires_grad_(True)
    out = model(x)
BODY
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

AT = 14
"""The line of the gradient."""


def training(body: str) -> str:
    """A script with this loss."""
    return TRAINING.replace("BODY", indent(dedent(body).strip(), "    "))


def told(folder: Path, body: str) -> list[tuple[str, int]]:
    """Codes and lines of what is found in a training with this loss."""
    report = rehearsed(folder, training(body))
    assert report.complete
    return [
        (found.code, found.span.line if found.span is not None else 0)
        for found in report.findings
    ]


TERMS = {
    "a penalty": """
        slope = slope_of(out, x, {})
        loss = mse_loss(out, y) + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
    """,
    "a penalty that is added in place": """
        loss = mse_loss(out, y)
        loss += slope_of(out, x, {}).pow(2).sum()
    """,
    "a sum of a list": """
        slope = slope_of(out, x, {})
        loss = sum([mse_loss(out, y), slope.abs().mean()]) / 2
    """,
    "a stack of terms": """
        slope = slope_of(out, x, {})
        loss = torch.stack([mse_loss(out, y), slope.abs().mean()]).mean()
    """,
    "the residual of an equation": """
        slope = slope_of(out, x, {})
        loss = ((slope[:, :1] + 2 * out) ** 2).mean()
    """,
}


@pytest.mark.parametrize("body", TERMS.values(), ids=TERMS)
def test_a_term_without_a_graph_is_found_where_its_gradient_is_made(
    tmp_path: Path, body: str
) -> None:
    keeping = body.format("retain_graph=True")
    assert told(tmp_path, keeping) == [("gradient-without-graph", AT)]


@pytest.mark.parametrize("body", TERMS.values(), ids=TERMS)
def test_nothing_is_found_with_a_graph(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body.format("create_graph=True")) == []


@pytest.mark.parametrize("body", TERMS.values(), ids=TERMS)
def test_torch_trains_something_else_with_a_graph(body: str) -> None:
    trained = []
    for options in ("retain_graph=True", "create_graph=True"):
        names: dict[str, Any] = {}
        exec(training(body.format(options)), names)
        trained.append(names["model"][0].weight)
    assert not torch.allclose(*trained)


RIGHT = {
    "an adversarial input": """
        slope = slope_of(mse_loss(out, y), x)
        loss = mse_loss(model(x + 0.1 * slope.sign()), y)
    """,
    "a step along the direction of a gradient": """
        slope = slope_of(mse_loss(out, y), x, retain_graph=True)
        moved = x + 0.1 * slope / slope.norm()
        loss = mse_loss(out, y) + mse_loss(model(moved), out)
    """,
    "a weight of a loss": """
        one, other = mse_loss(out, y), out.abs().mean()
        last = model[-1].weight
        slope = slope_of(one, last, retain_graph=True)
        facing = slope_of(other, last, retain_graph=True)
        loss = one + slope.norm() / (facing.norm() + 1e-4) * other
    """,
    "a term that is detached": """
        penalty = slope_of(out, x, retain_graph=True).norm()
        loss = mse_loss(out, y) + penalty.detach()
    """,
    "a number that is printed": """
        penalty = slope_of(out, x, retain_graph=True).norm()
        loss = mse_loss(out, y)
        print((loss + penalty).item())
    """,
    "meta-learning of the first order": """
        weight, bias = model[-1].weight, model[-1].bias
        inner = mse_loss(out, y)
        slopes = autograd.grad(inner, [weight, bias])
        norm = torch.stack([slope.norm() for slope in slopes]).norm()
        weight, bias = (
            old - 0.1 * slope / norm
            for old, slope in zip([weight, bias], slopes)
        )
        hidden = model[:-1](x)
        loss = mse_loss(nn.functional.linear(hidden, weight, bias), y)
    """,
    "noise whose energy falls": """
        for _ in range(3):
            x = x - 0.1 * slope_of(model(x).sum(), x)
        loss = model(x.detach()).mean() - model(y.expand(-1, 2)).mean()
    """,
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_gradients_that_need_no_graph_are_left_alone(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body) == []


def test_a_step_of_a_single_number_is_no_penalty(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        """\
        import torch

        x, y = torch.rand(20), torch.rand(20)
        slope, rate = torch.tensor(1.0, requires_grad=True), torch.tensor(0.1)
        optimizer = torch.optim.SGD([slope], lr=0.1)
        for step in range(5):
            fast = slope
            for _ in range(2):
                (gradient,) = torch.autograd.grad(((fast * x - y) ** 2).mean(), fast)
                fast = fast - rate * gradient
            loss = ((fast * x - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    )
    assert report.complete
    assert [each.message for each in report.findings] == []
