"""A model that fails on supposed values runs again, with larger tensors known."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

import shapewright as sw


class Counted(nn.Module):
    """Takes as many features as a mask of the size of an image counts."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = self.mask()
        count = int(F.interpolate(mask, size=(10, 10)).sum())
        return x[:, :count].view(-1, self.features)

    def mask(self) -> torch.Tensor:
        return torch.ones(1, 1, 400, 400)


class Drawn(Counted):
    """The same of a mask that is drawn: constants alone do not tell what it counts."""

    def mask(self) -> torch.Tensor:
        return torch.rand(1, 1, 400, 400).ceil()


def test_what_a_large_mask_counts_is_known_where_the_run_fails_without() -> None:
    trace = sw.trace(Counted(100), "f32[8, 300]")
    assert trace.complete
    assert trace.output.shape == Counted(100)(torch.zeros(8, 300)).shape == (8, 100)
    assert not trace.assumptions


def test_a_model_that_fails_with_known_values_too_fails_as_it_did() -> None:
    trace = sw.trace(Drawn(7), "f32[8, 300]")
    assert not trace.complete
    assert [each.message for each in trace.assumptions]


def test_a_run_that_comes_to_its_end_is_made_once() -> None:
    runs = []

    class Watched(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            runs.append(1)
            return x[: int(torch.ones(400, 400).sum())]

    trace = sw.trace(Watched(), "f32[8, 3]")
    assert trace.complete
    assert len(runs) == 1
