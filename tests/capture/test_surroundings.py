"""Globals, closures, classes and caches: no tensor of a run stays in them."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from capture.left import nothing_left

LAST: Any = None
KEPT: Any = torch.ones(1)
LOG: list[Any] = ["start"]
BY_SHAPE: dict[Any, Any] = {}
COUNT = [0]
SHAPES: list[Any] = []


@functools.lru_cache(maxsize=8)
def positions(length: int, device: Any) -> torch.Tensor:
    return torch.arange(length, device=device)


@functools.cache
def mask(length: int) -> torch.Tensor:
    return torch.ones(length, length).tril()


def default(x: torch.Tensor, memory: list[torch.Tensor] = []) -> torch.Tensor:  # noqa: B006
    memory.append(x)
    return x


class Keeper(nn.Module):
    """Stores what it computes in every place that outlives a call."""

    cache: dict[str, Any] = {}
    last: Any = None

    def __init__(self, store: list[Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.store = lambda value: store.append(value)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        global LAST, KEPT, NEW
        y = self.linear(x)
        LAST = KEPT = NEW = y
        LOG.append(y)
        BY_SHAPE[tuple(y.shape)] = {"output": [y]}
        COUNT[0] += 1
        SHAPES.append(tuple(y.shape))
        self.cache["y"] = y
        Keeper.last = y
        default.last = y  # type: ignore[attr-defined]
        self.store(y)
        return default(y) + positions(4, x.device) + mask(4)[0]


def test_what_holds_a_tensor_of_the_run_is_put_back() -> None:
    store: list[Any] = []
    keeper = Keeper(store)
    kept = KEPT
    with nothing_left(keeper):
        trace = sw.trace(keeper, "f32[3, 4]")
    assert trace.complete
    assert LAST is None
    assert KEPT is kept
    assert "NEW" not in globals()
    assert LOG == ["start"]
    assert BY_SHAPE == {}
    assert Keeper.cache == {}
    assert Keeper.last is None
    assert store == []
    assert not hasattr(default, "last")
    assert default.__defaults__ == ([],)
    assert positions.cache_info().currsize == 0
    assert mask.cache_info().currsize == 0
    assert any("LAST" in note for note in trace.notes)


def test_what_holds_none_is_the_programs_to_keep() -> None:
    before = COUNT[0]
    SHAPES.clear()
    sw.trace(Keeper([]), "f32[3, 4]")
    assert COUNT[0] == before + 1
    assert SHAPES == [(3, 4)]


def test_a_real_run_afterwards_is_real() -> None:
    keeper = Keeper([])
    sw.trace(keeper, "f32[3, 4]")
    assert keeper(torch.ones(3, 4)).device.type == "cpu"
    BY_SHAPE.clear()
    LOG[1:] = []
    Keeper.cache.clear()


class Threaded(nn.Module):
    """Branches that run in threads, on a norm with statistics."""

    def __init__(self, pool: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.pool = pool

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.pool:
            with ThreadPoolExecutor(2) as pool:
                return torch.cat(list(pool.map(self.norm, [x, x])))
        out: list[torch.Tensor] = []
        thread = threading.Thread(target=lambda: out.append(self.norm(x)))
        thread.start()
        thread.join()
        return out[0]


def test_threads_of_the_program_run_without_data_too() -> None:
    for pool, rows in ((True, 6), (False, 3)):
        model = Threaded(pool)
        x = torch.randn(3, 4)
        with nothing_left(model):
            trace = sw.trace(model, x)
        assert trace.complete, trace.findings
        assert trace.output.shape == (rows, 4)
        assert [op.name for op in trace.ops].count("F.batch_norm") == rows // 3
        assert any("threads were started" in note for note in trace.notes)


def test_a_thread_that_goes_on_ends_at_its_next_call() -> None:
    norm = nn.BatchNorm1d(4)
    go, done = threading.Event(), []
    started: list[threading.Thread] = []

    def background(x: torch.Tensor) -> None:
        go.wait()
        done.append("began")
        norm(x)
        done.append("never")

    started: list[threading.Thread] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        thread = threading.Thread(target=background, args=(x,), daemon=True)
        started.append(thread)
        thread.start()
        return x * 2

    x = torch.randn(3, 4)
    trace = sw.trace(program, x)
    assert trace.complete
    mean = norm.running_mean.clone()  # type: ignore[union-attr]
    go.set()
    started[0].join()
    assert done == ["began"]
    assert torch.equal(norm.running_mean, mean)  # type: ignore[arg-type]


def test_threads_of_others_are_left_alone() -> None:
    linear = nn.Linear(4, 4)
    enter, leave = threading.Event(), threading.Event()
    seen: list[torch.Tensor] = []

    def other() -> None:
        enter.wait()
        seen.append(nn.Linear(4, 4)(torch.ones(2, 4)))
        seen.append(nn.Parameter(torch.ones(3)))
        leave.set()

    thread = threading.Thread(target=other)
    thread.start()

    def program(x: torch.Tensor) -> torch.Tensor:
        enter.set()
        leave.wait()
        return linear(x)

    trace = sw.trace(program, "f32[2, 4]")
    thread.join()
    assert [value.device.type for value in seen] == ["cpu", "cpu"]
    assert [op.name for op in trace.ops] == ["F.linear"]


LARGE = [[[index]] for index in range(20_000)]


def test_a_large_global_hides_neither_the_model_nor_the_closure_of_a_function():
    model = nn.Linear(4, 4)
    weight, before = model.weight, model.weight.detach().clone()
    kept: list[torch.Tensor] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        assert LARGE
        model.half()
        kept.append(model(x.half()))
        return kept[-1]

    trace = sw.trace(program, "f32[3, 4]")
    assert trace.complete
    assert trace.output.dtype == "float16"
    assert model.weight is weight
    assert torch.equal(model.weight, before)
    assert kept == []


class Unwilling(dict[str, Any]):
    """A mapping that must not be asked, as a library's lazy ones must not."""

    def values(self) -> Any:
        raise ValueError("asked for its values")

    def __iter__(self) -> Any:
        raise ValueError("asked for its names")

    def __len__(self) -> int:
        raise ValueError("asked for its length")


UNWILLING = Unwilling()


def test_what_a_class_redefines_is_never_called() -> None:
    inner = Unwilling()

    def program(x: torch.Tensor) -> torch.Tensor:
        return x if inner is UNWILLING else x + 1

    trace = sw.trace(program, "f32[3]")
    assert trace.complete
    assert trace.output.shape == (3,)


def test_a_module_that_came_where_another_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "STORE = []\n\n\ndef keep(x):\n    STORE.append(x * 2)\n    return x\n"
    for name in ("first_store", "second_store"):
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("first_store", "second_store"):
        module = importlib.import_module(name)
        sw.trace(lambda x, module=module: module.keep(x), "f32[40000]")
        assert module.STORE == []
        del sys.modules[name]
