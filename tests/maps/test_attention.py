"""Attention is drawn with its stages, and each of them is torch's."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from maps.oracle import Case, assert_all_drawn, drawn, shape
from shapewright import explain
from shapewright.index_maps.evaluation import find_sources
from shapewright.views.drawing.index_map_text import (
    describe_keys_read,
    format_formulas,
    format_loop,
)

F = "torch.nn.functional."
SDPA = F + "scaled_dot_product_attention"


def soft(draw: random.Random, *sizes: int) -> torch.Tensor:
    """Numbers near 0, so that a softmax does not fall on one key."""
    generator = torch.Generator().manual_seed(draw.randint(0, 1 << 30))
    return torch.randn(*sizes, generator=generator)


def attentions(draw: random.Random) -> Iterator[Case]:
    while True:
        outer = shape(draw, draw.randint(0, 3), 3)
        width, out = draw.randint(1, 4), draw.randint(1, 4)
        if draw.random() < 0.5:
            out = width
        queries, keys = draw.randint(1, 5), draw.randint(1, 5)
        more: dict[str, object] = {}
        front = list(outer)
        if len(outer) == 2 and draw.random() < 0.4:
            more["enable_gqa"] = True
            front = [outer[0], draw.choice([1, 2])]
            outer = [outer[0], front[1] * draw.randint(1, 3)]
        kind = draw.random()
        if kind < 0.3:
            more["is_causal"] = True
        elif kind < 0.7:
            sizes = [draw.choice([1, queries]), keys]
            if draw.random() < 0.5:
                sizes = [*(draw.choice([1, size]) for size in outer), *sizes]
            mask = soft(draw, *sizes)
            more["attn_mask"] = mask > -0.3 if draw.random() < 0.6 else mask
        if draw.random() < 0.3:
            more["scale"] = draw.choice([1.0, 0.3])
        yield (
            SDPA,
            (
                soft(draw, *outer, queries, width),
                soft(draw, *front, keys, width),
                soft(draw, *front, keys, out),
            ),
            more,
        )


def layers(draw: random.Random) -> Iterator[Case]:
    while True:
        heads = draw.randint(1, 3)
        width = heads * draw.randint(1, 3)
        batch = [draw.randint(1, 3)] if draw.random() < 0.7 else []
        queries, keys = draw.randint(1, 4), draw.randint(1, 4)
        bias, apart = draw.random() < 0.7, draw.random() < 0.4
        kwidth, vwidth = (draw.randint(1, 4), draw.randint(1, 4)) if apart else (
            width, width
        )  # fmt: skip
        more: dict[str, object] = {
            "training": False,
            "need_weights": draw.random() < 0.6,
            "average_attn_weights": draw.random() < 0.6,
        }
        if draw.random() < 0.4:
            every = (batch[0] if batch else 1) * heads
            sizes = draw.choice([(queries, keys), (every, queries, keys)])
            mask = soft(draw, *sizes) > 0.8
            mask[..., 0] = False  # every query reads a key
            more["attn_mask"] = mask
        elif draw.random() < 0.3:
            more["attn_mask"] = soft(draw, queries, keys)
        elif draw.random() < 0.5:
            padding = torch.zeros(*batch, keys, dtype=torch.bool)
            padding[..., draw.randint(1, keys) :] = True
            more["key_padding_mask"] = padding
        if apart:
            more |= {
                "use_separate_proj_weight": True,
                "q_proj_weight": soft(draw, width, width),
                "k_proj_weight": soft(draw, width, kwidth),
                "v_proj_weight": soft(draw, width, vwidth),
            }
        yield (
            F + "multi_head_attention_forward",
            (
                soft(draw, queries, *batch, width),
                soft(draw, keys, *batch, kwidth),
                soft(draw, keys, *batch, vwidth),
                width,
                heads,
                None if apart else soft(draw, 3 * width, width),
                soft(draw, 3 * width) if bias else None,
                None,
                None,
                False,
                0.0,
                soft(draw, width, width),
                soft(draw, width) if bias else None,
            ),
            more,
        )


@pytest.mark.parametrize("cases", [attentions, layers])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_a_causal_attention_is_written_as_in_a_textbook() -> None:
    q, kv = torch.ones(1, 4, 3, 4), torch.ones(1, 2, 5, 4)
    (map_,) = drawn(SDPA, q, kv, kv, is_causal=True, enable_gqa=True).maps
    assert format_formulas(map_) == [
        "scores[n, h, q, k] = "
        "(sum over e < 4 of query[n, h, q, e] * key[n, h//2, k, e]) / 2",
        "allowed[n, h, q, k] = scores[n, h, q, k]  if k <= q",
        "                      -inf                otherwise",
        "weights[n, h, q, k] = (softmax over u < 5 of allowed[n, h, q, u])[k]",
        "out[n, h, q, d] = "
        "sum over k < 5 of weights[n, h, q, k] * value[n, h//2, k, d] where k <= q",
    ]
    assert "share a head of key and value" in map_.sentence


def test_stages_go_through_the_loops_that_they_share() -> None:
    q = torch.ones(2, 3)
    (map_,) = drawn(SDPA, q, q, q).maps
    assert format_loop(map_)[:3] == [
        "for q in range(2):",
        "    for k in range(2):",
        "        scores[q, k] = 0",
    ]
    assert format_loop(map_).count("for q in range(2):") == 1


def test_the_naive_loop_gives_what_torch_gives() -> None:
    """The loop is Python: run as it is printed, it computes the attention."""
    draw = random.Random(3)
    q, k, v = soft(draw, 2, 3, 4), soft(draw, 2, 5, 4), soft(draw, 2, 5, 4)
    made = drawn(SDPA, q, k, v, is_causal=True)
    blank = {stage.name: torch.zeros(stage.map.shape) for stage in made.maps[0].stages}
    names = {
        "query": q,
        "key": k,
        "value": v,
        "out": torch.zeros(2, 3, 4),
        "inf": torch.inf,
        "softmax": lambda steps: torch.stack(steps).softmax(0),
        **blank,
    }
    exec("\n".join(format_loop(made.maps[0])), names)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(names["out"], expected, atol=1e-5)


def test_pairs_that_a_mask_allows_are_counted_and_shown() -> None:
    q = torch.ones(3, 4)
    made = drawn(SDPA, q, q, q, is_causal=True)
    assert describe_keys_read(made) == [
        "a query reads 1 to 3 of 3 keys: 6 of 9 pairs are allowed"
    ]
    allowed = next(side for side in made.stages if side.name == "allowed")
    assert allowed.values[0] == [2, -torch.inf, -torch.inf]


def test_only_allowed_keys_are_read() -> None:
    q = torch.ones(3, 1)
    (map_,) = drawn(SDPA, q, q, q, is_causal=True).maps
    assert find_sources(map_, (1, 0), {}) == [
        ("query", (1, 0)),
        ("key", (0, 0)),
        ("key", (1, 0)),
        ("value", (0, 0)),
        ("value", (1, 0)),
    ]


def test_what_is_not_drawn_has_a_reason() -> None:
    q = torch.ones(2, 3)
    assert "random" in drawn(SDPA, q, q, q, dropout_p=0.5).reason
    assert "finite" in drawn(SDPA, q, q * torch.nan, q).reason
    mask = torch.ones(2, 2, dtype=torch.bool)
    both = drawn(SDPA, q, q, q, attn_mask=mask, is_causal=True)
    assert both.error or "together" in both.reason


def test_a_layer_is_drawn_with_its_projections() -> None:
    call = "nn.MultiheadAttention(4, 2)(f32[3, 4], f32[5, 4], f32[5, 4])"
    made = explain(call)
    names = [stage.name for stage in made.drawn.maps[0].stages]
    assert names == ["queries", "keys", "values", "scores", "weights", "heads"]
    assert [out.shape for out in made.drawn.outputs] == [(3, 4), (3, 5)]
    assert "keys[k, o] = in_proj_bias[o + 4] + " in str(made)


def test_a_layer_with_rows_of_its_own_behind_the_keys_is_not_drawn() -> None:
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True)
    x = torch.ones(3, 4)
    with torch.no_grad():
        given = (4, 2, layer.in_proj_weight, None, layer.bias_k, layer.bias_v, False)
        more = (0.0, layer.out_proj.weight, None)
        made = drawn(F + "multi_head_attention_forward", x, x, x, *given, *more)
    assert "rows after the keys" in made.reason
