"""Modes of interpolations, rows of the largest ids, and layers that pool tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.refused_calls.library_outputs import find_missing_output
from tests.rehearsing.library_errors import explain, mend
from tests.rehearsing.rehearsed import rehearsed

RESIZED = """\
import torch
import torch.nn.functional as F
from torch import nn

layer = {layer}
mode = "bilinear"
x = layer(torch.rand({shape}))
print({call}.shape)
"""
UP = "nn.Sequential(nn.Conv3d(2, 3, 1), nn.Upsample(scale_factor=2, mode='bilinear'))"


@pytest.mark.parametrize(
    ("layer", "shape", "call", "new"),
    [
        ("nn.Conv3d(2, 3, 1)", "1, 2, 4, 8, 8",
         'F.interpolate(x, scale_factor=2, mode="bilinear")', '`mode="trilinear"`'),
        ("nn.Conv3d(2, 3, 1)", "1, 2, 4, 8, 8",
         "F.interpolate(x, (8, 8, 8), mode=mode)", '`mode="trilinear"`'),
        ("nn.Conv2d(2, 3, 1)", "1, 2, 8, 8",
         "F.interpolate(x, (4, 4), mode='trilinear')", "`mode='bilinear'`"),
        ("nn.Conv1d(2, 3, 1)", "1, 2, 8",
         "F.interpolate(x, 4, mode='bilinear')", "`mode='linear'`"),
        (UP, "1, 2, 4, 8, 8", "x", "`mode='trilinear'`"),
    ],
)  # fmt: skip
def test_a_mode_fits_the_dims(
    layer: str, shape: str, call: str, new: str, tmp_path: Path
) -> None:
    text = RESIZED.format(layer=layer, shape=shape, call=call)
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.severity == "error")
    (fix,) = finding.fixes
    assert fix.message == new
    assert fix.checked


def test_maps_without_channels_keep_their_mode(tmp_path: Path) -> None:
    text = RESIZED.format(
        layer="nn.Identity()", shape="5, 8, 8",
        call="F.interpolate(x, (4, 4), mode='bilinear')",
    )  # fmt: skip
    report = rehearsed(tmp_path, text)
    fixes = [fix.message for f in report.findings for fix in f.fixes]
    assert not any("'linear'" in fix for fix in fixes)


RATED = """\
import torch
from torch import nn

users = torch.tensor([1, 1, 2, 3, 3, {last}])
{before}
table = nn.Embedding({rows}, 8)
print(table(users).shape)
"""


@pytest.mark.parametrize(
    ("before", "rows"),
    [
        ("", "len(users.unique())"),
        ("", "len(torch.unique(users))"),
        ("n_users = len(users.unique())", "n_users"),
    ],
)
@pytest.mark.parametrize("last", [4, 9])
def test_ids_go_up_to_the_largest(
    before: str, rows: str, last: int, tmp_path: Path
) -> None:
    text = RATED.format(before=before, rows=rows, last=last)
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    (fix,) = finding.fixes
    assert fix.message == "`users.max() + 1`"
    assert fix.checked


POOLED = """\
model = BertModel(config, add_pooling_layer={flag})
out = model(ids)
pooled = out.pooler_output
logits = head({value})
"""
NONE = "'NoneType' object has no attribute 'norm'"


@pytest.mark.parametrize(
    ("flag", "value", "new"),
    [
        ("False", "out.pooler_output", "head(out.last_hidden_state[:, 0])"),
        ("False", "pooled", "pooled = out.last_hidden_state[:, 0]"),
        ("True", "pooled", ""),
    ],
)
def test_a_model_that_does_not_pool_has_its_first_token(
    flag: str, value: str, new: str
) -> None:
    text = POOLED.format(flag=flag, value=value)
    cause = explain(find_missing_output, text, f"head({value})", NONE)
    assert (cause is not None) == bool(new)
    if cause is not None:
        assert "`add_pooling_layer=False`" in cause.message
        assert new in mend(text, cause.fixes[0].edits)
