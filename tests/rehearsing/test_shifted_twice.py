"""Labels that are shifted for a model which shifts them itself, and their edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class WriterForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.head = nn.Embedding(9, 8), nn.Linear(8, 9)

    def forward(self, input_ids, labels=None):
        scores = self.head(self.emb(input_ids))
        flat = scores[:, :-1].flatten(0, 1)
        return nn.functional.cross_entropy(flat, labels[:, 1:].flatten())


model = WriterForCausalLM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
text = torch.randint(0, 9, (4, 7))
for step in range(2):
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BOTH = "`text` for the tokens and for the labels"
WRONG = {
    "slices": ("loss = model(input_ids=text[:, :-1], labels=text[:, 1:])", BOTH),
    "names": (
        "x, y = text[:, :-1], text[:, 1:]; loss = model(x, labels=y)",
        BOTH,
    ),
    "rolled": ("loss = model(text, labels=torch.roll(text, -1, 1))", "`text`"),
    "rolled by a method": ("loss = model(text, labels=text.roll(-1, 1))", "`text`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_labels_that_are_shifted_twice_are_given_whole(
    name: str, tmp_path: Path
) -> None:
    loss, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(loss=loss))
    (finding,) = [f for f in report.findings if f.code == "shifted-twice"]
    assert [one.message for one in finding.fixes if one.checked] == [fix]


def test_whole_labels_are_right(tmp_path: Path) -> None:
    loss = "loss = model(text, labels=text)"
    report = rehearsed(tmp_path, SCRIPT.format(loss=loss))
    assert "shifted-twice" not in [finding.code for finding in report.findings]


ROWS = """\
import numpy as np
import torch
from torch import nn

{model}

def tabulate(stories, width=9):
    tokens = np.zeros((len(stories), width), dtype=np.int64)
    labels = np.full((len(stories), width), -100, dtype=np.int64)
    for i, story in enumerate(stories):
        tokens[i, :len(story)] = story
        {labels}
    return torch.from_numpy(tokens), torch.from_numpy(labels)


model = WriterForCausalLM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = tabulate([[1, 2, 3, 4], [5, 6, 7], [2, 4, 6, 8, 1]])
for step in range(2):
    loss = model(x, labels=y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MODEL = SCRIPT[SCRIPT.index("class Writer") : SCRIPT.index("model = ")]


def test_rows_of_labels_that_are_shifted_twice(tmp_path: Path) -> None:
    line = "labels[i, :len(story) - 1] = story[1:]"
    report = rehearsed(tmp_path, ROWS.format(model=MODEL, labels=line))
    (finding,) = report.findings
    assert finding.code == "shifted-twice"
    fixes = [edit.message for edit in finding.fixes if edit.checked]
    assert fixes == ["`labels[i, :len(story)] = story`"]


def test_rows_of_whole_labels_are_right(tmp_path: Path) -> None:
    line = "labels[i, :len(story)] = story"
    assert not rehearsed(tmp_path, ROWS.format(model=MODEL, labels=line)).findings
