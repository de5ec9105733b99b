"""Standard deviations that a scaler transforms back, beside those that it scales."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
    import torch
    from torch import nn


    class {kind}:
        def __init__(self, **flags):
            self.flags = flags

        def fit(self, y):
            self.mean_, self.scale_ = y.mean(), y.std()
            return self

        def transform(self, y):
            return (y - self.mean_) / self.scale_

        def inverse_transform(self, y):
            return {back}


    x, y = torch.randn(64, 6), 6 * torch.randn(64) - 350
    scaler = {kind}({flags}).fit(y)
    model = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows in torch.arange(64).split(16):
        mean, raw = model(x[rows]).unbind(1)
        loss = nn.functional.gaussian_nll_loss(
            mean, scaler.transform(y)[rows], raw.exp()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


    def predict(x):
        mean, raw = model(x).unbind(1)
        return mean, raw.exp().sqrt()


    with torch.no_grad():
        mean, var = model(x).unbind(1)
        {spread}
    values = scaler.inverse_transform({values})
    errors = {errors}
"""
BACK = "y * self.scale_ + self.mean_"
DEFAULT = {
    "kind": "Scaler", "flags": "", "back": BACK, "values": "mean",
    "spread": "std = var.exp().sqrt(); variance = std ** 2",
    "errors": "scaler.inverse_transform(std)",
}  # fmt: skip
ROOT = "std = torch.sqrt(var.abs())"
WRONG = {
    "the root of a variance": ({"spread": ROOT}, "`std * scaler.scale_`"),
    "another form": (
        {
            "spread": "uncertainty = var.abs().add(1).std(0); spread = uncertainty",
            "errors": "scaler.inverse_transform(spread.cpu().reshape(-1, 1))",
        },
        "`spread.cpu().reshape(-1, 1) * scaler.scale_`",
    ),
    "in place": (
        {"errors": "scaler.inverse_transform(torch.std(var))"},
        "`torch.std(var) * scaler.scale_`",
    ),
    "a result with the name": (
        {"spread": "mean, std = predict(x)"}, "`std * scaler.scale_`"
    ),
    "a scaler of scikit-learn": (
        {"kind": "StandardScaler", "spread": ROOT}, "`std * scaler.scale_`"
    ),
    "one of a range": ({"kind": "MinMaxScaler", "spread": ROOT}, ""),
}  # fmt: skip
RIGHT = {
    "only scaled": {"spread": ROOT, "errors": "std * scaler.scale_"},
    "of values": {"errors": "scaler.inverse_transform(mean + 1)"},
    "an upper limit": {
        "spread": ROOT, "errors": "scaler.inverse_transform(mean + std)"
    },
    "a scaler without a mean": {"back": "y * self.scale_", "spread": ROOT},
    "a flag": {"kind": "StandardScaler", "flags": "with_mean=False", "spread": ROOT},
    "a logarithm": {"spread": "log_std = var", "errors": "log_std.exp()"},
}  # fmt: skip


def _rehearse(folder: Path, changes: dict[str, str]) -> list[tuple[str, list[str]]]:
    """The findings of a program with these parts, and their fixes."""
    report = rehearsed(folder, TEXT.format(**{**DEFAULT, **changes}))
    return [(f.code, [fix.message for fix in f.fixes]) for f in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_a_deviation_gets_no_offset(name: str, tmp_path: Path) -> None:
    changes, fix = WRONG[name]
    ((code, fixes),) = _rehearse(tmp_path, changes)
    assert code == "deviation-shifted"
    assert fixes == [fix or "`std / scaler.scale_`"]


@pytest.mark.parametrize("name", RIGHT)
def test_other_ways_back_are_right(name: str, tmp_path: Path) -> None:
    assert _rehearse(tmp_path, RIGHT[name]) == []
