"""Normalizations written by hand along other dims than the layer that they are compared
with.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

x = torch.randn(4, 6, 5, 5)
words = torch.randn(4, 7, 8)


def norm(x):
{text}


layer = {layer}
with torch.no_grad():
    {use}
"""
DIFFERENCE = "print((layer(x) - norm(x)).abs().max())"
CLOSE = "assert torch.allclose(layer(x), norm(x), atol=1e-4)"
BATCH = "nn.BatchNorm2d(6)"
LAYER = "nn.LayerNorm(8)"
WHOLE = (
    "mean = x.mean()\n"
    "var = x.var(unbiased=False)\n"
    "return (x - mean) / torch.sqrt(var + 1e-5)"
)
OWN = (
    "mean = x.mean({dim}, keepdim=True)\n"
    "var = ((x - mean) ** 2).mean({dim}, keepdim=True)\n"
    "return (x - mean) * torch.rsqrt(var + 1e-5) * 1.0 + 0.0"
)
STD = (
    "m = torch.mean(x, dim={dim}, keepdim=True)\n"
    "s = torch.std(x, dim={dim}, keepdim=True)\n"
    "return (x - m) / (s + 1e-5)"
)
WRONG = {
    "whole": (WHOLE, BATCH, DIFFERENCE, "(0, 2, 3)"),
    "close": (WHOLE, BATCH, CLOSE, "(0, 2, 3)"),
    "channels last": (STD.format(dim=(0, 1, 2)), BATCH, DIFFERENCE, "(0, 2, 3)"),
    "samples": (OWN.format(dim=0), BATCH, CLOSE, "(0, 2, 3)"),
    "each sample": (STD.format(dim=(2, 3)), BATCH, DIFFERENCE, "(0, 2, 3)"),
    "words": (
        STD.format(dim=(1, 2)),
        LAYER,
        "assert torch.allclose(layer(words), norm(words))",
        "2",
    ),
    "instances": (
        STD.format(dim=(0, 2, 3)),
        "nn.InstanceNorm2d(6)",
        "print((F.relu(layer(x)) - F.relu(norm(x))).abs().max())",
        "(2, 3)",
    ),
}
RIGHT = {
    "as the layer": (STD.format(dim=(0, 2, 3)), BATCH, DIFFERENCE),
    "squares": (OWN.format(dim=(0, 2, 3)), BATCH, CLOSE),
    "features": (
        STD.format(dim=-1),
        LAYER,
        "assert torch.allclose(layer(words), norm(words))",
    ),
    "all features": (
        STD.format(dim=(1, 2, 3)),
        "nn.LayerNorm([6, 5, 5])",
        DIFFERENCE,
    ),
    "running statistics": (WHOLE, BATCH + ".eval()", DIFFERENCE),
    "not compared": (WHOLE, BATCH, "a, b = layer(x).mean(), norm(x).mean()"),
    "a residual": (STD.format(dim=1), BATCH, "y = (layer(x) - norm(x)) @ x"),
    "another input": (
        STD.format(dim=(1, 2)),
        LAYER,
        "print(layer(words).sum() - norm(words).sum())",
    ),
    "to fail": (WHOLE, BATCH, "print(not torch.allclose(layer(x), norm(x)))"),
    "of another kind": (
        STD.format(dim=(1, 2, 3)) + "\n\n\ndef layer_norm(x):\n    return norm(x)",
        BATCH,
        "print((layer(x) - layer_norm(x)).abs().max())",
    ),
    "one sample": (
        STD.format(dim=(2, 3)),
        BATCH,
        "x = x[:1]; print((layer(x) - norm(x)).abs().max())",
    ),
}


def write_script(text: str, layer: str, use: str) -> str:
    head, rest = text.partition("\n\n\n")[::2]
    parts = "\n\n\n".join([indent(head, "    "), rest])
    return SCRIPT.format(text=parts, layer=layer, use=use)


@pytest.mark.parametrize("name", WRONG)
def test_other_dims_than_those_of_the_layer_are_found(
    name: str, tmp_path: Path
) -> None:
    *parts, dim = WRONG[name]
    (finding,) = rehearsed(tmp_path, write_script(*parts)).findings
    assert finding.code == "wrong-axis"
    assert "with which the result is compared" in finding.message
    checked = [edit.message for edit in finding.fixes if edit.checked]
    assert checked[0] == f"`dim={dim}, keepdim=True` for the mean and the spread"


@pytest.mark.parametrize("name", RIGHT)
def test_norms_that_are_meant_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*RIGHT[name]))
    assert report.complete, report
    assert "wrong-axis" not in [each.code for each in report.findings]
