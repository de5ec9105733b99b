"""Packed sequences that are padded with the steps first, in front of samples first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader


def collate(batch):
    batch = sorted(batch, key=len, reverse=True)
    lengths = [len(each) for each in batch]
    words = pad_sequence(batch, batch_first=True)
    return words, words % 5, lengths


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.rnn = nn.{rnn}(16, 12, batch_first={first})
        self.head = nn.Linear(12, 5)

    def forward(self, words, lengths):
        x = self.embedding(words){turned}
        packed = pack_padded_sequence(x, lengths, {pack})
        states, last = self.rnn(packed)
        h, _ = pad_packed_sequence(states{pad})
        {pool}
        return self.head(h)


rows = [torch.randint(1, 50, (4 + i % 9,)) for i in range(40)]
model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for words, tags, lengths in DataLoader(rows, batch_size=8, collate_fn=collate):
    optimizer.zero_grad()
    scores = model(words, lengths)
    loss = F.cross_entropy({given})
    loss.backward()
    optimizer.step()
"""
PLAIN = {
    "rnn": "LSTM", "first": "True", "turned": "", "pack": "batch_first=True",
    "pad": ", batch_first=True", "pool": "h = h * 1.0",
    "given": "scores.reshape(-1, 5), tags.reshape(-1)",
}  # fmt: skip
WRONG = {
    "flattened": ({"pad": ""}, "paired-rows"),
    "flattened, of any order": (
        {"pad": "", "pack": "batch_first=True, enforce_sorted=False"}, "paired-rows",
    ),
    "of a GRU, with a padding value": (
        {"pad": ", padding_value=0.5", "rnn": "GRU"}, "paired-rows",
    ),
    "written out": ({"pad": ", batch_first=False"}, "paired-rows"),
    "masked": (
        {"pad": "", "pool": "h = h * (words != 0).unsqueeze(-1)"},
        "broadcast-mismatch",
    ),
}  # fmt: skip
TIME_FIRST = {
    "first": "False", "turned": ".transpose(0, 1)", "pack": "enforce_sorted=True",
    "pad": "", "given": "scores.reshape(-1, 5), tags.t().reshape(-1)",
}  # fmt: skip
RIGHT = {
    "samples first": {},
    "samples first, of any order": {"pack": "batch_first=True, enforce_sorted=False"},
    "time first": TIME_FIRST,
    "time first, turned at the end": {
        **TIME_FIRST, "pool": "h = h.transpose(0, 1)",
        "given": "scores.reshape(-1, 5), tags.reshape(-1)",
    },
    "turned after padding": {"pad": "", "pool": "h = h.transpose(0, 1)"},
    "classes in front": {"given": "scores.transpose(1, 2), tags"},
    "the last states": {"pad": "", "pool": "h = last[0][-1]",
                        "given": "scores, tags[:, 0]"},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_steps_first_are_found_where_they_are_padded(name: str, tmp_path: Path) -> None:
    change, code = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(**{**PLAIN, **change}))
    (finding,) = report.findings
    assert finding.code == code
    assert "batch_first=True" in finding.fixes[0].message
    assert finding.fixes[0].checked
    places = [*finding.related, finding]
    assert 26 in {place.span.line for place in places if place.span is not None}


@pytest.mark.parametrize("name", RIGHT)
def test_equal_orders_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(**{**PLAIN, **RIGHT[name]}))
    assert [each.message for each in report.findings] == []
