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
