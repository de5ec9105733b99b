"""What a program compiles or registers itself: extensions and custom operators."""

from __future__ import annotations

from pathlib import Path

from shapewright import api
from shapewright.inputs.stand_ins import read_stand_ins
from tests.rehearsing.rehearsed import rehearsed

COMPILED = """\
import torch
from torch.utils.cpp_extension import load

lltm = load(name="lltm", sources=["lltm.cpp"], verbose=True)
x = torch.randn(4, 8, requires_grad=True)
h = lltm.forward(x)
print(torch.nn.Linear(16, 3)(h).shape)
"""


def test_an_extension_is_not_compiled(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, COMPILED).findings
    assert finding.code == "not-here"
    assert '--assume "lltm.forward(...) -> SPEC"' in finding.message
    assert finding.span is not None
    assert finding.span.line == 7


def test_what_it_gives_can_be_told(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(COMPILED)
    told = ["lltm.forward(x) -> f32[B, 16]"]
    report = api.rehearse_script(str(file), assume=told)
    assert report.findings == ()
    assert read_stand_ins((), told).answers[0].name == "lltm.forward"


CUSTOM = """\
import torch


@torch.library.custom_op("rooms::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() * 2)


FAKE
y = doubled(torch.nn.Linear(8, 3)(torch.randn(4, 8)).detach())
print(torch.nn.Linear(3, 2)(y).shape)
"""
FAKE = """
@doubled.register_fake
def _(x):
    return torch.empty_like(x)
"""


def test_a_custom_operator_with_a_fake_kernel_is_asked(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, CUSTOM.replace("FAKE", FAKE)).findings == ()


def test_one_without_asks_for_it(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, CUSTOM.replace("FAKE", "")).findings
    assert finding.code == "not-here"
    assert "`rooms::doubled` has no fake kernel" in finding.message
    assert "@torch.library.register_fake('rooms::doubled')" in finding.message
    assert finding.fixes == ()
