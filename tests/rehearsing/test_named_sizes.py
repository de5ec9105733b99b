"""A number in a view that an attribute of the module holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self, {parameters}):
        super().__init__()
        {lines}
        self.fc = nn.Linear(8, dims[0] * 4)
        self.up = nn.ConvTranspose2d(dims[0], 3, 2, stride=2)

    def forward(self, z):
        h = self.fc(z)
        h = {view}
        return self.up(h)

net = Decoder()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = net(torch.randn(4, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("lines", "view", "fix"),
    [
        (
            "self.latent_dim = 8\n        self.top_dim = dims[0]",
            "h.view(-1, 32, 2, 2)",
            "`h.view(-1, self.top_dim, 2, 2)`",
        ),
        (
            "self.channels = dims[0]",
            "h.reshape((-1, 32, 2, 2))",
            "`h.reshape((-1, self.channels, 2, 2))`",
        ),
    ],
)
def test_the_attribute_is_written(
    tmp_path: Path, lines: str, view: str, fix: str
) -> None:
    text = PROGRAM.format(parameters="dims=(16, 8)", lines=lines, view=view)
    (error,) = rehearsed(tmp_path, text).findings
    assert error.fixes[0].message == fix
    assert error.fixes[0].checked
