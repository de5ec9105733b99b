"""Parameters say the shape of the gradient that a training step leaves them."""

import torch
from torch import nn

import shapewright as sw


def test_a_parameter_that_got_a_gradient_says_its_shape():
    model = nn.ModuleDict({"used": nn.Linear(8, 2), "unused": nn.Linear(8, 3)})

    def step(x: torch.Tensor) -> torch.Tensor:
        loss = model["used"](x).square().mean()
        loss.backward()
        return loss

    trace = sw.trace(step, torch.randn(4, 8))
    model["used"](torch.randn(4, 8)).square().mean().backward()
    shapes = {
        state.path.split(".")[-1]: state.fact.grad_shape for state in trace.states
    }
    assert trace.complete
    assert shapes == {"weight": (2, 8), "bias": (2,)}
    assert model["unused"].weight.grad is None


def test_without_a_backward_pass_there_is_none():
    trace = sw.trace(nn.Linear(8, 2), "f32[4, 8]")
    assert {state.fact.grad_shape for state in trace.states} == {None}
