"""Lazy layers that the program itself builds: they meet their shape in the run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from shapewright.api import trace_target


def test_a_lazy_layer_that_is_built_in_the_run() -> None:
    def program(x: Tensor) -> Tensor:
        head = nn.Sequential(nn.LazyConv2d(5, 4), nn.Flatten(), nn.LazyLinear(6))
        assert nn.parameter.is_lazy(head[2].weight)
        out = head(x)
        assert head[2].in_features == 5 * 7 * 9
        assert tuple(head[2].weight.shape) == (6, 315)
        return out

    trace = sw.trace(program, "f32[2, 3, 10, 12]")
    assert trace.complete, trace.findings
    assert str(trace.output) == "f32[2, 6]"
    assert str(trace.op("linear").inputs[1]) == "f32[6, 315]"


def test_one_that_norms_a_batch_and_one_on_the_meta_device() -> None:
    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        norm = nn.LazyBatchNorm1d()
        with torch.device("meta"):
            layer = nn.LazyLinear(2)
        return norm(x), layer(x.to("meta"))

    trace = sw.trace(program, "f32[8, 5]")
    assert trace.complete, trace.findings
    assert [str(fact) for fact in trace.output] == ["f32[8, 5]", "f32[8, 2]"]


def test_one_in_the_model_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "from torch import nn\n\n\ndef build():\n    return nn.LazyLinear(3)\n"
    Path("model.py").write_text(text)
    trace = trace_target("model.py:build()", "f32[4, 7]").trace
    assert trace.complete, trace.findings
    assert str(trace.output) == "f32[4, 3]"
    assert trace.totals.parameters == 24
