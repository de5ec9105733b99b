"""`options(verify=True)`: remembered and ruled answers are asked of torch again."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import shapewright as sw
from examples.lenet import Net
from models import CASES, representative
from shapewright.engine.memo import Memo
from tests.capture.autograd_programs import PROGRAMS
from tests.capture.real_runs import MODES
from zoo import torchvision_stub


def checked(program: Any, *args: Any, **kwargs: Any) -> sw.Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sw.options(verify=True).trace(program, *args, **kwargs)


def disagreements(trace: sw.Trace) -> list[str]:
    """What the self-check found, and where it failed itself."""
    found = [f.message for f in trace.findings if f.code == "self-check"]
    return found + [note for note in trace.notes if "not recorded" in note]


def compared(trace: sw.Trace) -> int:
    """How many answers were compared."""
    notes = [n for n in trace.notes if n.startswith("self-check: compared")]
    return int(notes[0].partition("(")[2].partition(" ")[0] or 1) if notes else 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", representative())
def test_small_models_agree(name: str, mode: str) -> None:
    model, args, kwargs = CASES[name]()
    with MODES[mode]():
        trace = checked(model, *args, **kwargs)
    assert not disagreements(trace)
    assert compared(trace) or "own autograd below" in str(trace.notes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_corners_of_autograd_agree(name: str) -> None:
    program, args, kwargs = PROGRAMS[name]()
    assert not disagreements(checked(program, *args, **kwargs))


def test_each_answer_of_a_run_is_compared() -> None:
    trace = checked(Net(), "f32[8, 3, 32, 32]")
    assert trace.complete
    assert not trace.findings
    assert compared(trace) == len(trace.ops) == 12
    quiet = sw.trace(Net(), "f32[8, 3, 32, 32]")
    assert compared(quiet) == 0
    assert [op.outputs for op in quiet.ops] == [op.outputs for op in trace.ops]


def tampered(memo: Memo, name: str, **changes: Any) -> None:
    """Change the remembered answer of one function."""
    for answer in memo.answers.values():
        if getattr(answer.func, "__name__", "") == name:
            for field, value in changes.items():
                setattr(answer, field, value)


def layer(x: Tensor, w: Tensor) -> Tensor:
    return torch.tanh(x @ w)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grad_fns": ("SinBackward0",)}, "SinBackward0, torch says float32[3, 5] Tan"),
        ({"metas": None}, "float32[3, 4] TanhBackward0, torch says float32[3, 5] Tanh"),
    ],
)
def test_a_wrong_answer_in_the_memo_is_found(
    changes: dict[str, Any], words: str
) -> None:
    memo = Memo()
    given = torch.randn(3, 4), nn.Parameter(torch.randn(4, 5))
    sw.options(memo=memo, values=False).trace(layer, *given)
    wrong = next(m for m in memo.metas.values() if m.shape == (3, 4))
    made = type(wrong)(
        wrong.shape, wrong.stride, wrong.torch_dtype, 0, "cpu", True, "strided"
    )
    tampered(
        memo, "tanh", **{k: (made,) if v is None else v for k, v in changes.items()}
    )
    trace = sw.options(memo=memo, values=False, verify=True).trace(layer, *given)
    (finding,) = [f for f in trace.findings if f.code == "self-check"]
    assert finding.message.startswith("`torch.tanh` is recorded as float32[3, ")
    assert words in finding.message
    assert finding.span is not None
    assert finding.span.line == layer.__code__.co_firstlineno + 1


def test_wrong_arithmetic_is_found() -> None:
    memo = Memo()
    given = torch.randn(3, 4), nn.Parameter(torch.randn(4, 5))
    sw.options(memo=memo, values=False).trace(layer, *given)
    tampered(memo, "matmul", flops=7)
    trace = sw.options(memo=memo, values=False, verify=True).trace(layer, *given)
    (found,) = disagreements(trace)
    assert found.endswith("is recorded as 7 FLOPs, torch says 120 FLOPs")


def test_an_error_of_the_program_is_no_disagreement() -> None:
    trace = checked(Net(), "f32[8, 3, 28, 28]")
    assert [finding.code for finding in trace.findings] == ["torch-error"]


@pytest.mark.zoo
@pytest.mark.parametrize("name", ["gpt2", "vit", "llama", "bert", "t5"])
def test_models_of_transformers_agree(name: str) -> None:
    torchvision_stub.install()
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(name)
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    given: dict[str, Any] = {"input_ids": torch.ones(1, 128, dtype=torch.long)}
    if name == "vit":
        given = {"pixel_values": torch.zeros(1, 3, 224, 224)}
    if name == "t5":
        given["decoder_input_ids"] = given["input_ids"]
    for mode in ("grad", "no_grad"):
        with MODES[mode]():
            trace = checked(model, **given)
        assert trace.complete
        assert not disagreements(trace)
        assert compared(trace) > 100


@pytest.mark.zoo
@pytest.mark.parametrize(
    "name", ["resnet50", "vit_base_patch16_224", "convnext_tiny", "efficientnet_b0"]
)
def test_models_of_timm_agree(name: str) -> None:
    torchvision_stub.install()
    timm = pytest.importorskip("timm")
    with torch.device("meta"):
        model = timm.create_model(name)
    for mode in ("grad", "no_grad"):
        with MODES[mode]():
            trace = checked(model, torch.zeros(2, 3, 224, 224))
        assert trace.complete
        assert not disagreements(trace)
        assert compared(trace) > 100


def test_a_run_of_meta_kernels_needs_no_symbolic_sizes() -> None:
    """The import of sympy would be a third of the time of a small trace."""
    program = (
        "import sys, torch, shapewright as sw\n"
        "net = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.LayerNorm(4))\n"
        "trace = sw.trace(net, 'i64[2, 3]')\n"
        "assert trace.complete and trace.output.shape == (2, 3, 4)\n"
        "broken = sw.trace(lambda x: x.view(3, 5), 'f32[4, 4]')\n"
        "assert not broken.complete\n"
        "assert 'sympy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
