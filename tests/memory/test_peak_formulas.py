"""The bytes at the peak as a formula in the letters of the inputs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from shapewright.analysis.memory.peak_formulas import fit_formula
from shapewright.inputs.errors import InputError


def test_a_formula_of_a_batch() -> None:
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    memory = sw.memory(model, "f32[B=1000, 64]", formula=True)
    assert memory.formula is not None
    assert memory.formula.letters == ("B",)
    for size in (1000, 1001, 2500, 4000):
        peak = sw.memory(model, f"f32[{size}, 64]").peak.bytes
        assert memory.formula.compute(B=size) == peak
    assert f"formula      {memory.formula.text} bytes" in str(memory)
    assert memory.to_dict()["formula"] == memory.formula.text


def test_a_formula_is_of_the_sizes_that_were_tried() -> None:
    """Of a small batch the optimizer's step has the peak, of a large one backward."""
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    memory = sw.memory(model, "f32[B=16, 64]", formula=True)
    assert memory.formula is not None
    assert memory.formula.tried == ((16,), (32,), (48,))
    assert "up to B = 48" in str(memory)


class Scores(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x


def test_scores_of_attention_have_a_square() -> None:
    memory = sw.memory(Scores().eval(), "f32[B=4, T=128, 64]", formula=True)
    assert memory.formula is not None
    assert memory.formula.text == "8*B*T**2 + 256*B*T"
    assert memory.formula.compute(B=3, T=50) == 8 * 3 * 2500 + 256 * 150


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, : x.shape[1] // 2 // 3 * 3] * 2


def test_none_fits_where_sizes_are_rounded() -> None:
    memory = sw.memory(Halves().eval(), "f32[B=4, T=31]", formula=True)
    assert memory.formula is None
    assert any("no polynomial in `B` and `T`" in note for note in memory.notes)


def test_a_formula_needs_a_letter() -> None:
    with pytest.raises(InputError, match="letter"):
        sw.memory(Halves(), "f32[4, 31]", formula=True)


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ({(0,): 0}, "0"),
        ({(1,): 1, (0,): -4}, "B - 4"),
        ({(1,): -1, (0,): 1}, "-B + 1"),
    ],
)
def test_how_a_formula_is_written(terms: dict[tuple[int, ...], int], text: str) -> None:
    def measure(sizes: object) -> int:
        assert isinstance(sizes, dict)
        return sum(value * sizes["B"] ** powers[0] for powers, value in terms.items())

    formula = fit_formula({"B": 8}, measure)
    assert formula is not None
    assert formula.text == text
