"""Inputs found by search: the first candidate that runs, on torch's meta device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from shapewright.inputs.bind import bind
from shapewright.inputs.guess import guess
from shapewright.inputs.loaded import loaded_object
from shapewright.inputs.program import Program
from shapewright.inputs.spec import Spec


def searched(found: Any) -> tuple[str, str, Any]:
    """Spec, reason and output of the first candidate that runs."""
    found = found.to("meta") if isinstance(found, nn.Module) else found
    loaded = loaded_object(found, "f", Program(Path()))
    for candidate in guess(loaded):
        assert isinstance(candidate.inputs, Spec)
        bind(loaded, candidate.inputs)
        args, kwargs = candidate.arguments()
        try:
            with torch.device("meta"):
                output = found(*args, **kwargs)
        except (RuntimeError, ValueError, TypeError, AttributeError):
            continue
        return str(candidate.inputs), candidate.reason, output
    raise AssertionError("no candidate runs")


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
        assert labels.shape == (1,)
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


FOUND = [
    (lenet(), "f32[1, 1, 32, 32]", "`0.0`, Conv2d(1, 6)", (1, 10)),
    (nn.Conv2d(3, 8, 3), "f32[1, 3, 224, 224]", "Conv2d(3, 8)", (1, 8, 222, 222)),
    (nn.Conv1d(4, 8, 3), "f32[1, 4, 128]", "Conv1d(4, 8)", (1, 8, 126)),
    (nn.Conv3d(4, 8, 3), "f32[1, 4, 16, 112, 112]", "Conv3d(4, 8)", None),
    (
        nn.Sequential(nn.Flatten(), nn.Linear(784, 10)),
        "f32[1, 784]",
        "`1`, Linear(in_features=784, out_features=10)",
        (1, 10),
    ),
    (
        nn.Sequential(nn.Linear(7, 10), nn.BatchNorm1d(10)),
        "f32[2, 7]",
        "`0`, Linear(in_features=7, out_features=10)",
        (2, 10),
    ),
    (Wrapped(nn.Embedding(9, 4)), "i64[1, 16]=ones", "`layer`, Embedding(9, 4)", None),
    (Wrapped(nn.Embedding(1, 4)), "i64[1, 16]=zeros", "`layer`, Embedding(1, 4)", None),
    (Wrapped(nn.GRU(6, 4)), "f32[16, 1, 6]", "`layer`, GRU(6, 4)", None),
    (
        Wrapped(nn.LSTM(6, 4, batch_first=True)),
        "f32[1, 16, 6]",
        "`layer`, LSTM(6, 4)",
        None,
    ),
    (nn.GRUCell(6, 4), "f32[1, 6]", "GRUCell(6, 4)", (1, 4)),
    (
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        "f32[1, 16, 8]",
        "`self_attn`, MultiheadAttention",
        (1, 16, 8),
    ),
    (
        nn.MultiheadAttention(8, 2),
        "f32[16, 1, 8], f32[16, 1, 8], f32[16, 1, 8]",
        "MultiheadAttention",
        None,
    ),
    (nn.LayerNorm((4, 6)), "f32[1, 16, 4, 6]", "LayerNorm((4, 6))", (1, 16, 4, 6)),
    (nn.BatchNorm2d(5), "f32[2, 5, 16, 16]", "BatchNorm2d(5, eps=1e-05)", None),
    (
        Masked(nn.Linear(3, 2)),
        "f32[1, 3], None, labels=i64[1]=1",
        "`layer`, Linear(in_features=3, out_features=2)",
        (1, 2),
    ),
    (
        Tail(nn.Linear(3, 2)),
        "x=f32[1, 3]",
        "`layer`, Linear(in_features=3, out_features=2)",
        (1, 2),
    ),
    (
        Many(nn.Linear(3, 2)),
        "f32[1, 3]",
        "`layer`, Linear(in_features=3, out_features=2)",
        (1, 2),
    ),
    (Matrix(), "f32[1, 12]", "Matrix", (1, 5)),
]


@pytest.mark.parametrize(("model", "spec", "by", "shape"), FOUND)
def test_sizes_come_from_the_first_layer(
    model: nn.Module, spec: str, by: str, shape: tuple[int, ...] | None
) -> None:
    found, reason, output = searched(model)
    assert found == spec
    assert reason == f"found by search: sizes by {by}"
    if shape is not None:
        assert tuple(output.shape) == shape


def test_by_name() -> None:
    found, reason, _ = searched(Tokens(nn.Embedding(9, 4)))
    assert found == "i64[1, 16]=ones"
    assert reason == "found by search: `input_ids` is taken for token ids"


def test_a_lazy_layer_says_nothing() -> None:
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(3))
    first = guess(loaded_object(lazy, "lazy", Program(Path())))[0]
    assert str(first.inputs) == "f32[1, 3, 224, 224]"
    assert first.reason == "found by search: usual shapes were tried"


def test_functions() -> None:
    assert searched(lambda x, y: x @ y)[0] == "f32[16, 16], f32[16, 16]"
    assert searched(lambda image: image.flatten(2))[0] == "f32[1, 3, 224, 224]"
    assert searched(lambda: 3)[1:] == ("it takes no inputs", 3)
    assert searched(lambda n=2: n)[1:] == ("none of its inputs has to be given", 2)
