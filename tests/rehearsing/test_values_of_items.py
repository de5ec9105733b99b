"""Which statements of a data set gave items that do not stack their values."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

ITEMS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Parts(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        image = torch.randn(3, 6, 6)
{body}

model = nn.Conv2d(3, 1, 3)
for batch in DataLoader(Parts(), batch_size=4):
    print(batch)
"""
BRANCHES = """\
if i % 2:
    mask = torch.zeros(1, 6, 6)
else:
    mask = torch.ones(3, 6, 6)
"""
CHANGED = """\
mask = torch.ones(3, 6, 6)
if i % 2:
    mask = mask[:1]
"""
AGAIN = """\
mask = torch.ones(6, 6)
mask = mask.expand(1 + 2 * (i % 2), 6, 6)
"""
MANY = """\
mask = torch.ones(3, 6, 6)
for n in range(i % 2):
    mask = mask[:1]
"""


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (
            BRANCHES + 'return {"image": image, "mask": mask}',
            [("torch.zeros(1, 6, 6)", 12), ("torch.ones(3, 6, 6)", 14)],
        ),
        (
            BRANCHES + "return image, mask",
            [("torch.zeros(1, 6, 6)", 12), ("torch.ones(3, 6, 6)", 14)],
        ),
        (
            CHANGED + 'item = {"image": image}\nitem["mask"] = mask\nreturn item',
            [("torch.ones(3, 6, 6)", 11), ("mask[:1]", 13)],
        ),
        (AGAIN + "return image, mask", [("mask.expand(1 + 2 * (i % 2), 6, 6)", 12)]),
        (MANY + "return image, mask", []),
    ],
)
def test_the_statements_that_set_a_field_are_named(
    body: str, values: list[tuple[str, int]], tmp_path: Path
) -> None:
    text = ITEMS.format(body=indent(body, " " * 8))
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "items-do-not-stack"
    assert [(r.message, r.span.line) for r in finding.related] == [
        (f"`mask` is `{value}`", line) for value, line in values
    ]


def test_a_value_that_is_returned_as_it_is_has_the_name_of_its_field(
    tmp_path: Path,
) -> None:
    body = '        return {"image": image[: 1 + i % 3]}'
    (finding,) = rehearsed(tmp_path, ITEMS.format(body=body)).findings
    (related,) = finding.related
    assert related.message == "['image'] is `image[: 1 + i % 3]`"
