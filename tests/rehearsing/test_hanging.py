"""Steps after the first get remembered answers: they say what torch says."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from shapewright.engine.engine import Engine, EngineOptions
from shapewright.engine.memo import Memo
from shapewright.record.ops import Fact
from shapewright.record.trace import Trace
from shapewright.runtime import run
from shapewright.runtime.run_record import RunRequest


def conv() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(), nn.LazyLinear(10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(
            model(torch.randn(4, 3, 12, 12)), torch.zeros(4).long()
        ).backward()
        optimizer.step()


def attention() -> None:
    embed, layer = nn.Embedding(11, 16), nn.TransformerEncoderLayer(16, 2, 32)
    head = nn.Linear(16, 11)
    both = [*embed.parameters(), *layer.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(both)
    for _ in range(4):
        out = head(layer(embed(torch.zeros(7, 3, dtype=torch.long))))
        loss = F.cross_entropy(out.flatten(0, 1), torch.zeros(21, dtype=torch.long))
        loss.backward()
        nn.utils.clip_grad_norm_(both, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


def recurrent() -> None:
    model, head = nn.LSTM(4, 6, 2, batch_first=True), nn.Linear(6, 1)
    hidden = None
    for _ in range(4):
        out, hidden = model(torch.randn(3, 5, 4), hidden)
        hidden = tuple(each.detach() for each in hidden)
        head(out[:, -1]).pow(2).mean().backward()


def penalty() -> None:
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    for _ in range(3):
        x = torch.randn(5, 4, requires_grad=True)
        (grad,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        ((grad.norm(dim=1) - 1) ** 2).mean().backward()


def checkpointed() -> None:
    first, second = nn.Linear(4, 8), nn.Linear(8, 4)
    for _ in range(3):
        x = torch.randn(5, 4, requires_grad=True)
        for mode in (True, False):
            y = checkpoint(lambda v: second(first(v).relu()), x, use_reentrant=mode)
            y.sum().backward()


def mixed() -> None:
    weight = nn.Parameter(torch.randn(4, 4))
    for turn in range(3):
        x = torch.randn(6, 4)
        y = x @ weight
        a, b = y.chunk(2, dim=1)
        z = torch.cat([a * b, a.exp(), torch.where(b > 0, a, b)], 1)
        top, _ = z.topk(2, dim=1)
        (top.sum() + z.max(1).values.sum() + z.std() + turn).backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad
            weight.grad.zero_()


def items() -> None:
    images = torch.randn(8, 3, 6, 6)
    weight = nn.Parameter(torch.randn(4, 3, 6, 6))
    for turn in range(4):
        image = images[turn] * (1.0 + 0.1 * turn)
        bright, where = image.max(dim=0)
        image = torch.where(where > 0, image - bright, 0.5 * turn + image)
        image.sub_(0.3 * turn).div_(bright)
        image += bright
        images[turn].mul_(0.5 + turn)
        image.clamp_(0.0, 1.0 + turn)
        (weight * image).amax(dim=(1, 2, 3)).max(0, keepdim=True)[0].sum().backward()
        (weight.max(dim=0).values ** (2.0 + turn)).sum().backward()


PROGRAMS = [conv, attention, recurrent, penalty, checkpointed, mixed, items]


def traced(
    program, hangs: bool, monkeypatch: pytest.MonkeyPatch, memo: Memo | None = None
) -> Trace:
    """The program with torch's own graph, with or without remembered answers."""
    original = Engine.__init__

    def init(self, *args, **kwargs) -> None:
        original(self, *args, **kwargs)
        self.hangs = hangs

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "__init__", init)
        request = RunRequest(options=EngineOptions(graph=True), memo=memo)
        trace = run.record_run(program, (), {}, request).trace
    assert trace.complete, trace.findings
    return trace


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_remembered_answers_are_those_of_torch(program, monkeypatch) -> None:
    plain = traced(program, False, monkeypatch)
    hung = traced(program, True, monkeypatch)
    assert_same(plain, hung)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_answers_of_an_earlier_run_are_those_of_torch(program, monkeypatch) -> None:
    plain = traced(program, False, monkeypatch)
    memo = Memo()
    traced(program, True, monkeypatch, memo)
    assert_same(plain, traced(program, True, monkeypatch, memo))


def assert_same(plain: Trace, hung: Trace) -> None:
    """Two records of one program say the same."""
    assert len(plain.ops) == len(hung.ops)
    for one, other in zip(plain.ops, hung.ops, strict=True):
        assert (one.name, one.kind, one.arguments) == (
            other.name, other.kind, other.arguments,
        )  # fmt: skip
        assert one.outputs == other.outputs, one
        assert shapes(one.inputs) == shapes(other.inputs), one
    assert plain.states == hung.states


def shapes(facts: tuple[Fact, ...]) -> list[object]:
    """All but strides, which gradients of what is no parameter have of their own."""
    return [replace(fact, stride=None) for fact in facts]


def second_pass() -> None:
    layer = nn.Linear(3, 3)
    for _ in range(3):
        loss = layer(torch.randn(2, 3)).tanh().sum()
        loss.backward()
    loss.backward()


def write_between() -> None:
    layer = nn.Linear(3, 3)
    for turn in range(3):
        y = layer(torch.randn(2, 3)).sigmoid()
        z = y * 2
        if turn == 2:
            y.add_(1)
        z.sum().backward()


def write_to_input() -> None:
    layer = nn.Linear(3, 3)
    for turn in range(3):
        x = torch.randn(2, 3)
        x.mul_(0.5 + turn)
        y = layer(x)
        if turn == 2:
            x.mul_(0.1)
        y.sum().backward()


def write_to_leaf() -> None:
    layer = nn.Linear(3, 3)
    for turn in range(3):
        x = torch.zeros(2, 3).requires_grad_(turn == 2)
        x.mul_(0.5 + turn)
        layer(x).sum().backward()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (write_to_input, "modified by an inplace operation"),
        (write_to_leaf, "a leaf Variable that requires grad"),
        (second_pass, "backward through the graph a second time"),
        (write_between, "modified by an inplace operation"),
    ],
)
def test_what_autograd_refuses_is_refused_in_later_steps(
    program, words: str, monkeypatch
) -> None:
    original = Engine.__init__

    def init(self, *args, **kwargs) -> None:
        original(self, *args, **kwargs)
        self.hangs = True

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "__init__", init)
        request = RunRequest(options=EngineOptions(graph=True))
        trace = run.record_run(program, (), {}, request).trace
    assert not trace.complete
    assert words in trace.findings[-1].torch_message
