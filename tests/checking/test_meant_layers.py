"""Layers, states and targets that a program means and does not have: both directions of
a recurrent layer, a shortcut past a block, one-hot labels, an index for each feature.
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
    "the last states of both directions": (
        """\
class Net(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.LSTM(16, hidden, 2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(hidden * 2, 4)

    def forward(self, x):
        out, (h, c) = self.rnn(x)
        return self.fc(h[-1])

Net()(torch.randn(5, 11, 16)).sum().backward()
""",
        "`torch.cat([h[-2], h[-1]], dim=-1)`",
    ),
    "the states of an encoder in both directions": (
        """\
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(16, 32, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)

decoder = nn.GRU(16, 32)
out, state = Encoder()(torch.randn(9, 4, 16))
decoder(torch.randn(7, 4, 16), state)[0].sum().backward()
""",
        "`hidden = hidden.unflatten(0, (-1, 2)).sum(1)` before it is returned",
    ),
    "an index for each feature": (
        """\
states, lengths = torch.randn(4, 10, 16), torch.tensor([3, 10, 5, 7])
last = states.gather(1, (lengths - 1).unsqueeze(1))
nn.Linear(16, 3)(last.squeeze(1))
""",
        "`(lengths - 1).unsqueeze(1).unsqueeze(2).expand(-1, -1, states.size(2))`",
    ),
    "numbers of classes for a loss of each score": (
        """\
net = nn.Sequential(nn.Linear(20, 4), nn.Softmax(1))
labels = torch.randint(0, 4, (8,))
nn.MSELoss()(net(torch.randn(8, 20)), labels).backward()
""",
        "`F.one_hot(labels, 4).float()`",
    ),
    "numbers of classes for a loss of logits": (
        """\
net, criterion = nn.Linear(20, 4), nn.BCEWithLogitsLoss()
labels = torch.randint(0, 4, (8,))
criterion(net(torch.randn(8, 20)), labels).backward()
""",
        "`nn.CrossEntropyLoss` in place of `nn.BCEWithLogitsLoss`",
    ),
    "a block that halves the map without a shortcut": (
        """\
class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.first = nn.Conv2d(cin, cout, 3, stride, 1)
        self.second = nn.Conv2d(cout, cout, 3, 1, 1)

    def forward(self, x):
        return x + self.second(self.first(x).relu())

net = nn.Sequential(Block(16, 16), Block(16, 32, 2))
net(torch.randn(2, 16, 32, 32)).sum().backward()
""",
        "`self.shortcut = nn.Identity() if cin == cout and stride == 1 else"
        " nn.Conv2d(cin, cout, 1, stride)` and `self.shortcut(x)`",
    ),
    "positions of an odd width": (
        """\
table, angles = torch.zeros(50, 33), torch.arange(50 * 17.0).view(50, 17)
table[:, 0::2] = angles.sin()
table[:, 1::2] = angles.cos()
""",
        "`angles.cos()[:, :table[:, 1::2].size(1)]`",
    ),
    "a mask of each sample for several heads": (
        """\
attend = nn.Module()
attend.heads = nn.MultiheadAttention(32, 4, batch_first=True)
x, mask = torch.randn(6, 9, 32), torch.ones(6, 9, 9).triu(1).bool()
attend.heads(x, x, x, attn_mask=mask)[0].sum().backward()
""",
        "`mask.repeat_interleave(attend.heads.num_heads, dim=0)`",
    ),
    "two mistakes on one line": (
        """\
import numpy as np
net, x = nn.Linear(20, 4), torch.from_numpy(np.random.rand(8, 20))
F.cross_entropy(net(x), torch.randint(0, 4, (8, 1))).backward()
""",
        "`x.float()`",
    ),
    "states whose name is used below": (
        """\
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(16, 32), nn.Linear(32, 5)

    def forward(self, x, hidden):
        output = self.rnn(x, hidden)
        return self.out(output), hidden

Decoder()(torch.randn(7, 4, 16), torch.zeros(1, 4, 32))[0].sum().backward()
""",
        "`output, hidden = self.rnn(x, hidden)`",
    ),
    "a mean of all pixels": (
        """\
body, head = nn.Conv2d(3, 32, 3, padding=1), nn.Linear(32, 5)
head(body(torch.randn(4, 3, 16, 16)).mean(-1)).sum().backward()
""",
        "`body(torch.randn(4, 3, 16, 16)).mean((-2, -1))`",
    ),
    "a product of the other side": (
        """\
q, k = torch.randn(2, 4, 9, 16), torch.randn(2, 4, 9, 16)
mask = torch.full((9, 9), float("-inf")).triu(1)
scores = (k.transpose(2, 3) @ q) / 4 + mask
""",
        "`q @ k.transpose(2, 3)`",
    ),
    "weights of the other side": (
        """\
query, memory = torch.randn(10, 7, 48), torch.randn(10, 9, 48)
weights = torch.softmax(memory.transpose(1, 2) @ query, dim=-1)
context = weights @ memory
""",
        "`query @ memory.transpose(1, 2)`",
    ),
    "sizes of a view in another order": (
        """\
def density(target, means, widths):
    return (target.unsqueeze(-2) - means) / widths

mixtures, numbers = 5, 4
out = nn.Linear(16, 40)(torch.randn(8, 16))
means = out[..., :20].view(8, mixtures, numbers)
widths = out[..., 20:].view(8, numbers, mixtures).exp()
density(torch.randn(8, numbers), means, widths).sum().backward()
""",
        "`out[..., 20:].view(8, mixtures, numbers)`",
    ),
    "a row along another dim": (
        """\
maps, weight = torch.randn(2, 1, 64, 99), torch.linspace(0.5, 1.5, 99)
(maps * weight.view(1, 1, -1, 1)).mean()
""",
        "`weight.view(1, 1, 1, -1)`",
    ),
    "sequences padded with the time first": (
        """\
attend = nn.MultiheadAttention(16, 2, batch_first=True)
words = nn.utils.rnn.pad_sequence([torch.randn(n, 16) for n in (5, 3, 7)])
attend(torch.randn(3, 9, 16), words, words)[0].sum().backward()
""",
        "`batch_first=True`",
    ),
    "numbers of words in a tensor of floats": (
        """\
embed, out = nn.Embedding(30, 8), nn.Linear(8, 30)
words = torch.zeros(4, 12)
for row in range(4):
    words[row, :5] = torch.tensor([3, 1, 4, 1, 5])
scores = out(embed(words[:, :-1]))
F.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten()).backward()
""",
        "`torch.zeros(4, 12, dtype=torch.long)`",
    ),
    "a decoder with more layers than it gets states": (
        """\
encoder = nn.LSTM(16, 32, 2, batch_first=True)
decoder = nn.LSTM(16, 32, num_layers=2, batch_first=True)
out, (h, c) = encoder(torch.randn(4, 9, 16))
decoder(torch.randn(4, 7, 16), (h[-1:], c[-1:]))[0].sum().backward()
""",
        "`num_layers=1` of `LSTM_1`",
    ),
    "tensors made anew of arrays": (
        """\
import numpy as np
net = nn.Linear(8, 4)
near, far = net(torch.randn(6, 8)), net(torch.randn(6, 8))
kept = np.where((near - far).norm(dim=1).data.numpy() > 0)[0]
first = torch.from_numpy(near.data.numpy()[kept])
second = torch.from_numpy(far.data.numpy()[kept])
F.mse_loss(first, second).backward()
""",
        "`near[kept]`",
    ),
    "images and masks of several sizes": (
        """\
class Leaves(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        size = 32 if i % 2 else 48
        image, mask = torch.rand(3, size, 32), torch.ones(1, size, 32)
        return image, mask

for images, masks in torch.utils.data.DataLoader(Leaves(), batch_size=4):
    F.binary_cross_entropy(nn.Conv2d(3, 1, 1)(images).sigmoid(), masks).backward()
""",
        "`collate_fn=collate`, a function that pads `image` and `mask` to the largest",
    ),
    "a result that is not kept": (
        """\
def measure(scores, labels):
    correct = scores.argmax(1) == labels
    accuracy = correct.float().mean()
    return accuracy, correct

measure(torch.randn(8, 4), torch.randint(0, 4, (8,)))
print(accuracy)
""",
        "`accuracy, _ = measure(torch.randn(8, 4), torch.randint(0, 4, (8,)))`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_what_was_meant(name: str, tmp_path: Path) -> None:
    program, fix = CASES[name]
    report = rehearsed(tmp_path, HEAD + program)
    error = next(finding for finding in report.findings if finding.severity == "error")
    checked = [entry.message for entry in error.fixes if entry.checked]
    assert checked[:1] == [fix]


def test_a_state_of_one_direction_is_told_as_such(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + CASES["the last states of both directions"][0])
    notes = [related.message for related in report.findings[0].related]
    assert any(
        "`hidden_size` of `Net.rnn`, the state of one direction" in note
        for note in notes
    ), notes


def test_positions_go_along_with_the_batch_in_front(tmp_path: Path) -> None:
    program = """\
class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(50, 1, 32))

    def forward(self, x):
        return x + self.table[: x.size(0)]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.positions = nn.Embedding(100, 32), Positions()
        self.encoder = nn.TransformerEncoderLayer(32, 4, 64)

    def forward(self, ids):
        return self.encoder(self.positions(self.embed(ids))).mean(1)

Net()(torch.randint(0, 100, (16, 30))).sum().backward()
"""
    report = rehearsed(tmp_path, HEAD + program)
    (warning,) = report.findings
    assert warning.code == "layout"
    assert [fix.message for fix in warning.fixes][:1] == [
        "`nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)` and"
        " `self.table[...].transpose(0, 1)` with `size(1)`"
    ]


def test_the_way_back_of_rows_is_mended_too(tmp_path: Path) -> None:
    program = """\
class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.code = nn.Conv2d(1, 32, 3, padding=1), nn.Linear(32, 32)

    def forward(self, x):
        maps = self.encode(x)
        b, c, h, w = maps.shape
        rows = self.code(maps.view(b, -1, c))
        return rows.view(b, c, h, w)

Codes()(torch.randn(8, 1, 7, 7)).sum().backward()
"""
    report = rehearsed(tmp_path, HEAD + program)
    (warning,) = report.findings
    assert warning.code == "view-mixes-dims"
    assert [fix.message for fix in warning.fixes][:1] == [
        "`maps.permute(0, 2, 3, 1).reshape(b, -1, c)` and"
        " `rows.view(b, h, w, c).permute(0, 3, 1, 2)`"
    ]


def test_another_variant_of_a_model_is_told(tmp_path: Path) -> None:
    program = """\
import os
import tempfile

def build(name="wide40"):
    width = {"wide20": 20, "wide40": 40}[name]
    layers = [nn.Linear(width, width) for _ in range(10)]
    return nn.Sequential(nn.Linear(8, width), *layers)

path = os.path.join(tempfile.mkdtemp(), "model.pt")
torch.save(build("wide20").state_dict(), path)
model = build(name="wide40")
model.load_state_dict(torch.load(path))
model.eval()
"""
    (error,) = rehearsed(tmp_path, HEAD + program).findings
    assert "is of another variant of `Sequential`" in error.message
    assert "`'wide20'` for `'wide40'`" in [fix.message for fix in error.fixes]


def test_gradients_that_wait_in_another_optimizer_are_not_unused(
    tmp_path: Path,
) -> None:
    program = """\
net, weight = nn.Linear(4, 2), torch.ones(2, requires_grad=True)
first, second = torch.optim.Adam(net.parameters()), torch.optim.Adam([weight])
for _ in range(3):
    losses = weight * net(torch.randn(8, 4)).pow(2).mean(0)
    first.zero_grad()
    losses.sum().backward(retain_graph=True)
    second.zero_grad()
    (losses - losses.mean().detach()).abs().sum().backward(inputs=[weight])
    second.step()
    first.step()
"""
    codes = [f.code for f in rehearsed(tmp_path, HEAD + program).findings]
    assert "gradients-cleared-unused" not in codes
    own = program.replace("second.zero_grad()", "first.zero_grad(); second.zero_grad()")
    codes = [f.code for f in rehearsed(tmp_path, HEAD + own).findings]
    assert "gradients-cleared-unused" in codes
