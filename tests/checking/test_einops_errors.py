"""Errors of einops: which axis does not fit, in the letters of the pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

PROGRAM = """\
import torch
from torch import nn
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {build}

    def forward(self, x):
        return {output}


def example_inputs():
    return (torch.randn({shape}),)
"""
CASES = {
    "patches that leave a rest": (
        "self.cut = Rearrange('b c (h p) (w q) -> b (h w) (p q c)', p=16, q=16)",
        "self.cut(x)", "2, 3, 100, 96",
        "`(h p)` divides dim 2 of `the input` (2, 3, 100, 96), 100, by 16, with a"
        " remainder of 4; 96 and 112 have none", "",
    ),
    "a dim too few": (
        "pass", "rearrange(x, 'b c h w -> b (c h w)')", "2, 3, 96",
        "reads 4 dims by `b c h w`, but `x` (2, 3, 96) has 3 dims",
        "`x.unsqueeze(0)`",
    ),
    "heads": (
        "self.q = nn.Linear(30, 30)",
        "rearrange(self.q(x), 'b n (h d) -> b h n d', h=8)", "2, 7, 30",
        "`(h d)` divides dim 2 of `self.q(x)` (2, 7, 30), 30, by 8", "",
    ),
    "letters with other sizes": (
        "pass", "rearrange(x, 'b (h w) c -> b c h w', h=7, w=7)", "2, 50, 32",
        "`(h w)` is 7·7 = 49, but dim 1 of `x` (2, 50, 32) is 50", "",
    ),
    "a letter that is lost": (
        "pass", "rearrange(x, 'b h w c -> b c h')", "2, 5, 6, 7",
        "by `b h w c -> b c h`: `w` is not on the right", "`b h w c -> b c h w`",
    ),
    "a letter that is new": (
        "pass", "rearrange(x, 'b c h w -> b (h w) d')", "2, 5, 6, 7",
        "`c` is not on the right and `d` is not on the left",
        "`b c h w -> b (h w) c`",
    ),
    "a letter without a size": (
        "pass", "repeat(x, 'b c -> b c n')", "2, 5",
        "by `b c -> b c n`: `n` needs a size, `n=...`", "",
    ),
    "a one too many": (
        "self.t = nn.Parameter(torch.zeros(1, 32))",
        "repeat(self.t, '1 1 d -> b 1 d', b=x.shape[0])", "2, 32",
        "reads 3 dims by `1 1 d`, but `self.t` (1, 32) has 2 dims",
        "`1 d -> b 1 d`",
    ),
    "pooling of an odd size": (
        "pass", "reduce(x, 'b c (h 2) (w 2) -> b c h w', 'mean')", "2, 5, 7, 8",
        "`(h 2)` divides dim 2 of `x` (2, 5, 7, 8), 7, by 2", "",
    ),
    "einsum": (
        "self.w = nn.Parameter(torch.zeros(16, 8))",
        "einsum(x, self.w, 'b i, o i -> b o')", "2, 16",
        "`einsum` gives `i` in `b i, o i -> b o` two sizes: 16 in `x`, 8 in `w`"
        " (16, 8)", "`torch.zeros(16, 16)`",
    ),
    "pack": (
        "self.c = nn.Parameter(torch.zeros(8))",
        "pack([x, self.c], 'b * d')[0]", "2, 5, 8",
        "`pack` reads 2 dims or more by `b * d`, but `self.c` (8,) has 1 dim", "",
    ),
    "a layer behind": (
        "self.m = nn.Sequential(Reduce('b c h w -> b c', 'mean'), nn.Linear(10, 5))",
        "self.m(x)", "2, 12, 8, 8",
        "`m.1` needs 10 input features, got 12", "`nn.Linear(12, 5)`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_told_in_the_letters_of_the_pattern(name: str, tmp_path: Path) -> None:
    build, output, shape, words, edit = CASES[name]
    file = tmp_path / "net.py"
    file.write_text(PROGRAM.format(build=build, output=output, shape=shape))
    (finding,) = api.check_target(f"{file}:Net").findings
    assert words in finding.message
    first = finding.fixes[0].message if finding.fixes else ""
    assert first == edit
    assert not any("site-packages" in str(each.span) for each in finding.related)


JOINED = """\
import torch
from torch import nn
from einops import rearrange


class Attention(nn.Module):
    def __init__(self, width=32, heads=4, size=6):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, heads * size)
        self.conv = nn.Conv2d(3, 8, 3)
        self.out = nn.Linear(heads * size, width)

    def forward(self, x):
        {body}


def example_inputs():
    return (torch.randn({shape}),)
"""
ORDERS = {
    "heads that were moved": (
        "q = rearrange(self.q(x), 'b n (h d) -> b h n d', h=self.heads)\n"
        "        return self.out(rearrange(q * 2, 'b n h d -> b n (h d)'))",
        "2, 9, 32", "`b h n d -> b n (h d)`",
    ),
    "frames before their channels": (
        "y = self.conv(rearrange(x, 'b c t h w -> (b t) c h w'))\n"
        "        return rearrange(y, '(b t) c h w -> b t c h w', t=5)",
        "2, 5, 3, 16, 16", "`b t c h w -> (b t) c h w`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERS)
def test_a_pattern_in_another_order_is_mended_and_no_layer(
    case: str, tmp_path: Path
) -> None:
    body, shape, wanted = ORDERS[case]
    file = tmp_path / "model.py"
    file.write_text(JOINED.format(body=body, shape=shape))
    report = api.check_target(f"{file}:Attention")
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert [fix.message for fix in finding.fixes if fix.checked] == [wanted]
