"""Inputs found by search, when nobody gave any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright.inputs.callables import bind_inputs, make_loaded
from shapewright.inputs.python_files import ProgramFolder
from shapewright.inputs.search import search_inputs
from shapewright.inputs.spec import Spec, parse_spec


def searched(found: Any) -> tuple[str, str, Any]:
    """Spec, reason and output of what is found, run on torch's meta device."""
    found = found.to("meta") if isinstance(found, nn.Module) else found
    loaded = make_loaded(found, "f", ProgramFolder(Path()))
    with loaded.program.running():
        result = search_inputs(loaded)
    assert result is not None
    assert result.fits
    candidate = result.candidate
    assert isinstance(candidate.inputs, Spec)
    bind_inputs(loaded, candidate.inputs)
    assert parse_spec(str(candidate.inputs)) == candidate.inputs
    args, kwargs = candidate.arguments()
    with torch.device("meta"):
        output = found(*args, **kwargs)
    return str(candidate.inputs), candidate.reason, output


class Wrapped(nn.Module):
    """A layer behind a forward with the given body."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x)


class Masked(Wrapped):
    def forward(self, x: Any, mask: Any, *, labels: Any) -> Any:
        assert mask is None
        assert labels.dtype == torch.int64
        return self.layer(x)


class Tokens(Wrapped):
    def forward(self, input_ids: Any = None, attention_mask: Any = None) -> Any:
        assert attention_mask is None
        return self.layer(input_ids)


class Tail(Wrapped):
    def forward(self, scale: float = 1.0, x: Any = None, **more: Any) -> Any:
        return self.layer(x)


class Many(Wrapped):
    def forward(self, *inputs: Any) -> Any:
        return self.layer(inputs[0])


class Matrix(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(12, 5))

    def forward(self, x: Any) -> Any:
        return x @ self.weight


def lenet() -> nn.Module:
    features = nn.Sequential(nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5))
    return nn.Sequential(features, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 10))


SIZES = "sizes by "
FOUND = [
    (
        lenet(),
        "f32[2, 1, 32, 32]",
        SIZES + "`0.0`, Conv2d(1, 6); 400 features at `F.linear` ask for H x W",
        (2, 10),
    ),
    (
        nn.Conv2d(3, 8, 3),
        "f32[2, 3, 224, 224]",
        SIZES + "Conv2d(3, 8)",
        (2, 8, 222, 222),
    ),
    (nn.Conv1d(4, 8, 3), "f32[2, 4, 128]", SIZES + "Conv1d(4, 8)", (2, 8, 126)),
    (nn.Conv3d(4, 8, 3), "f32[2, 4, 16, 112, 112]", SIZES + "Conv3d(4, 8)", None),
    (
        nn.Sequential(nn.Flatten(), nn.Linear(784, 10)),
        "f32[2, 784]",
        SIZES + "`1`, Linear(in_features=784, out_features=10)",
        (2, 10),
    ),
    (
        nn.Sequential(nn.Linear(7, 10), nn.BatchNorm1d(10)),
        "f32[2, 7]",
        SIZES + "`0`, Linear(in_features=7, out_features=10)",
        (2, 10),
    ),
    (
        Wrapped(nn.Embedding(9, 4)),
        "i64[2, 16]=0..9",
        SIZES + "`layer`, Embedding(9, 4)",
        None,
    ),
    (
        Wrapped(nn.Embedding(1, 4)),
        "i64[2, 16]=zeros",
        SIZES + "`layer`, Embedding(1, 4)",
        None,
    ),
    (Wrapped(nn.GRU(6, 4)), "f32[16, 2, 6]", SIZES + "`layer`, GRU(6, 4)", None),
    (
        Wrapped(nn.LSTM(6, 4, batch_first=True)),
        "f32[2, 16, 6]",
        SIZES + "`layer`, LSTM(6, 4)",
        None,
    ),
    (nn.GRUCell(6, 4), "f32[2, 6]", SIZES + "GRUCell(6, 4)", (2, 4)),
    (
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        "f32[2, 16, 8]",
        SIZES + "TransformerEncoderLayer",
        (2, 16, 8),
    ),
    (
        nn.MultiheadAttention(8, 2),
        "f32[T=16, B=2, 8], f32[T, B, 8], f32[T, B, 8]",
        SIZES + "MultiheadAttention",
        None,
    ),
    (
        nn.LayerNorm((4, 6)),
        "f32[2, 16, 4, 6]",
        SIZES + "LayerNorm((4, 6))",
        (2, 16, 4, 6),
    ),
    (
        nn.BatchNorm2d(5),
        "f32[2, 5, 224, 224]",
        SIZES + "BatchNorm2d(5, eps=1e-05)",
        None,
    ),
    (
        Masked(nn.Linear(3, 2)),
        "f32[B=2, 3], None, labels=i64[B]=1",
        SIZES + "`layer`, Linear(in_features=3, out_features=2); by the name `labels`",
        (2, 2),
    ),
    (
        Tail(nn.Linear(3, 2)),
        "x=f32[2, 3]",
        SIZES + "`layer`, Linear(in_features=3, out_features=2)",
        (2, 2),
    ),
    (
        Many(nn.Linear(3, 2)),
        "f32[2, 3]",
        SIZES + "`layer`, Linear(in_features=3, out_features=2)",
        (2, 2),
    ),
    (Matrix(), "f32[2, 12]", "`x` meets a tensor of (12, 5)", (2, 5)),
]


@pytest.mark.parametrize(("model", "spec", "by", "shape"), FOUND)
def test_sizes_come_from_the_first_layer(
    model: nn.Module, spec: str, by: str, shape: tuple[int, ...] | None
) -> None:
    found, reason, output = searched(model)
    assert found == spec
    assert reason == f"found by search: {by}"
    if shape is not None:
        assert tuple(output.shape) == shape


def test_by_name() -> None:
    found, reason, _ = searched(Tokens(nn.Embedding(9, 4)))
    assert found == "i64[2, 16]=0..9"
    assert reason == "found by search: sizes by `layer`, Embedding(9, 4)"


def test_a_lazy_layer_says_nothing() -> None:
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(3))
    trace = sw.trace(lazy)
    assert trace.complete
    said = "inputs: f32[2, 3, 224, 224] (found by search: usual shapes were tried)"
    assert trace.assumptions[-1].message == said


def test_functions() -> None:
    assert searched(lambda x, y: x @ y)[0] == "f32[T=16, T], f32[T, T]"
    assert searched(lambda image: image.flatten(2))[0] == "f32[2, 3, 224, 224]"
    assert searched(lambda: 3)[1:] == ("it needs no inputs", 3)
    assert searched(lambda n=2: n)[1:] == ("it needs no inputs", 2)
