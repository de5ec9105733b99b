"""Layers in a rehearsal give the strides that they give on real tensors."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

flat = {{
    "transposed": nn.Parameter(torch.randn(2, 6, 8)).transpose(1, 2),
    "time first": nn.Parameter(torch.randn(8, 2, 6)).transpose(0, 1),
    "every second": nn.Parameter(torch.randn(2, 16, 6))[:, ::2],
}}
images = {{
    "channels last": nn.Parameter(torch.randn(2, 6, 6, 8)).permute(0, 3, 1, 2),
    "contiguous": nn.Parameter(torch.randn(2, 8, 6, 6)),
    "turned": nn.Parameter(torch.randn(2, 6, 8, 6)).transpose(1, 2),
}}
for name, x in {kind}.items():
    y = ({layer})(x)
    print(name, tuple(y.shape), y.stride())
"""
FLAT = [
    "nn.BatchNorm1d(8)", "nn.BatchNorm1d(8).eval()", "nn.Conv1d(8, 6, 3)",
    "nn.BatchNorm1d(8, track_running_stats=False)", "nn.LogSigmoid()", "nn.GELU()",
    "nn.MaxPool1d(2)", "nn.Dropout(0.5)",
]  # fmt: skip
IMAGES = [
    "nn.Conv2d(8, 6, 3)", "nn.Conv2d(8, 8, 3, groups=8)", "nn.ConvTranspose2d(8, 6, 2)",
    "nn.BatchNorm2d(8)", "nn.BatchNorm2d(8, affine=False).eval()", "nn.PixelShuffle(2)",
    "nn.ReflectionPad2d(1)", "nn.ReplicationPad2d(1)", "nn.MaxPool2d(2)",
    "nn.Upsample(scale_factor=2)", "nn.ReLU()", "nn.InstanceNorm2d(8)",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "layer"),
    [*(("flat", layer) for layer in FLAT), *(("images", layer) for layer in IMAGES)],
)
def test_a_layer_gives_the_strides_of_a_real_run(
    kind: str, layer: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = SCRIPT.format(kind=kind, layer=layer)
    real = io.StringIO()
    with contextlib.redirect_stdout(real):
        exec(compile(script, "script", "exec"), {})
    report = rehearsed(tmp_path, script)
    assert report.findings == ()
    printed = "".join(capfd.readouterr())
    assert printed.splitlines()[-3:] == real.getvalue().splitlines()


def test_a_view_of_a_convolution_with_channels_last_is_refused(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        conv = nn.Conv2d(8, 4, 3)
        x = torch.randn(2, 6, 6, 8).permute(0, 3, 1, 2)
        conv(x).view(2, -1).sum().backward()
        """
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-contiguous"
    assert "reshape" in finding.fixes[0].message


def test_a_view_of_a_batch_norm_of_what_was_transposed_is_taken(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        norm = nn.BatchNorm1d(8)
        x = torch.randn(2, 6, 8, requires_grad=True).transpose(1, 2)
        norm(x).view(2, -1).sum().backward()
        """
    assert rehearsed(tmp_path, text).findings == ()
