"""Coordinates made relative to a point whose coordinates were read from other data."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import torch
from torch import nn

torch.manual_seed(0)
xyz, features = torch.randn(40, 3), torch.rand(40, 1)
normals, colours = torch.randn(40, 3), torch.rand(40, 3)
prices, last = torch.rand(40, 3), torch.rand(40, 1)
edges = torch.randint(0, 40, (2, 90))
near = torch.randint(0, 40, (40, 5))
labels = torch.randint(0, 4, (90,))


class Edges(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, 4)

    def forward(self, xyz, features):
{body}


model = Edges({size})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    loss = nn.functional.cross_entropy(model(xyz, features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "edges": """
        src, dst = edges
        origin = features[dst]
        return self.fc(xyz[src] - origin)""",
    "numbers of keys, step by step": """
        keys = edges[1].unsqueeze(1)
        points = xyz[edges[0]]
        centres = features[keys[:, 0]]
        return self.fc(torch.cat([features[edges[0]], points - centres], -1))""",
    "index_select": """
        points = xyz[edges[0]]
        return self.fc(points - features.index_select(0, edges[1]))""",
}
RIGHT = {
    "coordinates of both": """
        src, dst = edges
        return self.fc(xyz[src] - xyz[dst])""",
    "brightness of the same pixel": """
        src, dst = edges
        return self.fc(colours[src] - features[src])""",
    "the same point, read twice": """
        return self.fc(xyz[edges[0]] - features[edges[0]])""",
    "series without their last value": """
        src, dst = edges
        return self.fc(prices[src] - last[dst])""",
    "coordinates divided by a size": """
        src, dst = edges
        return self.fc((xyz[src] - xyz[dst]) / features[dst])""",
    "a mean of the coordinates": """
        src, dst = edges
        level = xyz.mean(1, keepdim=True)
        return self.fc(xyz[src] - level[dst])""",
    "a learned shift": """
        src, dst = edges
        if not hasattr(self, "shift"):
            self.shift = nn.Parameter(torch.zeros(40, 1))
        return self.fc(xyz[src] - self.shift[dst])""",
    "one column of coordinates": """
        src, dst = edges
        x_pos = torch.rand(40, 1)
        return self.fc(xyz[src] - x_pos[dst])""",
}


def _get_messages(folder: Path, body: str) -> list[tuple[str, list[str]]]:
    """Return the messages of the broadcasts, with those of their edits."""
    size = 4 if "torch.cat" in body else 3
    text = TEXT.format(body=indent(dedent(body).strip(), " " * 8), size=size)
    report = rehearsed(folder, text)
    assert report.complete
    return [
        (finding.message, [fix.message for fix in finding.fixes if fix.checked])
        for finding in report.findings
        if finding.code == "outer-broadcast"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_a_column_for_coordinates_is_found(name: str, tmp_path: Path) -> None:
    ((message, fixes),) = _get_messages(tmp_path, WRONG[name])
    assert "is read where the coordinates of another point are meant" in message
    assert fixes[:1] == ([] if name == "index_select" else ["`xyz`"])


@pytest.mark.parametrize("name", RIGHT)
def test_other_columns_are_right(name: str, tmp_path: Path) -> None:
    assert _get_messages(tmp_path, RIGHT[name]) == []
