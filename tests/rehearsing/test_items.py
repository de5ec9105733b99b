"""Items of a data set that make no batch, and what follows of that."""

from __future__ import annotations

from pathlib import Path

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Scenes(Dataset):
        def __len__(self):
            return 20

        def __getitem__(self, index):
            boxes = torch.rand(1 + index % 3, 4)
            return torch.rand(3, 8, 8), {{"boxes": boxes}}


    kept = {{}}
    for images, targets in DataLoader(Scenes(), 4):
        for target in {targets}:
            print(target["boxes"].shape)
    print(kept["boxes"])
"""


def told(folder: Path, targets: str) -> list[tuple[str, str]]:
    report = rehearsed(folder, SCRIPT.format(targets=targets))
    assert not report.complete
    return [(each.code, each.message) for each in report.findings]


def test_what_follows_of_a_batch_that_cannot_be_made_is_not_told(
    tmp_path: Path,
) -> None:
    first, *others = told(tmp_path, "targets")  # of strings, in a batch of dicts
    assert first[0] == "items-do-not-stack"
    assert [message for _, message in others] == ["`KeyError`: 'boxes'"]  # its own


def test_an_error_after_the_loop_is_told_as_well(tmp_path: Path) -> None:
    first, second = told(tmp_path, "[targets]")
    assert first[0] == "items-do-not-stack"
    assert second == ("program-error", "`KeyError`: 'boxes'")


def test_dicts_with_lists_of_their_own_lengths_come_one_by_one(tmp_path: Path) -> None:
    text = """
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Scenes(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        boxes, order = torch.rand(3 + index % 4, 4), torch.randperm(3 + index % 4)
        area = boxes.prod(dim=1)
        return {"boxes": boxes, "order": order, "area": area, "name": str(index)}

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=4)
args = parser.parse_args()
net = nn.Linear(4, 2)
for scene in DataLoader(Scenes(), batch_size=args.batch_size, shuffle=True):
    net(scene["boxes"]).sum().backward()
"""
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "items-do-not-stack"
    assert finding.fixes[0].message == "`batch_size=1`"
    assert finding.fixes[0].edits[0].span.line == 17


def test_images_of_several_sizes_are_no_batches_of_one(tmp_path: Path) -> None:
    text = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Scenes(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        side = 24 + index % 4
        return {"image": torch.rand(3, side, side + 5), "mask": torch.rand(side, side)}

net = nn.Conv2d(3, 1, 3)
for scene in DataLoader(Scenes(), batch_size=4):
    net(scene["image"]).sum().backward()
"""
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "items-do-not-stack"
    assert not any("batch_size" in fix.message for fix in finding.fixes)


WAVES = """\
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Waves(Dataset):
        def __len__(self):
            return 32

        def __getitem__(self, index):
            wave = torch.rand(40)
            for turn in range(40):
                wave = wave + 0.01 * torch.rand(40)
            {last}
            return wave


    for waves in DataLoader(Waves(), batch_size=32):
        print(waves.mean(dim=1))
"""
"""A data set that makes eighty calls for an item: those of the first are recorded."""


def test_the_calls_of_many_alike_items_are_recorded_of_the_first(
    tmp_path: Path,
) -> None:
    report = rehearsed(tmp_path, WAVES.format(last="wave = wave - wave.mean()"))
    assert report.complete
    assert not report.findings
    added = [op for op in report.trace.ops if op.span and op.span.line == 12]
    assert 300 < len(added) < 600  # of 32 * 81


def test_an_error_of_a_late_item_is_told_at_its_line(tmp_path: Path) -> None:
    last = "wave = wave + torch.zeros(40 if index < 20 else 41)"
    report = rehearsed(tmp_path, WAVES.format(last=last))
    (error,) = report.findings
    assert error.severity == "error"
    assert error.span is not None
    assert error.span.line == 13
    assert "(40,)" in error.message
    assert "(41,)" in error.message


def test_a_late_item_of_another_length_is_told(tmp_path: Path) -> None:
    last = "wave = wave[: 40 if index < 20 else 39]"
    report = rehearsed(tmp_path, WAVES.format(last=last))
    first = report.findings[0]
    assert first.code == "items-do-not-stack"
    assert "items [0] and [20]" in first.message
