"""Layers read rows of tables, and the elements among which they normalise."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape, whole

F = "torch.nn.functional."


def lookups(draw: random.Random) -> Iterator[Case]:
    while True:
        ids = whole(draw, 7, *shape(draw, draw.randint(0, 3)))
        table = floats(draw, 7, draw.randint(1, 4))
        yield F + "embedding", (ids, table), {"padding_idx": draw.choice([None, 2])}
        yield "torch.embedding", (table, ids), {}
        yield F + "one_hot", (ids, 7 + draw.randint(0, 2)), {}


def norms_of_last_dims(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 4))
        last = sizes[draw.randrange(len(sizes)) :]
        weight = floats(draw, *last) if draw.random() < 0.7 else None
        bias = floats(draw, *last) if draw.random() < 0.5 else None
        eps = draw.choice([1e-5, 0.1])
        x = floats(draw, *sizes)
        yield F + "layer_norm", (x, last, weight, bias, eps), {}
        yield F + "rms_norm", (x, last, weight), {}


def norms_of_channels(draw: random.Random) -> Iterator[Case]:
    while True:
        group, count = draw.randint(1, 3), draw.randint(1, 3)
        sizes = [draw.randint(2, 3), group * count, *shape(draw, draw.randint(1, 3), 3)]
        channels = sizes[1]
        given = {
            "weight": floats(draw, channels),
            "bias": floats(draw, channels) if draw.random() < 0.5 else None,
        }
        if draw.random() < 0.3:
            given = {}
        x = floats(draw, *sizes)
        mean, var = floats(draw, channels), floats(draw, channels).abs() + 1
        yield F + "group_norm", (x, count), {**given, "eps": 0.1}
        yield F + "batch_norm", (x, mean, var), dict(given)
        yield F + "batch_norm", (x, None, None), {**given, "training": True, "eps": 0.1}
        if x[0, 0].numel() > 1:
            yield F + "instance_norm", (x,), {**given, "eps": 0.1}
        yield "torch.prelu", (x, given.get("weight", floats(draw, 1))), {}
        yield F + "dropout", (x, 0.5, False), {}


@pytest.mark.parametrize("cases", [lookups, norms_of_last_dims, norms_of_channels])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_an_embedding_reads_the_row_that_a_number_names() -> None:
    ids = torch.tensor([[1, 0]])
    (map_,) = drawn(F + "embedding", ids, torch.ones(3, 2)).maps
    assert str(map_.reads[0]) == "weight[input[i, j], k]"


def test_a_group_is_read_by_channels() -> None:
    (map_,) = drawn(F + "group_norm", torch.ones(2, 6, 4, 4), 2).maps
    assert str(map_.reads[0]) == "input[n, 3*(c//3) + u, v, x]"
    assert str(map_.at) == "16*(c%3) + 4*h + w"


def vectors_with_more_dims(draw: random.Random) -> Iterator[Case]:
    while True:
        mean, spread = floats(draw, 2), floats(draw, 2).abs() + 1
        per_channel = mean, spread, floats(draw, 2, 1), floats(draw, 1, 2)
        training = {"training": draw.random() < 0.5}
        yield F + "batch_norm", (floats(draw, 3, 2), *per_channel), training
        bias = floats(draw, 1, 4)
        yield F + "linear", (floats(draw, 3), floats(draw, 4, 3), bias), {}
        more = {"weight": floats(draw, 3, 1), "reduction": "none"}
        yield F + "nll_loss", (floats(draw, 3, 3, 2), whole(draw, 3, 3, 2)), more
        yield F + "nll_loss", (floats(draw, 3), whole(draw, 3, 1)), {}
        slot = whole(draw, 5, 1)
        yield "torch.index_copy", (floats(draw, 5), 0, slot, floats(draw)), {}


def test_a_vector_may_have_further_dims_of_size_1() -> None:
    assert_all_drawn(vectors_with_more_dims(random.Random(0)), 20)


def test_what_one_map_cannot_say_has_a_reason() -> None:
    assert "random" in drawn(F + "dropout", torch.ones(3)).reason
