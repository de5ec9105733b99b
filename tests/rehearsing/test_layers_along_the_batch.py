"""A layer that runs along the batch is told once, with the line where it is built."""

from __future__ import annotations

from pathlib import Path

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.LogSoftmax(dim=0))
data = TensorDataset(torch.randn(96, 8, 8), torch.randint(0, 10, (96,)))
optimizer = torch.optim.Adam(net.parameters())


def validate():
    net.eval()
    with torch.no_grad():
        for x, y in DataLoader(data, 32):
            print(F.nll_loss(net(x), y).item())


for epoch in range(3):
    net.train()
    for x, y in DataLoader(data, 32, shuffle=True):
        optimizer.zero_grad()
        F.nll_loss(net(x), y).backward()
        optimizer.step()
    validate()
"""


def test_one_finding_for_a_layer_that_is_called_at_two_lines(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, SCRIPT).findings
    assert finding.code == "batch-axis"
    built = next(place for place in finding.related if "is built here" in place.message)
    assert built.span.line == 6
    assert finding.fixes[0].message == "`nn.LogSoftmax(dim=-1)`"
    assert finding.fixes[0].checked


STEPS = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def make_batch(items):
    return pad_sequence(items{batch_first})


words = [torch.full((12 if i == 44 else 5,), i % 20) for i in range(45)]
table, rnn = nn.Embedding(20, 8), nn.LSTM(8, 6)
for batch in DataLoader(words, 33, collate_fn=make_batch):
    outputs, state = rnn(table(batch[{steps}]))
    print(outputs.shape)
"""


def test_a_batch_as_long_as_its_steps_counts_as_the_others_do(tmp_path: Path) -> None:
    """The last batch is (12, 12), the first (5, 33): dim 0 is the steps of both."""
    assert not rehearsed(tmp_path, STEPS.format(batch_first="", steps=":-1")).findings


def test_batches_of_samples_are_told(tmp_path: Path) -> None:
    text = STEPS.format(batch_first=", batch_first=True", steps=":")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "layout"
