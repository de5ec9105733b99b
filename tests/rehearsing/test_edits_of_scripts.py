"""Edits for scripts with two mistakes: of both, the first one is what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, TensorDataset

"""
CASES = {
    "labels as floats, and more of them than classes": (
        """\
        labels = torch.randint(0, 5, (32,)).float()
        net = nn.Linear(8, 2)
        for x, y in DataLoader(TensorDataset(torch.rand(32, 8), labels), batch_size=8):
            nn.CrossEntropyLoss()(net(x), y).backward()
        """,
        ["`y.long()`", "`nn.Linear(8, 5)`"],
    ),
    "two ids of a table of floats, which begin at 1": (
        """\
        class Ratings(Dataset):
            def __init__(self, n):
                users, items = np.arange(n) % 6 + 1, np.arange(n) % 4 + 1
                table = np.stack([users, items, np.ones(n)], axis=1)
                self.table = torch.tensor(table, dtype=torch.float32)

            def __len__(self):
                return len(self.table)

            def __getitem__(self, index):
                user, item, rating = self.table[index]
                return user, item, rating


        class Factors(nn.Module):
            def __init__(self, users, items):
                super().__init__()
                self.user = nn.Embedding(users, 4)
                self.item = nn.Embedding(items, 4)

            def forward(self, user, item):
                return (self.user(user) * self.item(item)).sum(1)


        users, items = 6, 4
        net = Factors(users, items)
        for user, item, rating in DataLoader(Ratings(24), batch_size=8):
            F.mse_loss(net(user, item), rating).backward()
        for user, item, rating in DataLoader(Ratings(8), batch_size=8):
            print(net(user, item).mean().item())
        """,
        [
            "`user.long()` and `item.long()`",
            "`Factors(users + 1, items)`",
            "`Factors(users, items + 1)`",
        ],
    ),
    "a function of another loader, and an LSTM": (
        """\
        class Words(Dataset):
            def __len__(self):
                return 12

            def __getitem__(self, index):
                return torch.randint(1, 9, (3 + index % 4,)), torch.tensor(index % 2.0)


        def pad_words(items):
            words, labels = zip(*items)
            lengths = torch.tensor([len(row) for row in words])
            return pad_sequence(words, batch_first=True), lengths, torch.stack(labels)


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(9, 6)
                self.lstm = nn.LSTM(6, 8)
                self.head = nn.Linear(8, 1)

            def forward(self, words, lengths):
                steps, _ = self.lstm(self.table(words))
                last = steps[torch.arange(len(words)), lengths - 1]
                return self.head(last).squeeze(1)


        train = DataLoader(Words(), batch_size=4)
        test = DataLoader(Words(), batch_size=4, collate_fn=pad_words)
        net = Net()
        for words, lengths, labels in train:
            F.binary_cross_entropy_with_logits(net(words, lengths), labels).backward()
        """,
        [
            "`DataLoader(Words(), batch_size=4, collate_fn=pad_words)`",
            "`nn.LSTM(6, 8, batch_first=True)`",
        ],
    ),
    "a dict beside the list that is counted": (
        """\
        class Words:
            def __init__(self, texts):
                self.words = sorted({word for text in texts for word in text.split()})
                names = ["<pad>", "<unk>", *self.words]
                self.index = {word: n for n, word in enumerate(names)}


        words = Words(["a b c", "c d e"])
        ids = torch.tensor([[words.index[w] for w in "c d e".split()]])
        net = nn.Embedding(num_embeddings=len(words.words), embedding_dim=4)
        net(ids).sum().backward()
        """,
        ["`len(words.index)`"],
    ),
    "targets that a constructor keeps": (
        """\
        class Style:
            def __init__(self, picture):
                self.net = nn.Conv2d(3, 4, 3)
                maps = [self.net(picture), self.net(picture * 2)]
                flat = [part.flatten(1) for part in maps]
                self.targets = {n: flat[n] @ flat[n].T for n in range(2)}

            def run(self, picture):
                image = picture.clone().requires_grad_(True)
                opt = torch.optim.Adam([image])
                for _ in range(3):
                    opt.zero_grad()
                    out = self.net(image).flatten(1)
                    gram = out @ out.T
                    loss = sum(F.mse_loss(gram, t) for t in self.targets.values())
                    loss.backward()
                    opt.step()


        Style(torch.rand(2, 3, 8, 8)).run(torch.rand(2, 3, 8, 8))
        """,
        ["`(flat[n] @ flat[n].T).detach()`"],
    ),
    "a dict of losses": (
        """\
        def losses_of(out, x):
            return {"size": F.mse_loss(out, x), "sign": out.abs().mean()}


        net = nn.Linear(4, 4)
        for _ in range(2):
            x = torch.rand(8, 4)
            loss = losses_of(net(x), x)
            loss.backward()
            print(loss.item())
        """,
        ["`sum(losses_of(net(x), x).values())`"],
    ),
    "signals of an autoencoder, time first": (
        """\
        def make_signals(n):
            signals = np.zeros((n, 32, 3), dtype=np.float32)
            return torch.from_numpy(signals)


        net = nn.Sequential(nn.Conv1d(3, 8, 1), nn.Conv1d(8, 3, 1))


        def run(loader):
            for (x,) in loader:
                F.mse_loss(net(x), x).backward()


        train = make_signals(16)
        test = make_signals(8)
        run(DataLoader(TensorDataset(train), batch_size=8))
        run(DataLoader(TensorDataset(test), batch_size=8))
        """,
        ["`torch.from_numpy(signals).transpose(1, 2)`"],
    ),
    "rows of the scores beside all labels": (
        """\
        net = nn.Linear(6, 3)
        x, labels = torch.rand(30, 6), torch.randint(0, 3, (30,))
        order = torch.randperm(30)
        train, test = order[:20], order[20:]
        F.cross_entropy(net(x)[train], labels).backward()
        """,
        ["`labels[train]`"],
    ),
    "lengths that a model does not pass on": (
        """\
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(4, 5, batch_first=True)

            def forward(self, x, lengths=None):
                packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
                return self.rnn(packed)[1]


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = Decoder()

            def forward(self, x, lengths):
                return self.decoder(x * 2)


        Net()(torch.rand(3, 6, 4), torch.tensor([6, 5, 2])).sum().backward()
        """,
        ["`self.decoder(x * 2, lengths=lengths)`"],
    ),
    "texts of several numbers in an item": (
        """\
        class Notes(Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                tags = ["old", "new", "red"][: index % 3 + 1]
                return {"x": torch.rand(4), "tags": tags}


        net = nn.Linear(4, 2)
        for batch in DataLoader(Notes(), batch_size=3):
            target = torch.tensor([len(tags) > 1 for tags in batch["tags"]]).long()
            F.cross_entropy(net(batch["x"]), target).backward()
        """,
        ["`collate_fn=collate`, a function that keeps `tags`"],
    ),
    "masks of black and white, with a dim too many": (
        """\
        class Masks(Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                mask = np.zeros((8, 8), dtype=np.uint8)
                mask[2:4] = 255
                mask = torch.from_numpy(mask).long().unsqueeze(0)
                return torch.rand(3, 8, 8), mask


        net, criterion = nn.Conv2d(3, 2, 1), nn.CrossEntropyLoss()
        for image, mask in DataLoader(Masks(), batch_size=4):
            criterion(net(image), mask).backward()
        """,
        ["`mask.squeeze(0)`", "`(mask > 0).long()`"],
    ),
    "a missing dim, and a state of a fixed batch": (
        """\
        class Net(nn.Module):
            def __init__(self, batch):
                super().__init__()
                self.batch = batch
                self.gru = nn.GRU(1, 8, batch_first=True)

            def forward(self, x):
                state = torch.zeros(1, self.batch, 8)
                return self.gru(x, state)[0][:, -1].mean(1)


        net = Net(8)
        for x, y in DataLoader(TensorDataset(torch.rand(20, 6), torch.rand(20)), 8):
            F.mse_loss(net(x), y).backward()
        """,
        ["`x.unsqueeze(2)`", "`torch.zeros(1, x.size(0), 8)`"],
    ),
    "a mask that a run which ends early cannot judge": (
        """\
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

            def forward(self, x):
                q, k, v = self.qkv(x).view(4, 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
                scores = q @ k.transpose(-2, -1)
                seen = torch.tril(torch.ones(6, 6))
                scores = scores.masked_fill(seen == 0, 1e-9)
                y = F.softmax(scores, dim=-1) @ v
                return self.out(y.transpose(1, 2).reshape(4, 6, 8))


        net = Net()
        out = net(torch.rand(4, 6, 8))
        out.sum().backward()
        print(out.numpy())
        """,
        ["`out.detach()`", '`float("-inf")`'],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_edit_of_each_mistake(name: str, tmp_path: Path) -> None:
    program, fixes = CASES[name]
    lines = [row.removeprefix("        ") for row in program.splitlines()]
    report = rehearsed(tmp_path, HEAD + "\n".join(lines))
    checked = [
        next((fix.message for fix in finding.fixes if fix.checked), "")
        for finding in report.findings
        if finding.severity != "note"
    ]
    assert checked[: len(fixes)] == fixes
