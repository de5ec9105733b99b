"""Attention layers take torch's fused kernels where a real run takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from tests.capture.attention_programs import program_of
from tests.capture.real_runs import Run, Seen, really, traced

OF_DTYPES = "same dtype", "scalar type", "share same datatype"
"""What kernels say of dtypes, each in its own words."""

ROW = 25


@pytest.mark.parametrize("row", range(2))
def test_random_programs(row: int) -> None:
    check_row(row)


@pytest.mark.zoo
@pytest.mark.parametrize("row", range(2, 40))
def test_more_random_programs(row: int) -> None:
    check_row(row)


def check_row(row: int) -> None:
    """Hold a row of programs against their real runs."""
    for seed in range(row * ROW, (row + 1) * ROW):
        assert not parted(seed), seed


def parted(seed: int) -> list[str]:
    """In what a trace parts from the real run: its calls, its output, its error."""
    program = program_of(seed)
    real = really(program, program.args, program.kwargs)
    program = program_of(seed)
    ours, _ = traced(program, program.args, program.kwargs)
    found = list(ours.lost)
    if outline(real) != outline(ours):
        found.append(f"real {outline(real)}, traced {outline(ours)}")
    return found


def outline(run: Run) -> object:
    """What a user notices of a run."""
    if run.error:
        line = run.error.splitlines()[0]
        return OF_DTYPES if any(word in line for word in OF_DTYPES) else line
    return [
        (leaf.shape, leaf.dtype, leaf.stride) if isinstance(leaf, Seen) else leaf
        for leaf in run.output
    ]


class Encoder(nn.Module):
    """An encoder whose mask training never looks at, as `is_causal` says enough."""

    def __init__(self, size: int) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.size = size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        square = nn.Transformer.generate_square_subsequent_mask
        mask = square(self.size, device=x.device)
        return self.encoder(x, mask=mask, is_causal=True)  # type: ignore[no-any-return]


def test_a_mask_that_training_ignores_is_told_of_in_training() -> None:
    (other,) = sw.check(Encoder(5).train(), "f32[2, 6, 16]").findings
    assert (other.code, other.severity) == ("attention-mask-shape", "warning")
    assert other.message.startswith("in evaluation, ")
    assert not sw.check(Encoder(6).train(), "f32[2, 6, 16]").findings


@torch.no_grad()
def test_a_mask_that_training_ignores_is_an_error_in_evaluation() -> None:
    assert not sw.check(Encoder(6).eval(), "f32[2, 6, 16]").findings
    (found,) = sw.check(Encoder(5).eval(), "f32[2, 6, 16]").findings
    assert found.code == "attention-mask-shape"
    assert "a mask of (6, 6) = (queries, keys)" in found.message
    assert found.torch_message == "shape '[1, 1, 6, 6]' is invalid for input of size 25"
    assert found.span is not None
    assert Path(found.span.file).name == Path(__file__).name
    line = Path(__file__).read_text().splitlines()[found.span.line - 1]
    assert "self.encoder(x, mask=mask" in line


@torch.no_grad()
def test_only_torchs_own_word_switches_it_off() -> None:
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        assert not sw.check(Encoder(5).eval(), "f32[2, 6, 16]").findings
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def padded(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    with torch.no_grad():
        out = nn.TransformerEncoder(layer, 2).eval()(x, src_key_padding_mask=mask)
    return out  # type: ignore[no-any-return]


def test_padding_of_another_size() -> None:
    (found,) = sw.check(padded, "f32[2, 6, 16]", "bool[6, 2]").findings
    assert found.code == "attention-mask-shape"
    assert "(2, 6) = (batch, keys), got (6, 2): it is transposed" in found.message


def test_an_unknown_padding_is_assumed_and_said() -> None:
    report = sw.check(padded, "f32[2, 6, 16]", "bool[2, 6]")
    assert not report.findings
    assert ["padding mask" in one.message for one in report.assumptions] == [True]


def test_arithmetic_and_parameters_are_those_of_the_layers_inside() -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval().requires_grad_(False)
    mask = torch.arange(6).expand(2, 6) >= torch.tensor([[6], [4]])
    given: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (("f32[2, 6, 16]",), {}),
        (("f32[2, 6, 16]",), {"src_key_padding_mask": mask}),
        (("f32[2, 6, 16]",), {"mask": "f32[6, 6]"}),
    ]
    for args, kwargs in given:
        fused = sw.trace(model, *args, **kwargs)
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            written_out = sw.trace(model, *args, **kwargs)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)
        assert sum(op.flops or 0 for op in fused.ops) == (
            sum(op.flops or 0 for op in written_out.ops)
        )
        assert fused.output.shape == written_out.output.shape
        assert any("one fused kernel" in note for note in fused.notes)
        names = [op.name for op in fused.ops]
        assert names.count("torch._transformer_encoder_layer_fwd") == 2
        used = {fact.tensor for op in fused.ops for fact in op.inputs}
        assert all(state.fact.tensor in used for state in fused.states)


def test_the_self_check_agrees_with_the_kernels() -> None:
    model = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    with torch.no_grad():
        trace = sw.options(verify=True).trace(model, "f32[2, 6, 16]")
    assert not trace.findings
    assert any("compared with torch" in note for note in trace.notes)


def test_a_run_leaves_torch_as_it_was() -> None:
    before = torch.overrides.has_torch_function, nn.MultiheadAttention.merge_masks
    with torch.no_grad():
        sw.trace(Encoder(6).eval(), "f32[2, 6, 16]")
    after = torch.overrides.has_torch_function, nn.MultiheadAttention.merge_masks
    assert before == after


def test_what_torch_says_of_its_nested_tensors() -> None:
    mask = torch.arange(6).expand(2, 6) >= torch.tensor([[6], [4]])
    (found,) = sw.check(padded, "f32[2, 6, 15]", mask).findings
    assert found.torch_message.startswith("Shape mismatch for NestedTensor Matmul")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (found,) = sw.check(padded, "f32[2, 6, 16]", mask).findings
    assert found.torch_message == "expected scalar type Float but found BFloat16"
    (found,) = sw.check(padded, "f32[2, 6, 16]", torch.ones(2, 6).bool()).findings
    assert found.torch_message.startswith("to_padded_tensor: at least one constituent")
