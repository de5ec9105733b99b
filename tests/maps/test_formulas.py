"""What a map adds to an operator's name is seen in the formula and the naive loop."""

from __future__ import annotations

import torch

from maps.oracle import drawn
from shapewright.views.drawing.index_map_text import format_formula, format_loop


def test_keyword_arguments_are_seen() -> None:
    x = torch.ones(2, 3)
    (map_,) = drawn("torch.add", x, x, alpha=2).maps
    assert format_formula(map_) == [
        "out[i, j] = add(input[i, j], other[i, j], alpha=2)"
    ]
    (_, indices) = drawn("torch.topk", x, 2).maps
    assert format_loop(indices)[-1] == (
        "        out[i, j] = topk(steps, k=2, largest=True, sorted=True).indices[j]"
    )


def test_what_comes_after_a_sum_is_seen() -> None:
    x = torch.ones(3, 3)
    (map_,) = drawn("torch.addmm", x, x, x, alpha=2).maps
    product = "(sum over k < 3 of mat1[i, k] * mat2[k, j])"
    assert format_formula(map_) == [f"out[i, j] = ({product} * 2) + input[i, j]"]
    assert format_loop(map_)[-1] == "        out[i, j] = (out[i, j] * 2) + input[i, j]"


def test_a_function_of_a_tensor_without_dims_is_seen() -> None:
    (map_,) = drawn("torch.argmax", torch.tensor(3.0)).maps
    assert format_formula(map_) == ["out = argmax over u < 1 of input"]
