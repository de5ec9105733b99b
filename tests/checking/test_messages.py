"""What a person reads of a refused call: one program, a mistake in each line."""

from __future__ import annotations

from pathlib import Path

from shapewright import api

LINES = {
    "torch.fft.rfft(torch.fft.fft(x))": (
        "`torch.fft.rfft` expects real numbers, but `torch.fft.fft(x)` is complex64"
    ),
    "torch.fft.irfft(x[:, :1])": (
        "`torch.fft.irfft` needs at least 1 point along dim 1 of `x[:, :1]` (4, 1), got"
        " 2·(1 - 1) = 0"
    ),
    "torch.fft.rfft2(x, s=(8, 8, 8))": (
        "`torch.fft.rfft2` expects 2 sizes as `s`, one for each of dims (-2, -1) of `x`"
        " (4, 16), got 3"
    ),
    "torch.linalg.solve(x @ x.T, x.T)": (
        "`torch.linalg.solve` needs 4 rows in `x.T` (16, 4), as `x @ x.T` (4, 4) has,"
        " got 16"
    ),
    "torch.linalg.cholesky(x)": (
        "`torch.linalg.cholesky` expects square matrices, got 4 rows and 16 columns: "
        "`x`"
        " is (4, 16)"
    ),
    "torch.linalg.cross(x, x)": (
        "`torch.linalg.cross` needs 3 numbers along dim 1 of `x` (4, 16), got 16"
    ),
    "torch.cdist(x, x.T)": (
        "`torch.cdist` compares rows of `x` (4, 16) and `x.T` (16, 4) number by number:"
        " 16 against 4"
    ),
    "x[0].clone().addcmul_(x, x)": (
        "`Tensor.addcmul_` writes into `x[0].clone()` (16,), which cannot grow to the"
        " result with `x` (4, 16): `x` has 1 more dim"
    ),
    "1 - (x > 0)": "`-` does not support bools, but `x > 0` is bool; `~` inverts a "
    "mask",
    "-(x > 0)": "`-` expects numbers, but `x > 0` is bool; `~` inverts a mask",
    "~x": "`~` expects integers or bools, but `x` is float32",
    "F.gelu(x.long())": "`F.gelu` expects floats, but `x.long()` is int64",
    "F.grid_sample(image, x, align_corners=False)": (
        "`F.grid_sample` expects a grid of 4 dims, as `image` (2, 3, 8, 8) has: `x` is"
        " (4, 16)"
    ),
    "F.affine_grid(x, image.shape, align_corners=False)": (
        "`F.affine_grid` expects a matrix for each image, (2, 2, 3), got `x` (4, 16)"
    ),
    "F.interpolate(image, scale_factor=0.1)": (
        "`F.interpolate` makes 8·0.1 of dim 2 of `image` (2, 3, 8, 8), which is less"
        " than 1"
    ),
    "self.attention(image[0], image[0], image[0], attn_mask=x > 0)": (
        "`attention` expects `x > 0` as (8, 8) = (queries, keys), or (6, 8, 8) ="
        " (batch·heads, queries, keys), got (4, 16)"
    ),
    "torch.einsum('ij,kj->ik', x, x.double())": (
        "`torch.einsum` expects inputs of one dtype: `x.double()` is float64, but `x` "
        "is float32"
    ),
    "torch.dot(x.reshape(-1), x[0])": (
        "`torch.dot` needs as many numbers in `x.reshape(-1)` as in `x[0]`: 64 against "
        "16"
    ),
}

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, image):
{lines}
        return x


def example_inputs():
    return torch.randn(4, 16), torch.randn(2, 3, 8, 8)
"""


def test_every_line_has_its_sentence(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PROGRAM.format(lines="\n".join(f"{' ' * 8}{one}" for one in LINES)))
    report = api.check_target(f"{file}:Net")
    errors = [each for each in report.findings if each.severity == "error"]
    said = {each.span.line: each.message for each in errors if each.span}
    assert said == dict(enumerate(LINES.values(), 12))
    assert report.complete
