"""An edit of an attribute that may be None comes behind the same where it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

class Loss(nn.Module):
    def __init__(self, {parameter}):
        super().__init__()
        self.weight = weight

    def forward(self, scores, masks):
        return F.binary_cross_entropy_with_logits(scores, masks, weight=self.weight)

net = nn.Conv2d(3, 2, 1)
criterion = Loss(weight=torch.tensor([0.1, 0.9]))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    masks = torch.randint(0, 2, (4, 2, 16, 16)).float()
    loss = criterion(net(torch.rand(4, 3, 16, 16)), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
GIVEN = "`torch.tensor([0.1, 0.9])[:, None, None]`"
OWN = "`self.weight[:, None, None]`"


@pytest.mark.parametrize(
    ("parameter", "first"), [("weight=None", GIVEN), ("weight", OWN)]
)
def test_what_may_be_none_is_edited_where_it_is_given(
    tmp_path: Path, parameter: str, first: str
) -> None:
    (error,) = rehearsed(tmp_path, PROGRAM.format(parameter=parameter)).findings
    assert error.fixes[0].message == first
    assert error.fixes[0].checked
