"""A size that was supposed is marked where it was made, and wherever it goes on."""

from __future__ import annotations

import torch

import shapewright as sw


def choose(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    rows = (x > 0).nonzero()
    taken = x[rows[:, 0]]
    doubled = taken * 2
    return rows, taken, doubled, doubled.sum(0), x + 1


def test_marks_follow_the_size() -> None:
    trace = sw.trace(choose, "f32[8, 4]")
    rows, taken, doubled, total, other = trace.output
    said = "`Tensor.nonzero` of unknown data is taken to find half: 16 of 32"
    assert (rows.unknown, taken.unknown, doubled.unknown) == (said,) * 3
    assert (total.unknown, other.unknown) == (None, None)
    assert [op.outputs[0].unknown for op in trace.ops][1:5] == [said] * 4


def test_a_view_shows_the_mark() -> None:
    text = sw.options(by="op").trace(choose, "f32[8, 4]").__str__()
    assert "(16, 2)? i64" in text
    assert "(16, 4)? f32" in text
    assert "(8, 4) f32" in text


def test_known_values_leave_no_mark() -> None:
    trace = sw.trace(choose, torch.eye(8, 4))
    assert trace.output[0].shape == (4, 2)
    assert not any(fact.unknown for fact in trace.output)


def test_a_step_of_an_optimizer_leaves_no_mark() -> None:
    net = torch.nn.Linear(200, 100)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step(x: torch.Tensor) -> None:
        net(x).sum().backward()
        optimizer.step()

    trace = sw.trace(step, "f32[8, 200]")
    assert any(op.name == "Tensor.add_" for op in trace.ops)
    assert not any(fact.unknown for op in trace.ops for fact in op.outputs)


def test_a_convolution_that_is_trained_leaves_no_mark() -> None:
    conv = torch.nn.Conv2d(3, 8, 3)
    trace = sw.trace(lambda x: conv(x).sum().backward(), "f32[4, 3, 32, 32]")
    assert trace.op("conv2d").outputs[0].shape == (4, 8, 30, 30)
    assert not any(fact.unknown for op in trace.ops for fact in op.outputs)
