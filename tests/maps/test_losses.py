"""Losses are drawn with what each element costs, and how that is reduced."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape, whole
from shapewright.views.drawing.index_map_text import format_formulas

F = "torch.nn.functional."
HOW = ["none", "mean", "sum"]


def pairs(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(0, 3))
        x, y = floats(draw, *sizes), floats(draw, *sizes)
        more = {"reduction": draw.choice(HOW)}
        yield F + draw.choice(["mse_loss", "l1_loss"]), (x, y), more
        yield F + "huber_loss", (x, y), {**more, "delta": draw.choice([1.0, 3.0])}
        yield F + "smooth_l1_loss", (x, y), {**more, "beta": draw.choice([1.0, 0.5])}
        yield F + "kl_div", (x, y.abs()), {**more, "log_target": False}
        share = (y.abs() + 1) / 12
        yield F + "binary_cross_entropy", (share, y.sign().abs()), more
        if draw.random() < 0.5:
            more = {**more, "weight": floats(draw, *sizes)}
        yield F + "binary_cross_entropy_with_logits", (x, share), more


def classes(draw: random.Random) -> Iterator[Case]:
    while True:
        count, rest = draw.randint(2, 5), shape(draw, draw.randint(0, 2), 3)
        batch = [draw.randint(1, 4)] if rest or draw.random() < 0.8 else []
        x = floats(draw, *batch, count, *rest) / 4
        more: dict[str, object] = {"reduction": draw.choice(HOW)}
        if draw.random() < 0.4:
            more["weight"] = floats(draw, count).abs() + 1
        target = whole(draw, count, *batch, *rest)
        if draw.random() < 0.3:
            more["ignore_index"] = draw.choice([0, 1, -1])
            keep = torch.ones_like(target)
            keep.view(-1)[0] = 0  # one at least counts
            target = target * keep + (1 - keep) * (count - 1)
            if more["ignore_index"] == -1:
                target.view(-1)[1:2] = -1
            elif count == 2:
                more["ignore_index"] = 0
        yield F + draw.choice(["nll_loss", "cross_entropy"]), (x, target), more
        shares = floats(draw, *batch, count, *rest).abs()
        more.pop("ignore_index", None)
        yield F + "cross_entropy", (x, shares), more


@pytest.mark.parametrize("cases", [pairs, classes])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_cross_entropy_is_a_softmax_a_choice_and_a_mean() -> None:
    scores, kinds = torch.ones(2, 3), torch.tensor([0, 2])
    (map_,) = drawn(F + "cross_entropy", scores, kinds).maps
    assert format_formulas(map_) == [
        "logs[n, c] = (log_softmax over u < 3 of input[n, u])[c]",
        "loss[n] = neg(logs[n, target[n]] if 0 <= target[n] < 3, else 0)",
        "out = (sum over n < 2 of loss[n]) / 2",
    ]


def test_what_is_ignored_does_not_count_in_the_mean() -> None:
    scores, kinds = torch.ones(2, 3), torch.tensor([0, -100])
    (map_,) = drawn(F + "nll_loss", scores, kinds).maps
    assert format_formulas(map_)[-2:] == [
        "total = sum over n < 2 of 1 where 0 <= target[n] < 3",
        "out = (sum over n < 2 of loss[n]) / total",
    ]


def test_smoothed_targets_are_not_drawn() -> None:
    scores, kinds = torch.ones(2, 3), torch.tensor([0, 2])
    made = drawn(F + "cross_entropy", scores, kinds, label_smoothing=0.1)
    assert "smoothed" in made.reason
