"""Recurrent layers with a graph: as torch's own on the CPU, however many steps."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from tests.capture.real_runs import Built, Call, check
from tests.capture.recurrent_programs import PROGRAMS, drawn_call

CASES = [(name, seed) for name in PROGRAMS for seed in range(12)]


def built(name: str, seed: int) -> Call:
    """A program on a layer that a seed decides."""

    def build() -> Built:
        drawn = drawn_call(random.Random(f"{name} {seed}").getrandbits(32))
        return PROGRAMS[name], (drawn,), {}

    return build


@pytest.mark.filterwarnings("ignore:dropout option:UserWarning")
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_program_with_a_drawn_layer(name: str, seed: int) -> None:
    assert not check(built(name, seed))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_layer_of_many_steps_has_few_nodes(kind: str) -> None:
    """As a rehearsal of 200 steps would else take seconds."""
    layer = getattr(nn, kind)(8, 6, num_layers=2)
    nodes = []

    def program(x: torch.Tensor) -> torch.Tensor:
        output, _ = layer(x)
        output.sum().backward()
        waiting, seen = [output.grad_fn], set()
        while waiting:
            node = waiting.pop()
            seen.add(node)
            waiting += [after for after, _ in node.next_functions if after]
        nodes.append(len(seen))
        return output

    trace = sw.trace(program, "f32[200, 4, 8]")
    assert trace.output.shape == (200, 4, 6)
    assert nodes[-1] < 30
    flops = [op.flops for op in trace.ops if op.flops]
    graphless = sw.trace(layer, "f32[200, 4, 8]")
    assert flops[0] == graphless.totals.flops


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_and_halves(kind: str, dtype: torch.dtype) -> None:
    def cast(layer: nn.Module, x: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype):
            output, last = layer(x)
        output.float().sum().backward()
        return output, last, [each.grad for each in layer.parameters()]

    def halves(layer: nn.Module, x: torch.Tensor) -> Any:
        output, last = layer(x)
        output.sum().backward()
        return output, last, [each.grad for each in layer.parameters()]

    for program, own in [(halves, dtype), (cast, torch.float32)]:
        layer = getattr(nn, kind)(4, 6, bidirectional=True, dtype=own)
        given = layer, torch.randn(7, 2, 4, dtype=own)
        assert not check(lambda program=program, given=given: (program, given, {}))
