"""`sw.options(inside=True)`: what torch runs inside each call."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

import shapewright as sw


def inside(op) -> list[str]:  # type: ignore[no-untyped-def]
    return [note for note in op.notes if note.startswith("inside: ")]


def test_the_kernels_of_a_composite_call_with_their_shapes() -> None:
    trace = sw.options(inside=True).trace(
        lambda x, w: F.multi_head_attention_forward(
            x, x, x, 8, 2, w, None, None, None, False, 0.0, torch.eye(8), None
        )[0],
        "f32[5, 3, 8]",
        "f32[24, 8]",
    )
    op = trace.op("multi_head_attention_forward")
    names = [line.split()[1] for line in inside(op)]
    assert "aten.bmm" in names
    assert len(names) > 8
    assert any(line.endswith("-> f32[15, 8]") for line in inside(op))


def test_nothing_else_differs() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten()
    )
    before = {name: value.clone() for name, value in model.state_dict().items()}
    plain = sw.trace(model, "f32[2, 3, 8, 8]")
    looked = sw.options(inside=True).trace(model, "f32[2, 3, 8, 8]")
    assert all(inside(op) for op in looked.ops)
    assert not any(inside(op) for op in plain.ops)
    for one, other in zip(plain.ops, looked.ops, strict=True):
        assert (one.name, one.inputs, one.outputs, one.flops, one.kind) == (
            other.name, other.inputs, other.outputs, other.flops, other.kind,
        )  # fmt: skip
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    assert inside(looked.op("relu")) == [
        "inside: aten.relu_ f32[2, 4, 6, 6] -> f32[2, 4, 6, 6]"
    ]


def test_a_program_that_asks_for_gradients() -> None:
    linear = nn.Linear(3, 1)

    def step(x: torch.Tensor) -> torch.Tensor:
        loss = linear(x).sum()
        loss.backward()
        return loss

    trace = sw.options(inside=True).trace(step, "f32[4, 3]")
    assert trace.complete, trace.findings
    assert inside(trace.op("linear"))
    assert linear.weight.grad is None
