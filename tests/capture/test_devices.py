"""Devices are claimed: no GPU is here, and the record says what a GPU would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from shapewright.record.ops import collect_leaves


def devices(trace: sw.Trace) -> set[str]:
    """Where everything that the ops made claims to be."""
    return {fact.device for op in trace.ops for fact in op.outputs}


def mixed(trace: sw.Trace) -> list[str]:
    return [f.message for f in trace.findings if f.code == "mixed-devices"]


class Scaled(nn.Module):
    """Makes a tensor where its input is, or where it is told to."""

    def __init__(self, device: str | None = None) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.device = device
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.linspace(0, 1, 3, device=self.device or x.device)
        return self.linear(x) * scale + self.shift


@pytest.mark.parametrize(
    "move",
    [
        lambda model: model.to("cuda"),
        lambda model: model.cuda(),
        lambda model: model.to(torch.device("cuda", 0)),
        lambda model: model.to("cuda:0", torch.float64),
    ],
)
def test_a_model_that_the_program_moves(move: Callable[[Any], Any]) -> None:
    model = Scaled()

    def program(x: Tensor) -> Tensor:
        moved = move(model)
        return moved(x.to("cuda").to(moved.linear.weight.dtype))

    trace = sw.trace(program, torch.randn(2, 4))
    assert trace.complete
    assert not trace.findings
    assert trace.output.device == "cuda:0"
    assert trace.op("linear").inputs[1].device == "cuda:0"
    assert {str(value.device) for value in model.state_dict().values()} == {"cpu"}
    assert model.linear.weight.dtype == torch.float32


def test_a_model_that_is_moved_back_is_on_the_cpu() -> None:
    def program(x: Tensor) -> Tensor:
        model = Scaled().cuda().cpu()
        return model(x)

    trace = sw.trace(program, "f32[2, 4]")
    assert not trace.findings
    assert trace.output.device == "cpu"


def test_inputs_may_claim_a_device() -> None:
    trace = sw.trace(lambda x: x @ x.mT, "f32[2, 4]@cuda")
    assert devices(trace) == {"cuda:0"}


def test_the_device_of_a_context_and_the_default() -> None:
    def in_context() -> Any:
        with torch.device("cuda:1"):
            a = torch.zeros(3)
            layer = nn.Linear(3, 2)
        return layer(a), torch.ones(2), torch.zeros(1, device="cuda")

    trace = sw.trace(in_context)
    assert [fact.device for fact in collect_leaves(trace.output)] == [
        "cuda:1",
        "cpu",
        "cuda:0",
    ]

    def by_default() -> Any:
        torch.set_default_device("cuda")
        return torch.arange(3), torch.rand(2, 2).softmax(1), torch.tensor([1.0]).item()

    trace = sw.trace(by_default)
    assert [fact.device for fact in collect_leaves(trace.output)] == [
        "cuda:0",
        "cuda:0",
    ]
    assert str(torch.get_default_device()) == "cpu"


def test_what_follows_from_a_tensor_is_where_it_is() -> None:
    def program(x: Tensor) -> Any:
        return (
            x.new_zeros(3), torch.zeros_like(x), x.new_tensor([1.0]), x.exp(), x[0],
            torch.arange(4, device=x.device), x.sum().reshape(1), x.T.contiguous(),
            torch.empty(2).to(x), torch.cat([x, x]), x.topk(2).indices, x > 0,
            torch.where(x > 0, x, 0.0), nn.functional.one_hot(x.argmax(1), 4),
        )  # fmt: skip

    trace = sw.trace(program, "f32[2, 4]@cuda:1")
    assert not trace.findings
    assert {fact.device for fact in collect_leaves(trace.output)} == {"cuda:1"}


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x * torch.tensor(2.0),
        lambda x: torch.tensor(2.0) - x,
        lambda x: x[torch.tensor([0, 1])],
        lambda x: x[:, torch.tensor([True, False, True, False])],
        lambda x: torch.where(x > 0, x, torch.tensor(0.0)),
        lambda x: x.clamp(torch.tensor(0.0), 1.0),
        lambda x: torch.zeros(2, 4, device="cuda").copy_(x.cpu()),
        lambda x: x.masked_fill(x > 0, torch.tensor(1.0)),
        lambda x: x.cpu() + torch.ones(2, 4),
    ],
)
def test_what_a_gpu_lets_pass(program: Callable[[Tensor], Any]) -> None:
    trace = sw.trace(program, "f32[2, 4]@cuda")
    assert trace.complete
    assert not trace.findings


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x + torch.ones(2, 4),
        lambda x: torch.cat([x, torch.ones(1, 4)]),
        lambda x: nn.Linear(4, 3)(x),
        lambda x: x @ torch.ones(4, 2),
        lambda x: torch.ones(2, 4).add_(x),
        lambda x: torch.where(torch.ones(2, 4) > 0, x, 0.0),
        lambda x: nn.functional.embedding(torch.tensor([0]), x),
        lambda x: x.cuda(1) * x,
        lambda x: torch.ones(2, 4) * torch.tensor(2.0, device=x.device),
    ],
)
def test_what_a_gpu_refuses(program: Callable[[Tensor], Any]) -> None:
    trace = sw.trace(program, "f32[2, 4]@cuda")
    assert trace.complete
    assert len(mixed(trace)) == 1
    (finding,) = trace.findings
    assert finding.torch_message.startswith("Expected all tensors to be on the same")
    assert finding.span is not None


def test_an_index_on_the_gpu_does_not_reach_the_cpu() -> None:
    def program(x: Tensor) -> Tensor:
        return torch.ones(4, 5)[x.argmax(1)]

    trace = sw.trace(program, "f32[2, 4]@cuda")
    assert mixed(trace) == ["a tensor on `cpu` is indexed by one on `cuda:0`"]
    assert trace.findings[0].torch_message.startswith("indices should be either on cpu")


def test_the_same_call_is_found_at_each_of_its_lines() -> None:
    def program(x: Tensor) -> Tensor:
        y = x + torch.ones(2, 4)
        return y * 2, x + torch.ones(2, 4)

    trace = sw.trace(program, "f32[2, 4]@cuda")
    assert len(mixed(trace)) == 2


def test_a_forgotten_device_is_found_once_at_its_line() -> None:
    class Forgets(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(5):
                x = x + torch.linspace(0, 1, 4)
            return x

    trace = sw.trace(Forgets(), "f32[2, 4]@cuda")
    assert mixed(trace) == ["`add` gets tensors on `cuda:0` and `cpu`"]
    assert trace.findings[0].count == 5
    line = Forgets.forward.__code__.co_firstlineno + 2
    assert trace.findings[0].span is not None
    assert trace.findings[0].span.line == line
    assert trace.output.device == "cuda:0"


def test_a_model_left_on_the_cpu_is_found_where_the_program_calls_it() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(4, 4)
            self.two = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            for layer in (self.one, self.two):
                x = layer(x)
            return x

    trace = sw.trace(Two(), "f32[2, 4]@cuda")
    assert mixed(trace) == ["`linear` gets tensors on `cuda:0` and `cpu`"]
    (finding,) = trace.findings
    assert finding.span is not None
    assert finding.span.line == Two.forward.__code__.co_firstlineno + 2
    assert (finding.module, finding.count) == ("one", 2)
    assert trace.complete


@pytest.mark.parametrize("device", ["cuda:0", "meta", "cpu"])
def test_gradients_are_where_their_tensors_are(device: str) -> None:
    told = []

    def program() -> None:
        layer = nn.Linear(4, 3).to(device)
        x = torch.rand(2, 4, device=device, requires_grad=True)
        layer(x).sum().backward()
        loss = layer(x).sum()
        bias, nothing, whole = torch.autograd.grad(
            loss, [layer.bias, torch.zeros(1, requires_grad=True), x], allow_unused=True
        )
        assert nothing is None
        (alone,) = torch.autograd.grad(layer(x).sum(), x)
        weight = layer.weight.grad
        told.extend(str(g.device) for g in (weight, x.grad, bias, whole, alone))

    trace = sw.trace(program)
    assert trace.complete
    assert told[-5:] == [device] * 5


def test_what_meets_the_meta_device_is_there() -> None:
    layer = nn.Conv2d(3, 5, 2)

    def program() -> Tensor:
        return layer(torch.rand(1, 3, 8, 8, device="meta"))

    assert program().device.type == "meta"  # in a real run
    trace = sw.trace(program)
    assert trace.complete
    assert trace.output.device == "meta"
