"""Parameters that `DistributedDataParallel` waits for, and those that it need not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import distributed as dist
from torch import nn

import shapewright as sw
from shapewright.record.report import Report
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class Net(nn.Module):
    def __init__(self, has_aux=False):
        super().__init__()
        self.has_aux = has_aux
        self.body = nn.Linear(6, 8)
        self.aux = nn.Sequential(nn.ReLU(), nn.Linear(8, 3))
        self.head = nn.Linear(8, 3)

    def forward(self, x, use=False):
        x = self.body(x)
        aux = self.aux(x) if self.has_aux or use else None
        return self.head(x), aux


x, y = torch.randn(5, 6), torch.tensor([0, 1, 2, 0, 1])
criterion = nn.CrossEntropyLoss()
"""
TRAINING = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    criterion(model(x)[0], y).backward()
    optimizer.step()
"""


@pytest.fixture(autouse=True)
def _no_group_stays() -> Iterator[None]:
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def rehearse_training(folder: Path, wrapped: str) -> Report:
    return rehearsed(folder, f"{HEAD}{wrapped}\n{TRAINING}")


@pytest.mark.parametrize(
    ("wrapped", "line"),
    [
        ("model = DDP(Net())", 25),
        ("model = nn.parallel.DistributedDataParallel(\n    Net(),\n)", 25),
        ("model = DDP(module=Net(True), find_unused_parameters=False)", 25),
        (
            "def wrap(net, **more):\n    return DDP(net, **more)\nmodel = wrap(Net())",
            26,
        ),
    ],
)
def test_the_wrapper_is_told_of_parameters_that_no_loss_uses(
    wrapped: str, line: int, tmp_path: Path
) -> None:
    (finding,) = rehearse_training(tmp_path, wrapped).findings
    assert finding.code == "unused-parameters"
    assert "2 parameters" in finding.message
    assert "`aux.1.weight`, `aux.1.bias`" in finding.message
    assert ("did not use them" in finding.message) == ("True" not in wrapped)
    places = {related.message: related.span.line for related in finding.related}
    assert places["`aux.1` is built here"] == 14
    assert (
        places["the model is wrapped here, without `find_unused_parameters=True`"]
        == line
    )
    assert finding.fixes[0].message == "`find_unused_parameters=True`"
    assert finding.fixes[0].checked


def test_the_line_that_reads_an_unused_layer_is_named(tmp_path: Path) -> None:
    (finding,) = rehearse_training(tmp_path, "model = DDP(Net())").findings
    places = {related.message: related.span.line for related in finding.related}
    assert places["`self.aux` is read here, and was not called"] == 19


@pytest.mark.parametrize(
    "wrapped",
    [
        "model = DDP(Net(), find_unused_parameters=True)",
        "net = Net()\nnet.aux.requires_grad_(False)\nmodel = DDP(net)",
    ],
)
def test_nothing_is_found_where_unused_parameters_are_expected(
    wrapped: str, tmp_path: Path
) -> None:
    report = rehearse_training(tmp_path, wrapped)
    assert not report.findings
    assert report.complete


def test_a_model_that_is_trained_in_no_part_is_found(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
model = DDP(Net(), find_unused_parameters=True)
other = nn.Linear(6, 3)
optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    with torch.no_grad():
        model(x)
    criterion(other(x), y).backward()
    optimizer.step()
""",
    )
    assert [finding.code for finding in report.findings] == ["no-gradient"]


def test_a_branch_on_unknown_values_is_no_mistake(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        HEAD
        + """\
class Gated(Net):
    def forward(self, x):
        gate = self.body(x).mean() > 1e6
        out, aux = super().forward(x, use=bool(gate))
        return out if aux is None else out + aux

model = DDP(Gated())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
""",
    )
    assert "unused-parameters" not in [finding.code for finding in report.findings]
    assert report.complete


CALLS = """
def train(model, **more):
    model(x, **more)[0].sum().backward()


def stop_syncing(model):
    with model.no_sync():
        train(model)
        train(model)
    train(model)


def evaluate(model, training=True):
    train(model, use=not training)
    model.eval()
    with torch.no_grad():
        model(x)
    model.train()


def join_losses(model, both):
    out, aux = model(x, use=True)
    again, _ = model(x, use=True)
    (out.sum() + again.sum() + (aux.sum() if both else 0)).backward()
    model(x)


def freeze_late(model):
    model.module.aux.requires_grad_(False)
    train(model)
    train(model)


def differentiate(model):
    torch.autograd.grad(model(x)[0].sum(), model.module.head.bias)
    model(x)


def train_twice(model):
    train(model)
    train(model)


refused = []


def attempt(name, run, **more):
    try:
        run(DDP(Net(), **more))
    except RuntimeError as error:
        assert "finished reduction" in str(error)
        refused.append(name)


attempt("twice", train_twice)
attempt("no sync", stop_syncing)
attempt("evaluated", evaluate)
attempt("with gradients", lambda m: (train(m), m.eval(), m(x)))
attempt("after an evaluation", lambda m: (evaluate(m), train(m)))
attempt("not synced after a pass", lambda m: (train(m), stop_syncing(m)))
attempt("frozen late", freeze_late)
attempt("both losses", lambda m: join_losses(m, True))
attempt("one loss", lambda m: join_losses(m, False))
attempt("found", lambda m: join_losses(m, False), find_unused_parameters=True)
attempt("no backward", lambda m: (m(x), m(x)))
attempt("a gradient", differentiate)
attempt("the model itself", lambda m: (train(m.module), train(m.module), m(x)))
attempt("static", train_twice, static_graph=True)
assert refused == [
    "twice", "with gradients", "after an evaluation", "not synced after a pass",
    "frozen late", "one loss",
], refused
"""


def test_calls_are_refused_where_torch_refuses_them(tmp_path: Path) -> None:
    exec(compile(HEAD + CALLS, "calls.py", "exec"), {"__name__": "calls"})
    dist.destroy_process_group()
    report = rehearsed(tmp_path, HEAD + CALLS)
    assert not [f for f in report.findings if f.severity == "error"]
    assert report.complete


def test_no_hook_stays_on_the_parameters_of_a_model() -> None:
    model = nn.Linear(4, 2)

    def train(x: torch.Tensor) -> None:
        if not dist.is_initialized():
            store = dist.HashStore()
            dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        nn.parallel.DistributedDataParallel(model)(x).sum().backward()

    report = sw.rehearse(train, torch.randn(3, 4), steps=2)
    assert not [f for f in report.findings if f.severity == "error"]
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())
