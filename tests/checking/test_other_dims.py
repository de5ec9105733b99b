"""Dims that a call reduced, joined or dropped where another one was meant, and what
has the size of channels by accident.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

"""
CASES = {
    "tensors that are joined along the batch": (
        """\
reduce = nn.Conv2d(16, 4, 1)
maps, detail = torch.randn(2, 8, 6, 6), torch.randn(2, 8, 6, 6)
reduce(torch.cat([maps, detail])).sum().backward()
""",
        "`torch.cat([maps, detail], dim=1)`",
    ),
    "times beside frequencies": (
        """\
def embed(t, dim):
    freqs = torch.exp(-torch.arange(dim // 2) / dim)
    angles = t * freqs
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


nn.Linear(16, 4)(embed(torch.rand(12), 16))
""",
        "`t[:, None]`",
    ),
    "a deviation without its dim": (
        """\
series = torch.randn(8, 3, 24)
mean = series.mean(-1, keepdim=True)
scaled = (series - mean) / (series.std(-1) + 1e-5)
""",
        "`series.std(-1, keepdim=True)`",
    ),
    "a scale of another dim": (
        """\
class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(5, 8)

    def forward(self, past, kind):
        scale = past.abs().mean(0, keepdim=True).clamp(min=1e-3)
        return torch.cat([self.embed(kind), scale.log()], dim=-1)


Forecast()(torch.rand(16, 24), torch.rand(16, 5))
""",
        "`past.abs().mean(1, keepdim=True)`",
    ),
    "keys that are summed over the heads": (
        """\
q, k = torch.rand(2, 4, 10, 8), torch.rand(2, 4, 10, 8)
norm = torch.einsum("bhnd,bhd->bhn", q, k.sum(dim=1))
""",
        "`k.sum(dim=2)`",
    ),
    "predictions that keep their steps": (
        """\
head, states = nn.Linear(12, 30), torch.randn(4, 9, 12)
target = torch.randint(30, (4, 9))
scores = head(states)
F.cross_entropy(scores, target.reshape(-1)).backward()
""",
        "`scores.reshape(-1, scores.size(-1))`",
    ),
    "frames in the place of colours, before a layer of another size": (
        """\
class Clips(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv3d(3, 4, 3, padding=1), nn.MaxPool3d(2))
        self.second = nn.Sequential(nn.Conv3d(4, 8, 3, padding=1), nn.MaxPool3d(2))
        self.head = nn.Linear(8 * 2 * 2, 5)

    def forward(self, x):
        x = self.second(self.first(x))
        return self.head(x.flatten(1))


Clips()(torch.rand(6, 8, 3, 8, 8)).sum().backward()
""",
        "`x.transpose(1, 2)`",
    ),
    "a weight with its rows as columns": (
        """\
down = nn.Parameter(torch.randn(20, 6))
print(F.linear(torch.randn(4, 20), down).shape)
""",
        "`down.t()`",
    ),
    "columns of floats that are indices": (
        """\
grid, hits = torch.rand(16, 16, 5), torch.rand(7, 4)
cells = hits[:, 2:4]
columns, rows = cells.T
print(grid[rows, columns].shape)
""",
        "`cells.T.long()`",
    ),
    "a layer that was to read in both directions": (
        """\
class Tagger(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.LSTM(8, hidden, batch_first=True)
        self.head = nn.Linear(hidden * 2, 3)

    def forward(self, x):
        return self.head(self.rnn(x)[0].mean(1))


Tagger()(torch.randn(4, 7, 8)).sum().backward()
""",
        "`nn.LSTM(8, hidden, batch_first=True, bidirectional=True)`",
    ),
    "a feature that the data does not have": (
        "head, times = nn.Linear(2, 8), torch.rand(4)\nhead(times[:, None])\n",
        "`nn.Linear(1, 8)`",
    ),
    "channels of the size of the map": (
        """\
body = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.Conv2d(32, 8, 3, padding=1),
)
body(torch.randn(2, 3, 32, 32))
""",
        "`nn.Conv2d(16, 8, 3, padding=1)`",
    ),
    "boxes of a map, of which a flat mask chooses": (
        """\
boxes = nn.Conv2d(8, 4, 1)(torch.randn(2, 8, 5, 5)).permute(0, 2, 3, 1)
positive = torch.rand(2, 25) > 0.5
print(boxes[positive].sum())
""",
        "`boxes.flatten(1, 2)`",
    ),
    "a convolution without padding before a join": (
        """\
def block(channels, width):
    return nn.Sequential(
        nn.Conv2d(channels, width, 3),
        nn.Conv2d(width, width, 3, padding=1),
    )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = block(3, 8), block(8, 8)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x):
        x = self.first(x)
        return torch.cat([x, self.up(self.second(self.pool(x)))], dim=1)


Net()(torch.randn(2, 3, 32, 32)).sum().backward()
""",
        "`nn.Conv2d(channels, width, 3, padding=1)`",
    ),
    "no convolution with padding": (
        """\
body = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.Conv2d(8, 1, 5))
image = torch.randn(2, 3, 32, 32)
loss = F.mse_loss(body(image), image.mean(1, keepdim=True))
""",
        "`padding=2` for each of 2 convolutions",
    ),
    "a pair that a module returns": (
        """\
class Attend(nn.Module):
    def forward(self, x):
        weights = x.softmax(-1)
        return x * weights, weights


attend, head = Attend(), nn.Linear(6, 2)
mixed = attend(torch.randn(4, 6))
head(mixed).sum().backward()
""",
        "`mixed, _ = attend(torch.randn(4, 6))`",
    ),
    "rewards that are answers": (
        """\
def play(actions, best):
    return actions == best


rewards = play(torch.randint(4, (8,)), torch.randint(4, (8,)))
advantages = rewards - rewards.mean()
""",
        "`(actions == best).float()`",
    ),
    "a maximum without its dim": (
        """\
points = nn.Conv1d(3, 16, 1)(torch.randn(2, 3, 40))
whole = points.max(dim=2).values.expand_as(points)
print(torch.cat([points, whole], dim=1).shape)
""",
        "`points.max(dim=2, keepdim=True)`",
    ),
    "labels of two data sets that are joined": (
        """\
judge = nn.Linear(6, 2)
source, target = torch.randn(8, 6), torch.randn(8, 6)
of_source = torch.cat((torch.zeros(len(source)), torch.ones(len(target))))
scores = judge(torch.cat((source, target)))
nn.CrossEntropyLoss()(scores, of_source).backward()
""",
        "`of_source.long()`",
    ),
    "features that were turned in vain": (
        """\
conv, sound = nn.Conv1d(40, 8, 3), torch.randn(2, 40, 81)
sound = sound.transpose(1, 2)
conv(sound).sum().backward()
""",
        "`sound` without `.transpose(1, 2)`",
    ),
    "masks of one image with a channel": (
        """\
body = nn.Conv2d(3, 2, 1)
images, masks = torch.randn(1, 3, 8, 8), torch.zeros(1, 1, 8, 8)
F.nll_loss(body(images).log_softmax(1), masks.long()).backward()
""",
        "`masks.long().squeeze(1)`",
    ),
    "the tokens of a mask among queries and keys": (
        """\
layer = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True)
tokens, memory = torch.randn(4, 9, 16), torch.randn(4, 5, 16)
known = torch.ones(4, 9)
layer(tokens, memory, tgt_mask=known.float()).sum().backward()
""",
        "`tgt_key_padding_mask=known == 0`",
    ),
    "classes that are chosen along the batch": (
        """\
scores = nn.Conv2d(3, 5, 1)(torch.randn(4, 3, 6, 6))
known = torch.rand(4, 6, 6) > 0.5
chosen = scores.argmax(dim=0)
print(chosen[known].sum())
""",
        "`scores.argmax(dim=1)`",
    ),
    "a state for the first dim of the data": (
        """\
class Songs(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 8)

    def forward(self, x):
        return self.rnn(x, torch.zeros(1, x.size(0), 8))[0]


Songs()(torch.randn(4, 10, 6)).sum().backward()
""",
        "`nn.GRU(6, 8, batch_first=True)`",
    ),
    "a buffer that keeps the graph of the first step": (
        """\
class Rotation(nn.Module):
    def __init__(self):
        super().__init__()
        self.freqs = nn.Parameter(torch.ones(4))
        self.register_buffer("cached", None, persistent=False)

    def forward(self, x):
        if self.cached is None:
            angles = torch.arange(6.0)[:, None] * self.freqs
            self.cached = angles
        return x * self.cached.cos()


project, rotation = nn.Linear(4, 4), Rotation()
for _ in range(2):
    rotation(project(torch.randn(3, 6, 4))).sum().backward()
""",
        "`self.cached = angles.detach()`",
    ),
    "scores of one channel": (
        """\
body = nn.Conv2d(3, 1, 3, padding=1)
images, masks = torch.rand(2, 3, 8, 8), torch.ones(2, 3, 8, 8)
F.binary_cross_entropy_with_logits(body(images), masks).backward()
""",
        "`nn.Conv2d(3, 3, 3, padding=1)`",
    ),
    "a norm of the size of the map": (
        """\
body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(32))
body(torch.randn(2, 3, 32, 32))
""",
        "`nn.BatchNorm2d(16)`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_what_was_meant(name: str, tmp_path: Path) -> None:
    program, fix = CASES[name]
    report = rehearsed(tmp_path, HEAD + program)
    error = next(finding for finding in report.findings if finding.severity == "error")
    checked = [entry.message for entry in error.fixes if entry.checked]
    assert checked[:1] == [fix]


def test_a_map_with_its_channels_last_is_still_told(tmp_path: Path) -> None:
    program = "nn.Conv2d(3, 8, 3)(torch.rand(2, 32, 32, 3))\n"
    report = rehearsed(tmp_path, HEAD + program)
    assert report.findings[0].code == "channels-last"


def test_scores_of_a_part_of_the_features_are_not_shared_by_the_batch(
    tmp_path: Path,
) -> None:
    program = """\
class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(6, 16), nn.Linear(16, 12)

    def forward(self, steps):
        out = self.head(self.rnn(steps)[0])
        return F.log_softmax(out[..., 5:10].view(*steps.shape[:2], 5), dim=DIM)


data = torch.utils.data.TensorDataset(torch.randn(32, 7, 6))
model = Mixture()
for (batch,) in torch.utils.data.DataLoader(data, batch_size=4):
    model(batch.transpose(0, 1)).exp().mean().backward()
"""
    wrong, right = (
        {finding.code for finding in rehearsed(tmp_path, HEAD + text).findings}
        for text in (program.replace("DIM", "-2"), program.replace("DIM", "-1"))
    )
    assert "batch-axis" in wrong - right


def test_a_missing_device_is_told_once(tmp_path: Path) -> None:
    program = """\
model = nn.Linear(2, 2).to("cuda")
for _ in range(2):
    x, y = torch.randn(3, 2).to("cuda"), torch.randn(3, 2).to("cuda")
    F.mse_loss(model(x), y).backward()
"""
    errors = rehearsed(tmp_path, HEAD + program).findings
    assert [finding.code for finding in errors].count("missing-device") == 1


def test_another_column_is_no_fix_of_an_error_of_numpy(tmp_path: Path) -> None:
    program = """\
import numpy as np

rows = np.empty((2, 2), dtype=object)
for n in range(2):
    rows[n, 0], rows[n, 1] = np.ones(3), n
x = rows[:, 0]
x = torch.tensor(x.astype(np.float32))
"""
    (error,) = rehearsed(tmp_path, HEAD + program).findings
    assert error.code == "program-error"
    assert not any("rows[:, 1]" in fix.message for fix in error.fixes)


def test_a_known_size_is_not_written_as_another_product(tmp_path: Path) -> None:
    program = """\
body, head = nn.Conv2d(3, 64, 3, 5), nn.Linear(64 * 8 * 8, 10)
head(body(torch.randn(2, 3, 32, 32)).flatten(1)).sum().backward()
"""
    (error,) = rehearsed(tmp_path, HEAD + program).findings
    assert [fix.message for fix in error.fixes] == ["`nn.Linear(64 * 6 * 6, 10)`"]


def test_no_sequence_is_made_one_token_long(tmp_path: Path) -> None:
    program = """\
table, places = nn.Embedding(20, 8), nn.Parameter(torch.zeros(1, 16, 8))
ids = torch.randint(0, 20, (4, 24))
(table(ids) + places).sum().backward()
"""
    (error,) = rehearsed(tmp_path, HEAD + program).findings
    assert not any("(4, 1)" in fix.message for fix in error.fixes)
