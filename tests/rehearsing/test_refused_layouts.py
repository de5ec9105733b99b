"""Sizes with channels for `interpolate`, bags that are padded, log-probabilities of a
CTC loss with the batch first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

RESIZED = """\
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)

    def forward(self, x):
        {resized}

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    labels = torch.randint(4, (2, 12, 12))
    F.cross_entropy(net(torch.randn(2, 3, 12, 12)), labels).backward()
    optimizer.step()
"""
SIZES = {
    "without the batch": (
        "return F.interpolate(self.conv(x), size=x.shape[1:])", "`x.shape[-2:]`",
    ),
    "all dims": (
        "return F.interpolate(self.conv(x), x.size())", "`x.size()[-2:]`",
    ),
    "a name": (
        "size = x.shape[1:]\n        return F.interpolate(self.conv(x), size=size)",
        "`size = x.shape[-2:]`",
    ),
}  # fmt: skip
CTC = """\
import torch
from torch import nn

net = nn.LSTM(5, 7, batch_first=True)
loss_of = nn.CTCLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    scores = net(torch.randn(4, 20, 5))[0].log_softmax(-1)
    texts, lengths = torch.randint(1, 7, (4, 6)), torch.full((4,), 20)
    loss = loss_of({scores}, texts, lengths, torch.full((4,), 6))
    loss.backward()
    optimizer.step()
"""
BAGS = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

def collate(batch):
    texts = [torch.tensor(text) for text, _ in batch]
    offsets = torch.tensor([0] + [len(text) for text in texts[:-1]]).cumsum(0)
    return {joined}, offsets, torch.tensor([label for _, label in batch])

data = [([1] * (n % 5 + 2), n % 3) for n in range(24)]
bag, head = nn.EmbeddingBag(9, 8), nn.Linear(8, 3)
optimizer = torch.optim.SGD([*bag.parameters(), *head.parameters()], lr=0.1)
for texts, offsets, labels in DataLoader(data, batch_size=8, collate_fn=collate):
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(bag(texts, offsets)), labels).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("name", SIZES)
def test_channels_are_no_size_of_a_map(tmp_path: Path, name: str) -> None:
    resized, fix = SIZES[name]
    finding = rehearsed(tmp_path, RESIZED.format(resized=resized)).findings[-1]
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_time_comes_first_for_a_ctc_loss(tmp_path: Path) -> None:
    finding = rehearsed(tmp_path, CTC.format(scores="scores")).findings[-1]
    assert [fix.message for fix in finding.fixes] == ["`scores.transpose(0, 1)`"]
    assert finding.fixes[0].checked
    right = rehearsed(tmp_path, CTC.format(scores="scores.transpose(0, 1)"))
    assert not [f for f in right.findings if f.severity == "error"]


def test_bags_with_offsets_are_flat(tmp_path: Path) -> None:
    padded = "pad_sequence(texts, batch_first=True)"
    finding = rehearsed(tmp_path, BAGS.format(joined=padded)).findings[-1]
    assert finding.fixes[0].message == "`torch.cat(texts)`"
    assert finding.fixes[0].checked
    right = rehearsed(tmp_path, BAGS.format(joined="torch.cat(texts)"))
    assert not [f for f in right.findings if f.severity == "error"]
