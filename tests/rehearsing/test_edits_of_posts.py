"""Edits for mistakes that are posted often: the first one is what the answers do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

"""
DIGITS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear({features}, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv(x)))
        return self.fc({x})


net = Net()
data = TensorDataset(torch.rand(40, 1, 28, 28), torch.randint(0, 10, (40,)))
for images, labels in DataLoader(data, batch_size=8):
    images = images{flat}
    F.cross_entropy(net(images), labels).backward()
for images, labels in DataLoader(data, batch_size=20):
    print((net(images{flat}).argmax(1) == labels).sum())
"""
UNET = """\
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = self.twice(3, 8)
        self.down2 = self.twice(8, 16)
        self.bottom = self.twice(16, 32)
        self.up2 = self.up(32, 16)
        self.up1 = self.up(32, 8)
        self.head = nn.Conv2d(16, 1, 1)
        self.pool = nn.MaxPool2d(2)

    def twice(self, inside, outside):
        return nn.Sequential(
            nn.Conv2d(inside, outside, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(outside, outside, 3, padding=1),
        )

    def up(self, inside, outside):
        return nn.Sequential(
            nn.ConvTranspose2d(inside, outside, 2, stride=2),
            self.twice(inside, outside),
        )

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        x = self.bottom(self.pool(b))
        x = torch.cat((self.up2(x), b), dim=1)
        x = torch.cat((self.up1(x), a), dim=1)
        return self.head(x)


net = UNet()
net(torch.rand(2, 3, 16, 16)).mean().backward()
"""
CALIBRATION = """\
x, y = torch.rand(20, 3), torch.rand(20, 2)
net, optimizer = nn.Linear(3, 2), None
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
guess = net(x)
loss = F.mse_loss(guess, y)
for step in range(4):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
STATES = """\
batch_size, steps = 4, 10


def get_batch():
    rows = [torch.randint(0, 12, (steps,)) for _ in range(batch_size)]
    return torch.stack(rows, dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.lstm = nn.Embedding(12, 8), nn.LSTM(8, 16)

    def init_hidden(self, count):
        return torch.zeros(1, count, 16), torch.zeros(1, count, 16)

    def forward(self, x):
        x = self.table(x)
        out, _ = self.lstm(x, self.init_hidden(x.size(0)))
        return out


Net()(get_batch()).mean().backward()
"""
BOXES = """\
class Streets(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        count = 1 + i % 3
        labels = torch.full((count,), i % 4)
        return {"image": torch.rand(3, 8, 8), "box": torch.rand(count, 4),
                "label": labels, "file": f"{i}.png"}


net = nn.Linear(4, 4)
for batch in DataLoader(Streets(), batch_size=4):
    scores = net(batch["box"])
    F.cross_entropy(scores.flatten(0, 1), batch["label"].flatten()).backward()
"""
VECTORS = """\
rows = torch.rand(4, 6)
print(F.cosine_similarity(rows[0], rows[1]))
"""
LAYER_OF_VECTORS = """\
rows, alike = torch.rand(4, 6), nn.CosineSimilarity()
print(alike(rows[0], rows[1]))
"""
CASES = {
    "a map before a linear layer of another size": (
        DIGITS.format(features=64, x="x", flat=""),
        ["`x.flatten(1)` and `nn.Linear(1176, 10)`"],
    ),
    "flat images for a convolution": (
        DIGITS.format(features=1176, x="x.flatten(1)", flat=".view(-1, 28 * 28)"),
        ["`images` without `.view(-1, 28 * 28)`, in 2 places"],
    ),
    "flat images, and a map that is not": (
        DIGITS.format(features=1176, x="x", flat=".view(-1, 28 * 28)"),
        ["`images` without `.view(-1, 28 * 28)`, in 2 places", "`x.flatten(1)`"],
    ),
    "the argument of a helper in a helper": (UNET, ["`self.twice(outside, outside)`"]),
    "a prediction and its loss before the loop": (
        CALIBRATION,
        ["`guess = net(x)` and `loss = F.mse_loss(guess, y)` inside the loop"],
    ),
    "the batch of sequences that have the time first": (
        STATES,
        ["`self.init_hidden(x.size(1))`"],
    ),
    "two fields of several lengths beside a text": (
        BOXES,
        ["`collate_fn=collate`, a function that pads `box` and `label`"],
    ),
    "vectors": (VECTORS, ["`F.cosine_similarity(rows[0], rows[1], dim=0)`"]),
    "vectors in a layer": (LAYER_OF_VECTORS, ["`nn.CosineSimilarity(dim=0)`"]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_that_of_the_answers(name: str, tmp_path: Path) -> None:
    text, fixes = CASES[name]
    findings = rehearsed(tmp_path, HEAD + text).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert [finding.fixes[0].message for finding in errors] == fixes


def test_padded_labels_are_those_that_the_loss_leaves_out(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + BOXES).findings
    (added, _) = finding.fixes[0].edits
    assert '"label": nn.utils.rnn.pad_sequence(columns["label"]' in added.text
    assert added.text.count("padding_value=-100") == 1


def test_a_loss_takes_no_target_for_the_prediction(tmp_path: Path) -> None:
    text = """\
net = nn.Linear(4, 2)
findings = torch.randint(0, 2, (8, 2))
nn.BCEWithLogitsLoss()(net(torch.rand(8, 4)), findings).backward()
"""
    (finding,) = rehearsed(tmp_path, HEAD + text).findings
    assert [fix.message for fix in finding.fixes] == ["`findings.float()`"]


TWO_ON_A_LINE = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 1)

    def forward(self, x):
        out = self.lstm(x)
        out = out[:, -1]
        return self.fc(out)


net = Net()
x = torch.rand(16, 5, 3, dtype=torch.float64)
for x, y in DataLoader(TensorDataset(x, torch.rand(16)), batch_size=8):
    F.mse_loss(net(x), y).backward()
"""


def test_two_errors_of_one_line_are_mended_together(tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, HEAD + TWO_ON_A_LINE).findings
    told = [(finding.code, finding.fixes[0].message) for finding in findings]
    assert told == [
        ("dtype-mismatch", "`x.float()`"),
        ("tuple-as-tensor", "`out, _ = self.lstm(x)`"),
        ("outer-broadcast", "`net(x).squeeze(-1)`"),
    ]


UNUSED_COLLATE = """\
words = {{word: n + 2 for n, word in enumerate("abcdefgh")}}


class Texts(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return torch.tensor([2 + (i + n) % 8 for n in range(2 + i % 4)]), i % 3


def pad_batch(batch):
    ids, labels = zip(*batch)
    return nn.utils.rnn.pad_sequence(ids, batch_first=True), torch.tensor(labels)


table, head = nn.Embedding({rows}, 4), nn.Linear(4, 3)
for ids, labels in DataLoader(Texts(), batch_size=4, shuffle=True):
    F.cross_entropy(head(table(ids).amax(1)), labels).backward()
for ids, labels in DataLoader(Texts(), batch_size=8):
    (head(table(ids).amax(1)).argmax(1) == labels).sum()
"""


def test_values_are_seen_behind_items_that_did_not_stack(tmp_path: Path) -> None:
    text = HEAD + UNUSED_COLLATE.format(rows="len(words)")
    first, second = rehearsed(tmp_path, text).findings
    assert first.code == "items-do-not-stack"
    assert first.fixes[0].message == "`collate_fn=pad_batch` in both calls"
    assert second.code == "index-out-of-range"
    assert second.fixes[0].message == "`nn.Embedding(len(words) + 2, 4)`"


WINDOWS = """\
SIZE, FLAT = 16, 8 * 2 * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(FLAT, 4)

    def forward(self, x):
        x = F.max_pool2d(self.conv(x), 4)
        return self.fc(x.view(-1, FLAT))


F.cross_entropy(Net()(torch.rand(6, 3, SIZE, SIZE)), torch.arange(6) % 4).backward()
"""
TOKENS = """\
class Tokenizer:
    def __init__(self, words):
        self.words = words
        self.ids = {word: n for n, word in enumerate(["pad", "cls", *words])}

    @property
    def vocab_size(self):
        return len(self.words)


tokenizer = Tokenizer(["a", "b", "c"])
table = nn.Embedding(tokenizer.vocab_size, 4)
table(torch.tensor([[tokenizer.ids["a"], tokenizer.ids["c"]]])).sum().backward()
"""
COLLATE = """\
class Items(Dataset):
    def __init__(self):
        self.rows = torch.rand(8, 3)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

    def join(self, batch):
        return torch.stack(batch)


items = Items()
for batch in DataLoader(items, batch_size=4, collate_fn=Items.join):
    nn.Linear(3, 1)(batch).sum().backward()
"""
LATER_CASES = {
    "a number of features of a map": (WINDOWS, "`FLAT = 8 * 4 * 4`"),
    "a longer dict of the class": (TOKENS, "`len(self.ids)`"),
    "a method without its object": (COLLATE, "`items.join`"),
}


@pytest.mark.parametrize("name", LATER_CASES)
def test_the_fix_of_a_single_mistake(name: str, tmp_path: Path) -> None:
    text, fix = LATER_CASES[name]
    (finding,) = rehearsed(tmp_path, HEAD + text).findings
    assert finding.fixes[0].message == fix


PENALTY = """\
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    penalty = net.weight.pow(2).sum()
    for x, y in DataLoader(TensorDataset(torch.rand(8, 3), torch.rand(8, 1)), 4):
        optimizer.zero_grad()
        (F.mse_loss(net(x), y) + penalty).backward()
        optimizer.step()
"""


def test_a_penalty_keeps_its_gradients(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEAD + PENALTY).findings
    fixes = [fix.message for fix in finding.fixes]
    assert fixes == ["`penalty = net.weight.pow(2).sum()` inside the loop"]
