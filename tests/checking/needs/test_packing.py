"""What layers need of packed sequences, against torch; and in whole programs.

Kernels compare little here and read beyond what is there, so calls are written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from checking.needs.oracle import check
from shapewright import api

ones = torch.ones


def packed(features: int = 8, dtype: torch.dtype = torch.float32) -> PackedSequence:
    """Three samples."""
    x = ones(3, 5, features, dtype=dtype)
    return pack_padded_sequence(x, torch.tensor([5, 4, 2]), batch_first=True)


STATES = ((1, 3, 6), (2, 3, 6), (1, 4, 6), (1, 3, 7), (3, 6))


def layers() -> Iterator[tuple[Any, ...]]:
    for kind in (nn.GRU, nn.RNN):
        layer = kind(8, 6)
        yield layer, (packed(9),)
        yield layer, (packed(8, torch.float64),)
        for shape in STATES:
            yield layer, (packed(), ones(shape))


def test_layers_on_packed_sequences() -> None:
    assert check(layers(), 1.0)["answered"] == 12


def kernels() -> Iterator[tuple[Any, ...]]:
    layer = nn.LSTM(8, 6)
    settings = list(layer._flat_weights), True, 1, 0.0, True, False
    for steps in (packed(9), packed(8, torch.float64), packed()):
        for shape in STATES:
            states = ones(shape), ones(shape)
            yield torch.lstm, (steps.data, steps.batch_sizes, states, *settings)
    too_long = packed()
    data = too_long.data[:-2]
    states = ones(1, 3, 6), ones(1, 3, 6)
    yield torch.lstm, (data, too_long.batch_sizes, states, *settings)


def test_kernels_on_packed_steps() -> None:
    check(kernels(), 1.0)


PROGRAM = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM({features}, 6, batch_first=True)

    def forward(self, x):
        lengths = {lengths}
        packed = pack_padded_sequence(x, lengths, batch_first=True{sorted})
        out, (h, c) = self.rnn(packed)
        return pad_packed_sequence(out, batch_first=True)[0], h


def example_inputs():
    return (torch.randn(4, 5, 8),)
"""

CASES = {
    "features": (9, "torch.tensor([5, 4, 3, 1])", "", "needs 9 input features, got 8"),
    "too few": (8, "torch.tensor([5, 4, 3])", "", "each of 4 samples in dim 0 of `x`"),
    "unsorted": (8, "torch.tensor([3, 4, 5, 1])", "", "but 3 comes before 4"),
    "too long": (8, "torch.tensor([7, 4, 3, 1])", "", "reads 15 steps"),
    "unknown": (9, "(x.sum(-1) > 0).sum(1)", ", enforce_sorted=False", "got 8 in the"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_with_a_packed_sequence(name: str, tmp_path: Path) -> None:
    features, lengths, order, said = CASES[name]
    file = tmp_path / "net.py"
    file.write_text(PROGRAM.format(features=features, lengths=lengths, sorted=order))
    report = api.check_target(f"{file}:Net")
    errors = [each.message for each in report.findings if each.severity == "error"]
    assert len(errors) == 1
    assert said in errors[0]
    assert report.complete
