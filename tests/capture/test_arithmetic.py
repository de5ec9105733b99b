"""FLOPs do not depend on the mode in which a program runs, or on who answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import shapewright as sw


def chained(x: torch.Tensor) -> torch.Tensor:
    """Three matrices: no rule answers, torch multiplies in the cheaper order."""
    return torch.linalg.multi_dot([x, x.mT, x])


CALLS: dict[str, Callable[..., Any]] = {
    "chained": chained,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "tensordot": lambda x: torch.tensordot(x, x, ([1], [1])),
    "gru": lambda x: nn.GRU(12, 5, bidirectional=True)(x),
    "rnn": lambda x: nn.RNN(12, 5, num_layers=2)(x),
    "gru_cell": lambda x: nn.GRUCell(12, 5)(x),
    "attention": lambda x: nn.MultiheadAttention(12, 3)(x, x, x),
}


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad])
@pytest.mark.parametrize("name", CALLS)
def test_arithmetic_is_that_of_a_real_run(name: str, mode: Any) -> None:
    x = torch.ones(7, 12)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        CALLS[name](x)
    with mode():
        trace = sw.options(values=False).trace(CALLS[name], x)
    assert trace.totals.flops == counter.get_total_flops() > 0


@pytest.mark.parametrize("name", CALLS)
def test_arithmetic_is_counted_in_inference_mode(name: str) -> None:
    settings, x = sw.options(values=False), torch.ones(7, 12)
    usual = settings.trace(CALLS[name], x)
    with torch.inference_mode():
        trace = settings.trace(CALLS[name], x)
    assert trace.totals.flops == usual.totals.flops > 0


def test_an_lstm_is_counted_though_its_kernel_is_not() -> None:
    layer = nn.LSTM(12, 5)
    trace = sw.trace(layer, "f32[7, 2, 12]")
    assert trace.totals.flops == 2 * 7 * 2 * 4 * 5 * (12 + 5)
