"""Inputs found for odd signatures run for real, and can be pasted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import shapewright as sw
from shapewright.commands.trace import find_inputs
from shapewright.inputs.callables import make_loaded
from shapewright.inputs.python_files import ProgramFolder
from shapewright.inputs.spec import Spec, make_filled, materialize_spec, parse_spec
from shapewright.inputs.spec_syntax import TensorSpec
from tests.inputs.odd_signatures import MODELS

SPECS = {
    "TwoThatAgree": "f32[B=2, 6], f32[B, 9]",
    "OptionalMask": "i64[2, 16]=0..30",
    "NeededMask": "i64[B=2, T=16]=0..30, bool[B, T]=zeros",
    "DictBatch": "{'image': f32[B=2, 3, 224, 224], 'text': i64[B, 16]=0..20}",
    "Timestep": "f32[B=2, 3, 224, 224], i64[B]=0..50",
    "Steps": "f32[2, 5], 2",
    "Lengths": "i64[B=2, 16]=0..30, i64[B]=16",
    "Sound": "f32[2, 128]",
    "EncoderDecoder": "i64[B=2, T=16]=0..40, i64[B, T]=0..60",
    "ChannelsLast": "f32[2, 128, 12]",
    "FixedImage": "f32[2, 3, 48, 48]",
    "Positions": "f32[2, 3, 48, 48]",
    "TokensAndTargets": "i64[B=2, T=16]=0..50, i64[B, T]=zeros",
}


def real(leaf: TensorSpec) -> Any:
    made = make_filled(leaf)
    if made is not None:
        return made
    return torch.zeros(leaf.shape, dtype=getattr(torch, leaf.dtype))


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_found_inputs_run_for_real_and_can_be_pasted(kind: Any) -> None:
    model = kind()
    loaded = make_loaded(model, kind.__name__, ProgramFolder(Path.cwd()))
    with loaded.program.running():
        found = find_inputs(loaded)
    assert found is not None
    assert isinstance(found.inputs, Spec)
    text = str(found.inputs)
    assert text == SPECS.get(kind.__name__, text)
    args, kwargs = materialize_spec(parse_spec(text), real)
    model(*args, **kwargs)


def test_the_assumption_says_the_spec_and_why(tmp_path: Path) -> None:
    said = sw.trace(MODELS[0]()).assumptions[-1].message
    assert said == (
        "inputs: f32[B=2, 6], f32[B, 9] (found by search: sizes by `left`,"
        " Linear(in_features=6, out_features=8); sizes by `right`,"
        " Linear(in_features=9, out_features=8))"
    )
