"""Labels that the program's own lists are filled up with, and which no loss ignores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader

PAD, END, CLASSES = 0, 1, 6
random.seed(0)

def fill(tokens, length, value=PAD):
    return tokens + [value] * (length - len(tokens))

def make(n):
    rows = []
    for _ in range(n):
        k = random.randint(3, 9)
        words = [random.randrange(2, 30) for _ in range(k)]
        rows.append((words, [2 + w % 4 for w in words] + [END]))
    return rows

def collate(rows):
    longest = max(len(y) for _, y in rows)
    ids = torch.tensor([fill(x, longest) for x, _ in rows])
    LABELS
    return ids, labels

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(30, 16, padding_idx=PAD)
        self.lstm = nn.LSTM(16, 16, batch_first=True)
        self.out = nn.Linear(16, CLASSES)
    def forward(self, ids):
        return self.out(self.lstm(self.tok(ids))[0])

net = Tagger()
loader = DataLoader(make(40), 8, collate_fn=collate)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss(IGNORED)
for ids, labels in loader:
    optimizer.zero_grad()
    loss = criterion(net(ids).flatten(0, 1), labels.flatten())
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "a function": (
        "labels = torch.tensor([fill(y, longest) for _, y in rows])",
        "fill(y, longest, value=-100)",
    ),
    "in place": (
        "labels = torch.tensor([y + [PAD] * (longest - len(y)) for _, y in rows])",
        "-100 in place of `PAD`",
    ),
    "a list of lists": (
        """tags = []
    for _, y in rows:
        room = longest - len(y)
        tags.append(y + room * [0])
    labels = torch.tensor(tags)""",
        "-100 in place of `0`",
    ),
    "extended": (
        """tags = []
    for _, y in rows:
        row = list(y)
        row.extend([PAD] * (longest - len(y)))
        tags.append(row)
    labels = torch.tensor(tags)""",
        "-100 in place of `PAD`",
    ),
    "the end token again": (
        "labels = torch.tensor([y + [END] * (longest - len(y)) for _, y in rows])",
        "-100 in place of `END`",
    ),
}
RIGHT = {
    "a label of each text": (
        "labels = torch.tensor([len(y) // 99 for _, y in rows])",
        "",
    ),
    "ignored by the lists": (
        "labels = torch.tensor([fill(y, longest, value=-100) for _, y in rows])",
        "",
    ),
    "ignored by the loss": (
        "labels = torch.tensor([fill(y, longest) for _, y in rows])",
        "ignore_index=PAD",
    ),
    "weights of places": (
        "labels = torch.tensor([fill(y, longest) for _, y in rows])",
        "reduction='none'",
    ),
    "written over": (
        "labels = torch.tensor([fill(y, longest) for _, y in rows])\n"
        "    labels[labels == PAD] = -100",
        "",
    ),
    "the only end token": (
        "labels = torch.tensor([y[:-1] + [END] * (longest - len(y) + 1)"
        " for _, y in rows])",
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lists_of_labels(tmp_path: Path, name: str) -> None:
    labels, edit = WRONG[name]
    text = SCRIPT.replace("LABELS", labels).replace("IGNORED", "")
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "padded-targets"]
    assert "is padded with" in finding.message
    assert edit in str([fix.message for fix in finding.fixes])
    assert finding.fixes


@pytest.mark.parametrize("name", RIGHT)
def test_ignored_lists(tmp_path: Path, name: str) -> None:
    labels, ignored = RIGHT[name]
    text = SCRIPT.replace("LABELS", labels).replace("IGNORED", ignored)
    if "none" in ignored:
        text = text.replace(
            "loss.backward()", "loss.mul(ids.ne(0).flatten()).sum().backward()"
        )
    if name == "a label of each text":
        text = text.replace(").flatten(0, 1), labels", ")[:, 0], labels")
    if name == "the only end token":
        text = text.replace(" + [END]))", "))").replace("y[:-1]", "y")
        text = text.replace("len(y) for _, y", "len(y) + 1 for _, y")
    codes = [f.code for f in rehearsed(tmp_path, text).findings]
    assert "padded-targets" not in codes
