"""Grey images for an encoder whose weights come from elsewhere, and for one that is
trained on them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self, channels=3):
        super().__init__()
        self.stem = nn.Conv2d(channels, 8, 3, padding=1)
        self.last = nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x):
        return self.last(torch.relu(self.stem(x)))

def main():
    encoder, head = Encoder(), nn.Conv2d(4, 1, 1)
    {fixed}
    for step in range(2):
        images = torch.randn(6, 10, 10).reshape(6, 1, 10, 10)
        loss = head(encoder(images)).mean()
        loss.backward()
    {later}

main()
"""
FROZEN = "encoder.requires_grad_(False)"
LOADED = 'encoder.load_state_dict(torch.load("encoder.pt"))'


def list_fixes(folder: Path, fixed: str, later: str = "pass") -> list[str]:
    sizes = {"stem": (8, 3, 3, 3), "last": (4, 8, 3, 3)}
    state = {f"{name}.weight": torch.zeros(shape) for name, shape in sizes.items()}
    biases = {f"{name}.bias": torch.zeros(shape[0]) for name, shape in sizes.items()}
    torch.save({**state, **biases}, folder / "encoder.pt")
    text = PROGRAM.format(fixed=fixed, later=later).replace(
        "encoder.pt", f"{folder / 'encoder.pt'}"
    )
    (finding,) = [f for f in rehearsed(folder, text).findings if f.severity == "error"]
    assert all(fix.checked for fix in finding.fixes)
    return [fix.message for fix in finding.fixes]


@pytest.mark.long
@pytest.mark.parametrize(
    "fixed",
    [FROZEN, LOADED, f"{LOADED}; {FROZEN}", f"{LOADED}; encoder.eval()"],
)
def test_a_fixed_encoder_is_given_three_channels(fixed: str, tmp_path: Path) -> None:
    assert list_fixes(tmp_path, fixed)[0] == "`images.expand(-1, 3, -1, -1)`"


@pytest.mark.parametrize(
    ("fixed", "later"),
    [
        ("pass", "pass"),
        ("head.requires_grad_(False)", "pass"),
        ("head.load_state_dict(head.state_dict())", "pass"),
        (f"if step_count: {LOADED}", "pass"),
    ],
)
def test_an_encoder_that_is_trained_takes_one_channel(
    fixed: str, later: str, tmp_path: Path
) -> None:
    fixed = fixed.replace("step_count", "len(images_seen) > 3")
    fixed = f"images_seen = []\n    {fixed}"
    shown = list_fixes(tmp_path, fixed, later)
    assert "expand" not in shown[0]
    assert any("nn.Conv2d(1," in fix or "=1" in fix for fix in shown)
