"""An explanation leaves the run as it was; without an error there is none to see."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

from explaining.notes import explained, note_of, raised


class Counting(nn.Module):
    """A layer of the program's own, that counts, draws and speaks."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 5)
        self.calls = 0
        self.seen: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen.append(x)
        print("forward", self.calls)
        return self.linear(x) + torch.rand(5) * random.random()


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.inner = Counting()
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(x)
        return x + self.inner(self.drop(x))


def run(step: Callable[..., BaseException]) -> tuple[list[torch.Tensor], list[Any]]:
    """Tensors and plain values after a run that fails: of the model and of Python."""
    torch.manual_seed(1)
    random.seed(1)
    numpy.random.seed(1)
    model, x = Residual(), torch.randn(3, 4)
    error = step(lambda: model(x))
    saved = model.state_dict()
    tensors = [*saved.values(), x, *model.inner.seen, torch.get_rng_state()]
    plain = [
        [tensor._version for tensor in tensors],
        [sorted(vars(module)) for module in model.modules()],
        model.inner.calls,
        random.getstate(),
        numpy.random.get_state()[1].tolist(),
        type(error),
        error.args,
    ]
    return tensors, plain


def test_the_programs_own_code_runs_once_and_draws_once(capsys: Any) -> None:
    bare, told = run(raised), run(explained)
    assert capsys.readouterr().out == "forward 1\nforward 1\n"
    assert all(map(torch.equal, bare[0], told[0]))
    assert bare[1] == told[1]


def test_what_the_programs_own_code_gives_is_told() -> None:
    model = Residual()
    note = note_of(lambda: model(torch.randn(3, 4)))
    assert "`+` cannot line up `x` (3, 4)" in note
    assert "`self.inner(self.drop(x))` (3, 5): 4 against 5" in note
    assert "5 is `out_features` of `inner.linear`" in note


def test_tensors_keep_their_values_versions_and_graphs() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    index = torch.tensor([0, 1])
    y = x * 2
    weight = torch.randn(5, 6)
    before = [(t.clone(), t._version, t.data_ptr()) for t in (x, y, index, weight)]
    node = y.grad_fn

    def fails() -> None:
        y[index] @ weight

    assert note_of(fails)
    after = [(t, t._version, t.data_ptr()) for t in (x, y, index, weight)]
    for one, two in zip(before, after, strict=True):
        assert torch.equal(one[0], two[0])
        assert one[1:] == two[1:]
    assert y.grad_fn is node
    assert not any(hasattr(tensor, "_sw") for tensor in (x, y, index, weight))
    y.sum().backward()
    assert x.grad is not None


def test_iterators_lists_and_hooks_are_left_alone() -> None:
    tensors = iter([torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4)])
    stack = [torch.randn(3, 4), torch.randn(3, 4)]
    layer, calls = nn.Linear(4, 4), []
    layer.register_forward_hook(lambda *_: calls.append(1))

    explained(lambda: next(tensors) @ torch.randn(3, 3))
    assert len(list(tensors)) == 2
    explained(lambda: stack.pop() @ torch.randn(3, 3))
    assert len(stack) == 1
    explained(lambda: layer(torch.randn(2, 4)) @ torch.randn(3, 3))
    assert calls == [1]


def test_no_property_of_the_programs_is_asked_twice() -> None:
    class Holder:
        asked = 0

        @property
        def weight(self) -> torch.Tensor:
            Holder.asked += 1
            return torch.randn(3, 3)

    holder = Holder()
    x = torch.randn(2, 4)
    note = note_of(lambda: x @ holder.weight)
    assert "`holder.weight` (3, 3)" in note
    assert Holder.asked == 2  # once in each of the two runs


def test_builtins_do_not_ask_the_programs_objects_twice() -> None:
    class Data:
        asked = 0

        def __len__(self) -> int:
            Data.asked += 1
            return 3

    data, weight = Data(), torch.ones(5, 5)
    note = note_of(lambda: torch.ones(2, len(data)) @ weight)
    assert "`torch.ones(2, len(data))` (2, 3)" in note
    assert Data.asked == 2  # once in each of the two runs
    sizes = [4, 3]
    note = note_of(lambda: torch.ones(2, max(sizes, key=lambda n: -n)) @ weight)
    assert "(2, 3) as rows in `weight` (5, 5)" in note


def test_what_wrote_already_is_not_written_again() -> None:
    x, weight = torch.ones(3, 4), torch.ones(5, 5)
    error = explained(lambda: x.unsqueeze_(0).mul_(2) @ weight)
    assert "`x.unsqueeze_(0).mul_(2)` (1, 3, 4)" in error.__notes__[0]
    assert torch.equal(x, torch.full((1, 3, 4), 2.0))


def test_what_wrote_into_no_name_is_not_told() -> None:
    x, weight = torch.ones(3, 4), torch.ones(5, 5)
    assert not hasattr(explained(lambda: x[0].unsqueeze_(0) @ weight), "__notes__")


def test_batch_statistics_are_those_of_one_run() -> None:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(5, 2))
    assert getattr(explained(lambda: model(torch.randn(3, 4))), "__notes__", [])
    assert model[0].num_batches_tracked == 1


QUIET = """
import sys, torch, shapewright as sw
names = (torch.matmul, torch.nn.Module.__call__, torch.nn.Module._call_impl,
         torch.nn.functional.linear, torch.Tensor.__matmul__, torch.compile)
before = set(sys.modules)
model = torch.nn.Linear(3, 4)
with sw.explaining():
    inside = (torch.matmul, torch.nn.Module.__call__, torch.nn.Module._call_impl,
              torch.nn.functional.linear, torch.Tensor.__matmul__, torch.compile)
    modes = torch.overrides._get_current_function_mode_stack()
    model(torch.randn(2, 3)).sum().backward()
@sw.explaining()
def step():
    return model(torch.randn(2, 3))
step()
assert all(one is two for one, two in zip(names, inside)), "patched"
assert modes == [], modes
ours = {name for name in set(sys.modules) - before if name.startswith("shapewright")}
print(sorted(ours))
"""


def test_without_an_error_nothing_is_imported_or_patched() -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUIET], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout.strip()
        == "['shapewright.commands', 'shapewright.commands.explain']"
    )


def test_the_programs_files_are_written_once(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def written(x: torch.Tensor) -> torch.Tensor:
        with log.open("a") as stream:
            stream.write("called\n")
        return x * 2

    x, y = torch.randn(3, 5), torch.randn(3, 4)
    error = explained(lambda: written(x) @ y)
    assert "`written(x)` (3, 5)" in error.__notes__[0]
    assert log.read_text() == "called\n"


@pytest.mark.parametrize("enabled", [True, False])
def test_modes_of_the_program_stay(enabled: bool) -> None:
    def fails() -> object:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return nn.Linear(3, 4)(torch.randn(2, 5))

    with torch.set_grad_enabled(enabled):
        assert "needs 3 input features, got 5" in note_of(fails)
        assert torch.is_grad_enabled() is enabled
    assert not torch.is_autocast_enabled("cpu")
