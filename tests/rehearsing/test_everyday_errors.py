"""Mistakes of the first weeks with torch: what is handed over, unpacked, built or
called in another way than it is meant.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Keyed(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return {"x": torch.randn(20), "y": i % 3}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        x = self.body(x)
        return self.head(x)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens):
        return self.head(self.table(tokens).mean(1))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 14 * 14, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = FLAT
        return self.fc(x)


net, words = Net(), Words()
opt = torch.optim.Adam(net.parameters())
criterion = nn.CrossEntropyLoss()
data = TensorDataset(torch.randn(40, 20), torch.randint(0, 3, (40,)))
loader = DataLoader(data, batch_size=8)
keyed = DataLoader(Keyed(), batch_size=8)
pictures = DataLoader(
    TensorDataset(torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))),
    batch_size=16,
)
"""
STEP = "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
TRAIN = f"    loss = criterion(out, y)\n{STEP}"
OF_IMAGES = """\
model = Images()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in pictures:
    loss = criterion(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
CASES = {
    # what is handed over
    "a whole batch": (
        f"for batch in loader:\n    out = net(batch)\n    y = batch[1]\n{TRAIN}",
        "`batch` is the whole batch of `loader`, a list",
        "`batch[0]`",
    ),
    "a batch with keys": (
        f"for batch in keyed:\n    out = net(batch)\n    y = batch['y']\n{TRAIN}",
        "`batch` is the whole batch of `keyed`, a dict",
        '`batch["x"]`',
    ),
    "a batch that is moved": (
        "for batch in loader:\n    batch = batch.to('cpu')\n    out = net(batch[0])",
        "a list has no `to`: its tensors have",
        "`[part.to('cpu') for part in batch]`",
    ),
    "an array": (
        "x = np.zeros((8, 20), dtype=np.float32)\nprint(net(x).shape)",
        "`x` is an array of NumPy",
        "`torch.from_numpy(x)`",
    ),
    "an array of doubles": (
        "x = np.random.randn(8, 20)\nprint(net(x).shape)",
        "`x` is an array of NumPy",
        "`torch.from_numpy(x).float()`",
    ),
    "numbers of words": (
        "sentence = [3, 5, 7]\nprint(words(sentence).argmax(1))",
        "`sentence` is a list",
        "`torch.tensor([sentence])`",
    ),
    "several sentences": (
        "sentences = [[3, 5, 7], [1, 2, 3]]\nprint(words(sentences).argmax(1))",
        "`sentences` is a list",
        "`torch.tensor(sentences)`",
    ),
    "labels as a list": (
        f"for x, y in loader:\n    y = y.tolist()\n    out = net(x)\n{TRAIN}",
        "`y` is a list: `y.tolist()` makes one of a tensor",
        "without `y = y.tolist()`",
    ),
    "the states of an LSTM": (
        "lstm = nn.LSTM(20, 16, batch_first=True)\nhead = nn.Linear(16, 3)\n"
        "out, h = lstm(torch.randn(8, 5, 20))\nprint(head(h).shape)",
        "`h` is a pair",
        "`out, (h, _) = lstm(torch.randn(8, 5, 20))` and `h[-1]`",
    ),
    "two states side by side": (
        "lstm = nn.LSTM(20, 16, batch_first=True)\nh0 = torch.zeros(1, 8, 16)\n"
        "c0 = torch.zeros(1, 8, 16)\nout, h, c = lstm(torch.randn(8, 5, 20), h0, c0)",
        "takes its two states as one pair",
        "`out, (h, c) = lstm(torch.randn(8, 5, 20), (h0, c0))`",
    ),
    # what is unpacked
    "a count for a batch": (
        f"for x, y in enumerate(loader):\n    out = net(x)\n{TRAIN}",
        "`x` is a whole number",
        "`for x, y in loader`",
    ),
    "a pair taken apart": (
        f"for batch in enumerate(loader):\n    x, y = batch\n    out = net(x)\n{TRAIN}",
        "`x, y = batch` takes the pair apart",
        "`for batch in loader`",
    ),
    "a count beside the values": (
        f"for i, x, y in enumerate(loader):\n    out = net(x)\n{TRAIN}",
        "gives pairs of a count and a batch",
        "`for i, (x, y) in enumerate(loader)`",
    ),
    # what is built
    "a loss of tensors": (
        "for x, y in loader:\n    loss = nn.CrossEntropyLoss(net(x), y)\n" + STEP,
        "builds a loss and gives it",
        "`nn.CrossEntropyLoss()(net(x), y)`",
    ),
    "a softmax of scores": (
        "class Scores(Net):\n    def forward(self, x):\n"
        "        return nn.Softmax(self.head(self.body(x)))\n"
        "print(Scores()(torch.randn(4, 20)).argmax(1))",
        "builds a layer and gives it",
        "`nn.Softmax(dim=-1)(self.head(self.body(x)))`",
    ),
    "a class for a model": (
        f"model = Net\nfor x, y in loader:\n    out = model(x)\n{TRAIN}",
        "`model` is the class `Net` itself",
        "`Net()`",
    ),
    "a class among layers": (
        "body = nn.Sequential(nn.Linear(20, 8), nn.ReLU, nn.Linear(8, 3))",
        "`nn.ReLU` is the class itself",
        "`nn.ReLU()`",
    ),
    "a function among layers": (
        "body = nn.Sequential(nn.Linear(20, 8), F.relu, nn.Linear(8, 3))",
        "`F.relu` is a function",
        "`nn.ReLU()`",
    ),
    "arrays in a data set": (
        "X, Y = np.random.randn(40, 20), np.random.randint(0, 3, 40)\n"
        f"for x, y in DataLoader(TensorDataset(X, Y)):\n    out = net(x)\n{TRAIN}",
        "`TensorDataset` takes tensors",
        "`TensorDataset(torch.as_tensor(X).float(), torch.as_tensor(Y))`",
    ),
    "tensors for a data set": (
        "X, Y = torch.randn(40, 20), torch.randint(0, 3, (40,))\n"
        f"for x, y in DataLoader([X, Y], batch_size=8):\n    out = net(x)\n{TRAIN}",
        "cannot be collated into a batch",
        "`TensorDataset(X, Y)`",
    ),
    # what is called
    "a loss without its target": (
        "for x, y in loader:\n    loss = criterion(net(x))\n" + STEP,
        "lacks `target`",
        "`criterion(net(x), y)`",
    ),
    "a model that is given its labels": (
        f"for x, y in loader:\n    out = net(x, y)\n{TRAIN}",
        "`net` takes one value, and is given `y` too",
        "`net(x)`",
    ),
    "a misspelt method": (
        "for x, y in loader:\n    loss = criterion(net(x), y)\n    loss.backwards()",
        "`loss` has no `backwards`: it has `backward`",
        "`loss.backward`",
    ),
    "a sum that nothing begins": (
        "for x, y in loader:\n    loss = criterion(net(x), y)\n"
        "    total += loss.item()\nprint(total)",
        "the loop adds to `total`, which nothing sets before it",
        "`total = 0` before the loop",
    ),
    "a list that nothing begins": (
        "for x, y in loader:\n    losses.append(criterion(net(x), y).item())",
        "the loop adds to `losses`",
        "`losses = []` before the loop",
    ),
    "tensors in a row": (
        "a, b = torch.randn(8, 5), torch.randn(8, 5)\nc = torch.cat(a, b, dim=1)",
        "`torch.cat` joins a list of tensors",
        "`[a, b]`",
    ),
    # what is computed
    "a pair that is compared": (
        "right = 0\nfor x, y in loader:\n    pred = net(x).max(1)\n"
        "    right += (pred == y).sum().item()",
        "`pred` is a pair",
        "`net(x).max(1).indices`",
    ),
    "losses for NumPy": (
        "losses = []\nfor x, y in loader:\n    loss = criterion(net(x), y)\n"
        "    losses.append(loss)\nprint(np.mean(losses))",
        "it requires a gradient",
        "`loss.item()`",
    ),
    "a weight that is replaced": (
        "w = torch.randn(20, 3, requires_grad=True)\nfor x, y in loader:\n"
        "    loss = criterion(x @ w, y)\n    loss.backward()\n"
        "    with torch.no_grad():\n        w = w - 0.1 * w.grad\n    w.grad.zero_()",
        "made a new tensor, which has no gradient",
        "`w -= 0.1 * w.grad`",
    ),
    "a cast of class numbers": (
        "for x, y in loader:\n    hot = F.one_hot(y.float(), 3)",
        "expects class indices",
        "`y`",
    ),
    # what a class has
    "a model that returns nothing": (
        "class Silent(Net):\n    def forward(self, x):\n        x = self.body(x)\n"
        f"        self.head(x)\nm = Silent()\nfor x, y in loader:\n"
        f"    out = m(x)\n{TRAIN}",
        "`forward` returns None",
        "`return self.head(x)` at the end of `forward`",
    ),
    "a layer in a local name": (
        "class Local(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        fc = nn.Linear(20, 3)\n\n    def forward(self, x):\n"
        "        return self.fc(x)\nprint(Local()(torch.randn(4, 20)).shape)",
        "is a name of the constructor alone",
        "`self.fc = nn.Linear(20, 3)`",
    ),
    "a layer without self": (
        "class Bare(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(20, 3)\n\n    def forward(self, x):\n"
        "        return fc(x)\nprint(Bare()(torch.randn(4, 20)).shape)",
        "`fc` is an attribute, `self.fc`",
        "`self.fc`",
    ),
    "another layer's name": (
        "class Other(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(20, 3)\n\n    def forward(self, x):\n"
        "        return self.out(x)\nprint(Other()(torch.randn(4, 20)).shape)",
        "the constructor builds `self.fc`, which nothing reads",
        "`self.fc`",
    ),
    "a method without self": (
        "class Static(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(20, 3)\n\n    def forward(x):\n"
        "        return self.fc(x)\nprint(Static()(torch.randn(4, 20)).shape)",
        "`Static.forward` has no `self`",
        "`def forward(self, x)`",
    ),
    "attention to itself": (
        "attention = nn.MultiheadAttention(64, 8)\nx = torch.randn(4, 10, 64)\n"
        "out, _ = attention(x)",
        "takes queries, keys and values",
        "`attention(x, x, x)`",
    ),
    "keys for values": (
        f"for x, y in keyed:\n    out = net(x)\n{TRAIN}",
        "`x, y` are the keys of the batch",
        '`x, y = batch["x"], batch["y"]`',
    ),
    "items of one value": (
        "class Half(Dataset):\n    def __init__(self):\n"
        "        self.x = torch.randn(40, 20)\n"
        "        self.y = torch.randint(0, 3, (40,))\n\n    def __len__(self):\n"
        "        return 40\n\n    def __getitem__(self, i):\n        return self.x[i]\n"
        f"for x, y in DataLoader(Half(), batch_size=8):\n    out = net(x)\n{TRAIN}",
        "`Half` gives one for each item",
        "`return self.x[i], self.y[i]`",
    ),
    "a length that is not that of the data": (
        "class Long(Dataset):\n    def __init__(self):\n"
        "        self.x = torch.randn(40, 20)\n\n    def __len__(self):\n"
        "        return 50\n\n    def __getitem__(self, i):\n        return self.x[i]\n"
        "for x in DataLoader(Long(), batch_size=8):\n    out = net(x)",
        "of dim 0 of `self.x` (40, 20)",
        "`return len(self.x)`",
    ),
    "class numbers beside one score each": (
        "score = nn.Linear(20, 1)\nfor x, y in loader:\n"
        "    y = (y > 1).long()\n"
        "    loss = F.binary_cross_entropy_with_logits(score(x), y)\n"
        "    loss.backward()",
        "they differ by a dim of size 1",
        "`y.unsqueeze(1).float()`",
    ),
    "maps of one pixel": (
        "pool, head = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 3)\n"
        "x = torch.randn(4, 16, 8, 8)\nprint(head(pool(x)).shape)",
        "needs 16 input features, got 1",
        "`pool(x).flatten(1)`",
    ),
    # what is read
    "a shape that is called": (
        "x = torch.randn(3, 4)\nprint(x.shape(0))",
        "`x.shape` is a tuple of sizes",
        "`x.shape[0]`",
    ),
    "a size that is indexed": (
        "x = torch.randn(3, 4)\nprint(x.size[0])",
        "`x.size` is a method",
        "`x.shape[0]`",
    ),
    "a range of sizes": (
        "x = torch.randn(3, 4)\nfor i in range(x.shape):\n    print(i)",
        "`range` counts to a number",
        "`range(x.shape[0])`",
    ),
    "an optimizer of another name": (
        "for x, y in loader:\n    loss = criterion(net(x), y)\n    loss.backward()\n"
        "    optimizer.step()",
        "the optimizer of the program is `opt`",
        "`opt`",
    ),
    # what an attention, a series and maps are compared with
    "a mask of another length": (
        "layer = nn.TransformerDecoderLayer(32, 4, batch_first=True)\n"
        "tgt, memory = torch.randn(4, 12, 32), torch.randn(4, 7, 32)\n"
        "mask = nn.Transformer.generate_square_subsequent_mask(7)\n"
        "out = layer(tgt, memory, tgt_mask=mask)",
        "expects `mask` as (12, 12)",
        "`nn.Transformer.generate_square_subsequent_mask(tgt.size(1))`",
    ),
    "masks without channels": (
        "conv = nn.Conv2d(3, 1, 3, padding=1)\n"
        "masks = torch.randint(0, 2, (4, 32, 32))\n"
        "scores = conv(torch.randn(4, 3, 32, 32))\n"
        "loss = F.binary_cross_entropy_with_logits(scores, masks)",
        "they differ by a dim of size 1",
        "`masks.unsqueeze(1).float()`",
    ),
    # what is joined, added and kept
    "targets without the dim of the scores": (
        "judge = nn.Sequential(nn.Linear(20, 1), nn.Sigmoid())\nbce = nn.BCELoss()\n"
        "for x, y in loader:\n"
        "    real, fake = torch.ones(x.size(0)), torch.zeros(x.size(0))\n"
        "    loss = bce(judge(x), real) + bce(judge(-x), fake)\n    loss.backward()",
        "they differ by a dim of size 1",
        "`torch.ones(x.size(0), 1)` and `torch.zeros(x.size(0), 1)`",
    ),
    "an attribute of the model in a wrapper": (
        "wrapped = nn.DataParallel(net)\nprint(wrapped.head.in_features)",
        "`wrapped` is a `DataParallel`",
        "`wrapped.module.head`",
    ),
    "batches in a stack": (
        "outs = [net(x) for x, y in DataLoader(data, batch_size=16)]\n"
        "print(torch.stack(outs).shape)",
        "`torch.stack` needs equal shapes",
        "`torch.cat`",
    ),
    "a block whose input has fewer channels": (
        "class Block(nn.Module):\n    def __init__(self, cin, cout, stride=1):\n"
        "        super().__init__()\n"
        "        self.one = nn.Conv2d(cin, cout, 3, stride, 1)\n"
        "        self.two = nn.Conv2d(cout, cout, 3, 1, 1)\n\n"
        "    def forward(self, x):\n"
        "        return F.relu(self.two(F.relu(self.one(x))) + x)\n"
        "blocks = nn.Sequential(Block(3, 16), Block(16, 32, 2))\n"
        "print(blocks(torch.randn(2, 3, 32, 32)).shape)",
        "16 against 3",
        "`self.shortcut = nn.Identity() if cin == cout and stride == 1 else"
        " nn.Conv2d(cin, cout, 1, stride)` and `self.shortcut(x)`",
    ),
    "the state of one layer": (
        "class Last(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lstm = nn.LSTM(4, 16, batch_first=True)\n"
        "        self.fc = nn.Linear(16, 3)\n\n    def forward(self, x):\n"
        "        _, (h, _) = self.lstm(x)\n        return self.fc(h)\n"
        "last = Last()\nfor x, y in loader:\n"
        f"    out = last(x.view(-1, 5, 4))\n{TRAIN}",
        "expects class indices",
        "`h[-1]` for `h`",
    ),
    "parameters in a dict": (
        "params = dict(net.named_parameters())\nopt = torch.optim.SGD(params, lr=0.1)",
        "`params` is a dict",
        "`params.values()`",
    ),
    "weights in a list": (
        "criterion = nn.CrossEntropyLoss(weight=[1.0, 2.0, 3.0])",
        "`weight` is to be a tensor",
        "`torch.tensor([1.0, 2.0, 3.0])`",
    ),
    # a batch that is flattened with its samples
    "all in one row": (
        (OF_IMAGES, "x.view(-1)"),
        "needs 1568 input features, got 25088",
        "`x.view(x.size(0), -1)`",
    ),
    "one sample's size": (
        (OF_IMAGES, "x.view(8 * 14 * 14)"),
        "needs 1568 elements",
        "`x.view(-1, 8 * 14 * 14)`",
    ),
    "another size": (
        (OF_IMAGES, "x.reshape(-1, 8 * 7 * 7)"),
        "needs 1568 input features, got 392",
        "`x.reshape(-1, 8 * 14 * 14)`",
    ),
    "a function that flattens": (
        (OF_IMAGES, "torch.flatten(x)"),
        "needs 1568 input features, got 25088",
        "`torch.flatten(x, 1)`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_the_only_fix(name: str, tmp_path: Path) -> None:
    program, said, fix = CASES[name]
    flat = "x.flatten(1)"
    if isinstance(program, tuple):
        program, flat = program
    head = HEAD.replace("FLAT", flat)
    findings = rehearsed(tmp_path, f"{head}{program}\n").findings
    error = next(finding for finding in findings if finding.severity == "error")
    assert said in error.message
    assert [edit.message for edit in error.fixes if edit.checked] == [fix]


def test_an_unset_count_is_told_where_it_is_read(tmp_path: Path) -> None:
    """Not at the head of the loop, where the count is reported."""
    program = "def f():\n    for i in range(3):\n        total += i\nf()\n"
    (error,) = rehearsed(tmp_path, program).findings
    assert error.line == 3


def test_a_name_is_not_taken_for_a_class(tmp_path: Path) -> None:
    """`dataset` stands for no `Dataset`."""
    program = f"{HEAD.replace('FLAT', 'x')}print(len(dataset))\n"
    (error,) = rehearsed(tmp_path, program).findings
    assert "Dataset" not in error.message


def test_an_index_makes_no_data_longer(tmp_path: Path) -> None:
    program = "import torch\nx = torch.randn(4, 3, 8)\nprint(x[:, :, 9])\n"
    (error,) = rehearsed(tmp_path, program).findings
    assert not error.fixes


MAPS = """\
import torch
from torch import nn

first = nn.Conv2d(3, 16, 3, padding=1)
second = nn.Conv2d(32, 64, 3, padding=1)
x = first(torch.randn(2, 3, 32, 32)).relu()
print(second(x).shape)
"""


def test_maps_of_a_convolution_are_not_turned(tmp_path: Path) -> None:
    """They have as many columns as the next layer takes channels."""
    (error,) = rehearsed(tmp_path, MAPS).findings
    fixes = {fix.message for fix in error.fixes if fix.checked}
    assert fixes == {
        "`nn.Conv2d(16, 64, 3, padding=1)`", "`nn.Conv2d(3, 32, 3, padding=1)`",
    }  # fmt: skip


JOINED = """\
import torch
from torch import nn

down, up = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
out = nn.Conv2d(16, 1, 1)
a = down(torch.randn(2, 3, 8, 8))
x = torch.cat([up(a), a], dim=1)
print(out(x).shape)
"""


def test_maps_are_joined_along_their_channels(tmp_path: Path) -> None:
    (error,) = rehearsed(tmp_path, JOINED).findings
    fixes = [fix.message for fix in error.fixes if fix.checked]
    assert fixes == ["`nn.Conv2d(32, 1, 1)`"]


SERIES = """\
import torch
from torch import nn

lstm, head = nn.LSTM(1, 32, batch_first=True), nn.Linear(32, 1)
series = torch.sin(torch.linspace(0, 20, 100))
windows = torch.stack([series[i : i + 10] for i in range(80)])
out, _ = lstm(windows)
print(head(out[:, -1]).shape)
"""


def test_steps_of_a_series_are_no_features(tmp_path: Path) -> None:
    (error,) = rehearsed(tmp_path, SERIES).findings
    fixes = [fix.message for fix in error.fixes if fix.checked]
    assert fixes[0] == "`windows.unsqueeze(2)`"
    assert not any("LSTM" in fix for fix in fixes)
