"""Calls on a person's own tensors: their values are shown, nothing of them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw

INDEX = torch.tensor([[0, 1, 2, 0], [2, 2, 2, 2]])


def test_values_are_the_persons_own() -> None:
    x = torch.arange(12.0).view(3, 4) * 100
    drawn = sw.explain(torch.gather, x, 0, INDEX).drawn
    assert drawn.text == "torch.gather(f32[3, 4], 0, i64[2, 4])"
    assert drawn.inputs[0].values == x.tolist()
    assert drawn.outputs[0].values == x.gather(0, INDEX).tolist()
    assert drawn.checked == 8


def test_methods_and_keywords() -> None:
    x = torch.arange(12.0).view(3, 4)
    for call in (
        sw.explain(torch.Tensor.gather, x, 0, INDEX),
        sw.explain(x.gather, 0, INDEX),
        sw.explain(x.gather, dim=0, index=INDEX),
    ):
        assert call.drawn.name == "torch.Tensor.gather"
        assert call.drawn.outputs[0].values == x.gather(0, INDEX).tolist()


def test_what_is_written_in_place_is_a_copy() -> None:
    x = torch.zeros(3, 4, requires_grad=True)
    drawing = sw.explain(x.scatter_add_, 0, INDEX, torch.ones(2, 4))
    assert x.sum() == 0
    assert x._version == 0
    assert x.grad_fn is None
    assert "in place: `out` is `input`, written" in str(drawing)
    out = torch.zeros(3)
    sw.explain(torch.add, torch.ones(3), torch.ones(3), out=out)
    assert out.tolist() == [0, 0, 0]


def test_running_statistics_and_random_numbers_stay() -> None:
    mean, var = torch.zeros(3), torch.ones(3)
    before = torch.get_rng_state()
    batch_norm = nn.functional.batch_norm
    sw.explain(batch_norm, torch.ones(2, 3), mean, var, training=True)
    generator = torch.Generator().manual_seed(3)
    mine = generator.get_state()
    sw.explain(nn.functional.dropout, torch.ones(4))
    sw.explain(torch.bernoulli, torch.full((4,), 0.5), generator=generator)
    assert mean.tolist() == [0, 0, 0]
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(mine, generator.get_state())


def test_copies_lie_in_storage_as_the_originals_do() -> None:
    whole = torch.arange(4000.0).view(40, 100)
    part = whole[30:33, 2:10:2]
    drawing = sw.explain(part.gather, 0, INDEX)
    side = drawing.drawn.inputs[0]
    assert (side.stride, side.offset) == (part.stride(), part.storage_offset())
    assert side.values == part.tolist()
    flipped = sw.explain(torch.transpose, part, 0, 1).drawn.outputs[0]
    assert flipped.shares == "input"
    assert flipped.offset == part.storage_offset()
    assert flipped.stride == part.t().stride()


def test_two_views_of_one_storage_stay_two_views_of_one_storage() -> None:
    x = torch.arange(8.0)
    drawn = sw.explain(torch.Tensor.copy_, x[:4], x[4:]).drawn
    assert [side.offset for side in drawn.inputs] == [0, 4]
    assert x.tolist() == list(range(8))


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor([[1 + 2j, 3 - 1j]]).conj(),
        torch.tensor([[1 + 2j, 3 - 1j]]).imag,
        torch.tensor([[1 + 2j, 3 - 1j]]).conj().imag,
        torch.ones(1, 1).expand(1, 2),
        nn.Parameter(torch.ones(1, 2)),
        torch.ones(1, 2, dtype=torch.bfloat16),
        torch.ones(1, 2, dtype=torch.float64)[:, 1:],
    ],
)
def test_values_that_are_read_through_a_lens(x: torch.Tensor) -> None:
    index = torch.zeros(1, 1, dtype=torch.long)
    drawn = sw.explain(torch.gather, x, 1, index).drawn
    assert drawn.inputs[0].values == x.tolist()
    assert drawn.inputs[0].stride == x.stride()
    assert drawn.checked == 1


def test_meta_and_huge_tensors_are_shown_by_shape() -> None:
    meta = sw.explain(torch.gather, torch.empty(3, 4, device="meta"), 0, INDEX)
    assert "-> out    (2, 4) float32" in str(meta)
    assert "not drawn: a meta tensor has no values" in str(meta)
    huge = torch.empty(1 << 25, dtype=torch.uint8)
    drawing = sw.explain(torch.add, huge, 1)
    assert "-> out    (33554432,) uint8" in str(drawing)
    assert "not drawn: too large to run" in str(drawing)


def test_a_small_part_of_a_huge_storage_is_shown_with_its_values() -> None:
    huge = torch.zeros(1 << 22, 16)
    part = huge[1000:1003, :4]
    drawn = sw.explain(torch.gather, part, 0, INDEX).drawn
    assert drawn.inputs[0].offset == 16000
    assert drawn.checked == 8


def test_a_layout_without_strides_says_so() -> None:
    x = torch.eye(3).to_sparse()
    text = str(sw.explain(torch.mm, x, torch.ones(3, 3)))
    assert "not drawn: a tensor of layout sparse_coo has no strides" in text
    assert "torch.mm(f32[3, 3], f32[3, 3])" in text


def test_lists_of_tensors_have_names() -> None:
    drawn = sw.explain(torch.cat, [torch.ones(2, 3), torch.ones(1, 3)], dim=0).drawn
    assert drawn.text == "torch.cat([f32[2, 3], f32[1, 3]], dim=0)"
    assert [side.name for side in drawn.inputs] == ["tensors.0", "tensors.1"]


def test_arguments_that_a_map_does_not_know_leave_the_call_undrawn() -> None:
    out = torch.zeros(2, 4)
    text = str(sw.explain(torch.gather, torch.ones(3, 4), 0, INDEX, out=out))
    assert (
        "not drawn: it is called with arguments that its drawing does not support"
        in text
    )
    assert out.sum() == 0


def test_what_torch_refuses_is_drawn_with_its_message() -> None:
    text = str(sw.explain(torch.add, torch.ones(2, 3), torch.ones(4)))
    assert "other  (4,) float32" in text
    assert "torch: The size of tensor a (3) must match" in text


@pytest.mark.parametrize(
    "func", [len, nn.Linear(2, 2), nn.Linear, lambda x: x, 3, None, torch.Tensor]
)
def test_only_operators_of_torch_are_run(func: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"is not an operator of torch; sw\.trace"):
        sw.explain(func, torch.ones(2))


def test_a_call_in_text_has_its_arguments_in_the_text() -> None:
    with pytest.raises(TypeError, match="in the text"):
        sw.explain("torch.gather", torch.ones(2))
