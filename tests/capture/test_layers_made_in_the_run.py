"""Layers that the program makes itself, as every script does."""

from __future__ import annotations

import torch
from torch import nn

import shapewright as sw


def build_and_call(x: torch.Tensor) -> torch.Tensor:
    return nn.Linear(3, 4)(x)


def test_their_parameters_are_the_tensors_that_the_calls_read() -> None:
    trace = sw.trace(build_and_call, "f32[2, 3]")
    weight, bias = trace.states
    linear = trace.op("linear")
    assert [weight.path, bias.path] == ["Linear.weight", "Linear.bias"]
    read = [fact.tensor for fact in linear.inputs]
    assert [weight.fact.tensor, bias.fact.tensor] == read[1:]
    assert trace.totals.unused == ()


def test_a_layer_that_is_not_called_is_still_unused() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used = nn.Linear(3, 4)
            self.idle = nn.Parameter(torch.zeros(5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.used(x)

    trace = sw.trace(lambda x: Net()(x), "f32[2, 3]")
    assert trace.totals.unused == ("Net.idle",)


def test_a_parameter_that_is_read_while_it_is_made_keeps_its_number() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pos = nn.Parameter(torch.zeros(1, 6, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.pos[:, :3]

    trace = sw.trace(lambda x: Net()(x), "f32[2, 3, 4]")
    (state,) = trace.states
    assert state.fact.tensor in {fact.tensor for fact in trace.op("[]").inputs}
