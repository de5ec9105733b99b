"""Sizes worked out by rules from one run, held against plain runs at those sizes."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import shapewright as sw
from shapewright.commands.solve.evidence import derive_samples
from shapewright.commands.solve.runs import Runner, from_arguments, has_same_result
from shapewright.runtime.run_record import RunRequest
from solving.compared import checked, written, wrong
from solving.random_programs import program


def derived(model, spec):
    """The runner of a model, and what rules make of its first run."""
    runner = Runner(model, from_arguments((spec,), {}), RunRequest())
    base = runner.at(runner.usual)
    run, watched = runner.watch(base.sizes)
    assert has_same_result(run, base)
    found = derive_samples(watched.seen.recipe, base, runner.feeding)
    assert found is not None
    return runner, found


def held(model, spec, times=8, low=20, high=150):
    """How many of some sizes rules lead to the end at; all agree with runs."""
    runner, found = derived(model, spec)
    draw = random.Random(0)
    ends = 0
    for _ in range(times):
        sizes = {
            name: draw.randint(1, 9) if name == "B" else draw.randint(low, high)
            for name in runner.free
        }
        assert found.agrees(runner.at(sizes)), sizes
        ends += found.full(found.at(sizes))
    return ends


class Attention(nn.Module):
    """Size arithmetic of its own, slices, a mask made of values."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(12, 36)
        self.register_buffer("mask", torch.ones(256, 256, dtype=torch.bool).tril())

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        assert T <= 256
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (each.view(B, T, 3, C // 3).transpose(1, 2) for each in (q, k, v))
        scores = (q @ k.transpose(-2, -1)).masked_fill(~self.mask[:T, :T], -1e9)
        places = torch.arange(T, device=x.device)[None, :, None]
        y = (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(B, T, C)
        return F.gelu(y + places)


class Written(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        out = x.new_zeros(x.shape[0], x.shape[1] // 2 + 1)
        out[:, : x.shape[1] // 2] = x[:, ::2][:, : x.shape[1] // 2]
        out += 1
        return torch.cat([out, x], 1).relu_()


CASES = {
    "attention": (Attention(), "f32[B, T, 12]"),
    "written": (Written(), "f32[B, T]"),
    "lstm": (nn.LSTM(8, 16, 2, batch_first=True), "f32[B, T, 8]"),
    "norms": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(3, 2)),
        "f32[B, 3, H, W]",
    ),
    "encoder": (
        nn.TransformerEncoderLayer(12, 3, 24, batch_first=True), "f32[B, T, 12]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rules_tell_what_runs_show(name):
    assert held(*CASES[name]) == 8


@pytest.mark.parametrize("seed", [0, 1, 4, 7, 9, 10, 12, 16, 24, 27, 33, 37, 56])
def test_rules_tell_what_random_programs_show(seed):
    held(program(seed), "f32[B, 4, T]")


def test_they_end_where_the_program_goes_another_way():
    class Halved(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x = x.relu()
            if x.shape[1] > 100:
                x = x[:, ::2]
            return x + 1

    runner, found = derived(Halved(), "f32[B, T]")
    assert found.full(found.at({"B": 2, "T": 100}))
    assert len(found.at({"B": 2, "T": 101}).keys) == 1
    assert found.agrees(runner.at({"B": 2, "T": 101}))


class Hidden(nn.Module):
    """A size that Python makes plain."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, : int(np.ceil(np.float64(x.shape[1]) / 3))]


def test_what_python_hides_is_not_believed():
    runner, found = derived(Hidden(), "f32[B, T]")
    assert not found.agrees(runner.at({"B": 2, "T": 40}))
    trace, found = checked(Hidden(), "f32[B, T]")
    assert not found
    assert str(trace.output.shape) == "(B, (T + 2)//3)"
    assert trace.formulas.derived == 0


def test_how_many_sizes_stand_behind_a_formula_is_told():
    trace = sw.formulas(nn.Linear(8, 4), "f32[B, T, 8]")
    assert trace.formulas.derived >= 20
    assert f"by rules at {trace.formulas.derived} more" in str(trace)
    assert sw.Trace.from_json(trace.to_json()).formulas == trace.formulas


def test_formulas_are_exact_where_no_size_of_the_range_is_left_out():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.ReLU(), nn.MaxPool2d(2))
    trace = sw.trace(model, "f32[2, 3, H, 64]")
    assert trace.formulas.exact
    assert "exact: by rules at all" in str(trace)
    assert json.loads(trace.to_json())["formulas"]["exact"]
    assert str(trace.output.shape) == "(2, 4, (H - 1)//4, 15)"
    many = sw.trace(model, "f32[B, 3, H, W]")
    assert not many.formulas.exact
    assert "checked at" in str(many)


def test_a_comparison_that_only_some_sizes_meet_is_not_exact_beyond_it():
    class Odd(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :-1] if x.shape[1] == 77 else x

    trace, found = checked(Odd(), "f32[3, T]", 40)
    assert not found
    low, high = (getattr(trace.formulas.letters["T"], n) for n in ("low", "high"))
    assert not trace.formulas.exact or not low <= 77 <= high


@pytest.mark.parametrize("seed", [558, 800, 954, 8225])
def test_programs_that_had_a_wrong_formula(seed):
    made = program(seed)
    trace, found = checked(made, "f32[B, 4, T]", 15, seed)
    assert not found, (made.names, trace.formulas, found[:2])


TURNING = {
    "one size": (lambda x: x[:, :-1] if x.shape[1] == 77 else x, "f32[B, T]"),
    "two sizes": (lambda x: x[:, :-1] if x.shape[1] in (33, 88) else x, "f32[B, T]"),
    "equal letters": (
        lambda x: x[:, :-1] if x.shape[1] == x.shape[2] else x, "f32[B, H, W]",
    ),
    "twice a letter": (
        lambda x: x[:, :-1] if x.shape[1] == 2 * x.shape[2] else x, "f32[B, H, W]",
    ),
    "a remainder": (lambda x: x[:, :-1] if x.shape[1] % 7 == 3 else x, "f32[B, T]"),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNING)
def test_nothing_is_claimed_where_the_program_turns_at_few_sizes(name):
    program, spec = TURNING[name]
    trace = sw.formulas(program, spec)
    ranges = trace.formulas.letters
    letters = {n: each.low for n, each in ranges.items()}
    points = [{**letters, n: size} for n in ranges for size in (33, 77, 88, 38)]
    points += [{**letters, "H": 100, "W": 50}, {**letters, "H": 90, "W": 90}]
    for sizes in points:
        if set(sizes) != set(ranges):
            continue
        if not all(ranges[name].holds(size) for name, size in sizes.items()):
            continue
        plain = sw.trace(program, written(spec, sizes))
        assert not list(wrong(trace, plain, sizes)), sizes
