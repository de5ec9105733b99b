"""A drawing read back from JSON is the drawing, and its maps give the same elements."""

from __future__ import annotations

import json
import random
from itertools import islice

import pytest
import torch

import shapewright as sw
from maps.families import families
from maps.oracle import drawn
from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.index_maps.json_codec import VERSION, UnreadableDrawing, decode, encode
from shapewright.runtime.operator_calls.drawing import SHOWN, check_map
from shapewright.views.drawing.drawing import Drawing


def tensor_of(side: Side) -> torch.Tensor:
    """A tensor of the values that stand in the JSON."""
    dtype = getattr(torch, side.dtype)
    if not side.size:
        return torch.empty(side.shape, dtype=dtype)
    return torch.tensor(side.values, dtype=dtype)


@pytest.mark.parametrize("family", families())
@pytest.mark.filterwarnings("ignore")
def test_decoded_maps_give_the_same_elements(family: str) -> None:
    for name, args, kwargs in islice(families()[family](random.Random(2)), 12):
        made = drawn(name, *args, **kwargs)
        text = encode(made)
        again = decode(text)
        assert isinstance(again, Drawn)
        assert {**json.loads(encode(again)), "arguments": 0} == {
            **json.loads(text),
            "arguments": 0,  # a dtype among them is read back as its text
        }
        if any(side.size > SHOWN for side in (*again.inputs, *again.outputs)):
            continue
        before = {side.name: tensor_of(side) for side in again.inputs}
        for one, out in zip(again.maps, again.outputs, strict=True):
            counted = check_map(name, one, tensor_of(out), before, most=8)
            assert counted or not out.size


@pytest.mark.parametrize(
    "call",
    [
        "torch.gather(f32[4, 6], 0, i64[2, 6])",
        "F.conv2d(f32[1, 3, 6, 6], f32[4, 3, 3, 3], padding=1)",
        "F.scaled_dot_product_attention(f32[3, 4], f32[5, 4], f32[5, 4])",
        "torch.matmul(f32[2, 3], f32[4, 5])",
        "f32[4, 6]",
    ],
)
def test_it_looks_the_same_when_it_is_read_back(call: str) -> None:
    drawing = sw.explain(call) if "(" in call else sw.draw(torch.ones(4, 6))
    again = Drawing.from_json(drawing.to_json())
    assert again.text() == drawing.text()
    assert again.svg() == drawing.svg()


def test_an_expression_is_a_number_a_letter_or_one_kind() -> None:
    weight = torch.ones(1, 1, 3)
    made = drawn("torch.conv1d", torch.ones(1, 1, 8), weight, stride=2, padding=1)
    told = json.loads(encode(made))
    assert told["version"] == VERSION
    (one,) = told["maps"]
    at = {"sum": [[2, "w"], [1, "u"]], "plus": -1}
    assert one["reads"][0] == {"tensor": "input", "at": ["n", 0, at]}
    assert one["conditions"] == [{"within": at, "low": 0, "high": 8}]
    assert one["loops"] == [["u", 3]]


def test_numbers_that_json_lacks_are_kept() -> None:
    made = drawn("torch.neg", torch.tensor([torch.inf, -torch.inf, 1.0]))
    assert decode(encode(made)).outputs[0].values == [-torch.inf, torch.inf, -1.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing", "not JSON"),
        ("[]", "not a drawing"),
        ('{"kind": "trace", "version": 1}', "not a drawing"),
        ('{"kind": "drawing", "version": 99}', "written by a newer Shapewright"),
        ('{"kind": "drawing", "version": 1}', "it lacks 'text'"),
    ],
)
def test_what_is_no_drawing_is_told_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UnreadableDrawing, match=said):
        Drawing.from_json(text)


def test_fields_that_are_not_known_are_ignored() -> None:
    told = json.loads(encode(drawn("torch.neg", torch.ones(2))))
    told["later"] = told["maps"][0]["later"] = 1
    assert decode(json.dumps(told)).maps == drawn("torch.neg", torch.ones(2)).maps
