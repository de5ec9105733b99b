"""Images of one size that a view takes for another: the setting says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import argparse
    import torch
    from torch import nn
    parser = argparse.ArgumentParser()
    parser.add_argument("--img-size", type=int, default={option})
    args = parser.parse_args()
    IMAGE_SIZE = {constant}
    def make(size={default}):
        return torch.randn(4, 5, size, size)
    class {name}(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), {pool}nn.Flatten())
            self.head = nn.Linear({features}, 2)
        def forward(self, panels):
            x = {view}
            return self.head(self.body(x))
    net = {name}()
    for _ in range(2):
        net(make({given})).pow(2).mean().backward()
    """
WORDS = {
    "option": 14, "constant": 14, "default": 14, "pool": "", "features": 4 * 36,
    "name": "Net", "view": "panels.view(-1, 1, 14, 14)", "given": "",
}  # fmt: skip
FLEXIBLE = {"pool": "nn.AdaptiveAvgPool2d(2), ", "features": 16}


def find_first_error(folder: Path, words: dict[str, object]):  # type: ignore[no-untyped-def]
    """The first error of a program."""
    report = rehearsed(folder, PROGRAM.format(**{**WORDS, **words}))
    return next((f for f in report.findings if f.severity == "error"), None)


@pytest.mark.parametrize(
    ("words", "name", "first"),
    [
        ({"option": 30, "given": "args.img_size"}, "--img-size",
         "`default=14` of `--img-size`"),
        ({"constant": 30, "given": "IMAGE_SIZE"}, "IMAGE_SIZE", "`IMAGE_SIZE=14`"),
        ({"default": 30}, "size", "`size=14`"),
        ({"default": 30, **FLEXIBLE}, "size",
         "`panels.view(-1, 1, *panels.shape[-2:])`"),
    ],
    ids=["an option", "a constant", "a default", "any size fits"],
)  # fmt: skip
def test_the_setting_of_the_size_is_told(
    words: dict[str, object], name: str, first: str, tmp_path: Path
) -> None:
    finding = find_first_error(tmp_path, words)
    notes = [place.message for place in finding.related if "wide by" in place.message]
    assert notes == [
        f"the images are 30 wide by `{name}` here, and 14 is written in the view"
    ]
    assert finding.fixes[0].message == first
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "words",
    [
        {"default": 30, "name": "PatchNet"},
        {"default": 30, "constant": 30},
        {"default": 30, "view": "panels.view(-1, 1, 14, 20)"},
    ],
    ids=["patches", "two settings", "not square"],
)
def test_no_setting_is_blamed(words: dict[str, object], tmp_path: Path) -> None:
    finding = find_first_error(tmp_path, words)
    assert finding is not None
    assert all("wide by" not in place.message for place in finding.related)


def test_images_of_the_written_size_are_right(tmp_path: Path) -> None:
    assert find_first_error(tmp_path, {}) is None
