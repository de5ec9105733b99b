"""Sizes that an encoder keeps and its decoder does not read; images are not resized to
fit what a model gives back.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    from torch import nn
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.ModuleList(
                [nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1)])
        def forward(self, x):
            sizes = []
            for stage in self.stages:
                sizes.append({kept})
                x = stage(x).relu()
            return x, sizes
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.ModuleList(
                [nn.ConvTranspose2d(8, 8, 2, 2), nn.ConvTranspose2d(8, 3, 2, 2)])
        def forward(self, x, sizes):
            {loop}
            return x
    encoder, decoder = Encoder(), Decoder()
    def fit(image_size={size}):
        images = torch.rand(12, 3, image_size, image_size)
        for batch in images.split(4):
            recon = decoder(*encoder(batch))
            (recon - batch).pow(2).mean().backward()
    fit()
    """
INDENT = "\n            "
NOTE = "nothing reads it here"
COUNTED = INDENT.join(["for i, stage in enumerate(self.stages):", "    x = stage(x)"])
PLAIN = INDENT.join(
    ["for stage in self.stages:", "    x = stage(x)", "    x = x.relu()"]
)
READ = INDENT.join(["for stage, size in zip(self.stages, sizes[::-1]):",
                    "    x = stage(x)[..., : size[0], : size[1]]"])  # fmt: skip


@pytest.mark.parametrize(
    ("loop", "first"),
    [
        (COUNTED, "`stage(x)[..., : sizes[-1 - i][0], : sizes[-1 - i][1]]`"),
        (PLAIN, "`stage(x)[..., : size[0], : size[1]]`"),
    ],
)
def test_the_sizes_of_the_encoder_are_read(
    loop: str, first: str, tmp_path: Path
) -> None:
    text = PROGRAM.format(loop=loop, kept="x.shape[-2:]", size=21)
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert any(NOTE in place.message for place in finding.related)
    assert [fix.message for fix in finding.fixes if fix.checked] == [first]


def test_other_images_mend_no_model(tmp_path: Path) -> None:
    text = PROGRAM.format(loop=PLAIN, kept="x.shape[0]", size=21)
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert all(NOTE not in place.message for place in finding.related)
    assert not any("image_size" in fix.message for fix in finding.fixes)


@pytest.mark.parametrize(("loop", "size"), [(READ, 21), (COUNTED, 24)])
def test_sizes_may_be_read_or_fit(loop: str, size: int, tmp_path: Path) -> None:
    text = PROGRAM.format(loop=loop, kept="x.shape[-2:]", size=size)
    report = rehearsed(tmp_path, text)
    assert [f for f in report.findings if f.severity == "error"] == []
