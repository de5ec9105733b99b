"""Casts of whole batches that make floats of the ids in them, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

def move(batch, device, dtype):
    return {{key: {cast} for key, value in batch.items()}}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.fc = nn.Embedding(40, 8), nn.Linear(14, 3)

    def forward(self, ids, image):
        return self.fc(torch.cat([self.table(ids), image], dim=1))

net = Net().bfloat16()
batch = {{"ids": torch.randint(40, (4,)), "image": torch.rand(4, 6)}}
print(net(**move(batch, "cpu", torch.bfloat16)).shape)
"""
OF_FLOATS = "dtype if value.is_floating_point() else None"
WRONG = {
    "value.to(device=device, dtype=dtype)": OF_FLOATS,
    "value.to(device, dtype)": OF_FLOATS,
    "value.to(dtype)": "value.to(dtype) if value.is_floating_point() else value",
    "value.bfloat16()": "value.bfloat16() if value.is_floating_point() else value",
}


@pytest.mark.parametrize("cast", WRONG)
def test_only_the_floats_of_a_batch_are_cast(tmp_path: Path, cast: str) -> None:
    (found,) = rehearsed(tmp_path, SCRIPT.format(cast=cast)).findings
    assert found.code == "dtype-mismatch"
    assert [fix.message for fix in found.fixes] == [f"`{WRONG[cast]}`"]
    assert found.fixes[0].checked


def test_ids_that_are_cast_alone_are_cast_back(tmp_path: Path) -> None:
    text = SCRIPT.format(cast="value if value.ndim == 2 else value.float()")
    text = text.replace("net = Net().bfloat16()", "net = Net()")
    (found,) = rehearsed(tmp_path, text).findings
    assert ".long()" in found.fixes[0].message
