"""`sw.rehearse` of live functions: what is found, and that nothing is changed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import shapewright as sw
from shapewright.inputs.errors import InputError
from shapewright.views.data_formats import format_report_json
from tests.rehearsing.rehearsed import moments

calls = 0
seen: list[float] = []


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1)
    )


def equal(one: Any, other: Any) -> bool:
    """Whether two nests hold equal values, tensors with data included."""
    if isinstance(one, torch.Tensor):
        same = isinstance(other, torch.Tensor) and one.device == other.device
        return same and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize(
    "optimizer",
    [
        torch.optim.SGD,
        torch.optim.AdamW,
        lambda p: torch.optim.AdamW(p, foreach=False),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.RMSprop(p, centered=True),
    ],
)
def test_nothing_of_the_users_is_changed(before: int, optimizer: Any) -> None:
    torch.manual_seed(0)
    model = network()
    steps = optimizer(model.parameters())
    rates = torch.optim.lr_scheduler.StepLR(steps, 1)
    average = torch.optim.swa_utils.AveragedModel(model)
    x, y = torch.randn(8, 6), torch.randn(8, 1)
    losses: list[float] = []
    state = SimpleNamespace(step=0, best=None)
    count = 0

    def train() -> None:
        nonlocal count
        global calls
        count += 1
        calls += 1
        state.step += 1
        model.train()
        steps.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.step()
        rates.step()
        average.update_parameters(model)
        losses.append(loss.item())
        seen.append(loss.item())
        state.best = loss.detach()
        model.eval()
        model[0].requires_grad_(False)

    def now() -> Any:
        return copy.deepcopy(
            (
                model.state_dict(), steps.state_dict(), rates.state_dict(),
                average.state_dict(), [p.grad for p in model.parameters()],
                [p.requires_grad for p in model.parameters()],
                [m.training for m in model.modules()],
                x, y, losses, seen, vars(state), count, calls,
                torch.get_rng_state(), torch.is_grad_enabled(),
            )
        )  # fmt: skip

    for _ in range(before):
        train()
        model.requires_grad_(True)
    was = now()
    report = sw.rehearse(train)
    assert report.rehearsal is not None
    assert report.rehearsal.steps == 3
    for one, other in zip(was, now(), strict=True):
        assert equal(one, other)
    train()  # it goes on as if nothing had been
    assert count == before + 1


def test_the_second_call_meets_what_the_first_has_left() -> None:
    cell, head = nn.RNNCell(6, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], 0.1)
    state = SimpleNamespace(hidden=torch.zeros(8, 4))

    def train(x: torch.Tensor, y: torch.Tensor) -> None:
        optimizer.zero_grad()
        state.hidden = cell(x, state.hidden)
        F.mse_loss(head(state.hidden), y).backward()
        optimizer.step()

    report = sw.rehearse(train, "f32[8, 6]", "f32[8, 1]")
    (found,) = report.findings
    assert found.severity == "error"
    assert "second time" in found.message + found.torch_message
    assert torch.equal(state.hidden, torch.zeros(8, 4))


def test_mistakes_of_a_step_are_found() -> None:
    model = nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 1))
    forgotten = nn.Linear(6, 6)
    optimizer = torch.optim.Adam(model.parameters())
    losses = []

    def train(x: torch.Tensor, y: torch.Tensor) -> None:
        loss = F.mse_loss(model(forgotten(x)), y)
        loss.backward()
        optimizer.step()
        losses.append(loss)

    report = sw.rehearse(train, "f32[8, 6]", "f32[8, 1]")
    codes = {each.code for each in report.findings}
    assert codes == {"gradients-not-cleared", "not-in-optimizer", "graph-kept"}
    assert report.exit_code == 1
    assert losses == []
    line = train.__code__.co_firstlineno
    kept = next(each for each in report.findings if each.code == "graph-kept")
    assert kept.span is not None
    assert kept.span.line == line + 4


def test_shapes_that_do_not_fit_are_found_as_by_check() -> None:
    model = network()
    optimizer = torch.optim.Adam(model.parameters())

    def train(x: torch.Tensor, y: torch.Tensor) -> None:
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()

    report = sw.rehearse(train, "f32[8, 6]", "f32[8]")
    assert [each.code for each in report.findings] == ["outer-broadcast"]
    assert sw.rehearse(train, "f32[8, 6]", "f32[8, 1]").findings == ()


def test_a_whole_training_is_called_once() -> None:
    x = torch.randn(70, 6)

    def main(epochs: int) -> None:
        model = network()
        optimizer = torch.optim.Adam(model.parameters())
        data = torch.utils.data.TensorDataset(x, x[:, :1])
        for _ in range(epochs):
            for images, labels in torch.utils.data.DataLoader(data, 16):
                optimizer.zero_grad()
                F.mse_loss(model(images), labels).backward()
                optimizer.step()

    report = sw.rehearse(main, epochs=2)
    assert report.findings == ()
    story, *_ = moments(report.rehearsal.story, "loop")  # type: ignore[union-attr]
    assert (story.turns, story.text) == ((1,), "call")
    (batches,) = moments(report.rehearsal.story, "batches")  # type: ignore[union-attr]
    assert batches.shapes[-1] == "(6, 6) float32, (6, 1) float32"


def test_what_is_shown_is_the_story_and_the_findings() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def train(x: torch.Tensor, y: torch.Tensor) -> None:
        F.mse_loss(model(x), y).backward()
        optimizer.step()

    report = sw.rehearse(train, "f32[8, 6]", "f32[8, 1]", steps=1000)
    text = str(report)
    assert "train  on cpu: 3 optimizer steps in" in text
    assert "calls 1-3 of 1,000" in text
    assert "loss () f32" in text
    assert "warning[gradients-not-cleared]" in text
    printed: list[str] = []
    report._repr_pretty_(SimpleNamespace(text=printed.append), False)
    assert printed == [text.rstrip()]
    data = json.loads(format_report_json(report))
    assert data["cost"]["steps"] == 3
    assert data["story"]["inner"][0]["text"] == "call"


def test_the_device_is_claimed_only_where_it_is_given() -> None:
    told: list[Any] = []

    def train() -> None:
        told.append(torch.cuda.is_available())
        print(torch.cuda.get_device_name() if told[-1] else "none")

    def fails() -> None:
        assert torch.cuda.is_available() == torch.cuda.is_initialized()
        assert torch.cuda.get_device_properties(0).total_memory == 80 << 30

    assert sw.rehearse(fails, device="H100 80GB").complete
    assert told == []
    with pytest.raises(InputError, match="no device `abacus`"):
        sw.rehearse(train, device="abacus")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("H900", "did you mean `H100` or `H200`?"),
        ("2x H1000 80GB", "did you mean `2x H100 80GB` or"),
        ("nvidia a10", "did you mean `nvidia A100`?"),
        ("cud", "did you mean `cuda`?"),
        ("3090", "did you mean `RTX 3090`?"),
        ("B200", 'there is cpu, cuda, mps, "H200"'),
    ],
)
def test_an_unknown_device_has_a_suggestion(text: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        sw.rehearse(lambda: None, device=text)
    assert f"no device `{text}` is known; {words}" in str(raised.value)


def test_files_are_left_alone(tmp_path: Path) -> None:
    model = network()

    def train() -> None:
        torch.save(model.state_dict(), tmp_path / "model.pt")
        model.load_state_dict(torch.load(tmp_path / "model.pt"))

    assert sw.rehearse(train).findings == ()
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_a_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import sys\nassert sys.argv[1:] == ['--lr', '1']"
    )
    assert sw.rehearse(str(tmp_path / "train.py"), "--lr", "1").complete


@pytest.mark.parametrize(
    ("target", "steps", "error"),
    [(5, None, TypeError), (network, 0, ValueError)],
)
def test_what_cannot_be_meant_is_said(target: Any, steps: Any, error: Any) -> None:
    with pytest.raises(error):
        sw.rehearse(target, steps=steps)


def test_gradients_of_a_live_model_come_again_after_they_were_cleared() -> None:
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train() -> None:
        for _ in range(3):
            optimizer.zero_grad()
            assert model.weight.grad is None
            F.mse_loss(model(torch.zeros(2, 4)), torch.zeros(2, 3)).backward()
            assert model.weight.grad is not None
            kept = model.weight.grad.clone()
            model.weight.grad = kept
            assert model.weight.grad is kept
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    report = sw.rehearse(train)
    assert [each.message for each in report.findings] == []
    assert model.weight.grad is None
