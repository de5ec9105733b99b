"""Edits for what first drafts get wrong: the first one of each error and warning."""

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

"""
CASES = {
    "an array for a network, and numbers that are stacked": (
        """\
        def run(model):
            state, kept, values = np.zeros(2, dtype=np.float32), [], []
            for _ in range(3):
                score = model(state)
                kept.append(score.sum().item())
                values.append(score)
            return torch.stack(kept), torch.stack(values)


        run(nn.Linear(2, 4))[1].sum().backward()
        """,
        ["`torch.from_numpy(state)`", "`score.sum()`"],
    ),
    "a mask of floats with a dim too many": (
        """\
        class Masks(Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                image = torch.rand(3, 8, 8)
                mask = (image[:1] > 0.5).float()
                return image, mask


        net = nn.Conv2d(3, 2, 1)
        for image, mask in DataLoader(Masks(), batch_size=4):
            nn.CrossEntropyLoss()(net(image), mask).backward()
        """,
        ["`mask.squeeze(0).long()`"],
    ),
    "a vocabulary that a tokenizer counts": (
        """\
        class Config:
            vocab_size = 20


        class Words(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.embed = nn.Embedding(config.vocab_size, 4)

            def forward(self, ids):
                return self.embed(ids)


        def main(config):
            tokenizer = {f"w{n}": n for n in range(40)}
            ids = torch.tensor([[tokenizer[f"w{n}"] for n in range(3, 39, 4)]])
            model = Words(config)
            model(ids).sum().backward()


        main(Config())
        """,
        ["`config.vocab_size = len(tokenizer)`"],
    ),
    "gradients by two inputs, and one of a gradient": (
        """\
        def residual(net, x, t):
            u = net(torch.cat([x, t], dim=1))
            ones = torch.ones_like(u)
            u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
            u_x = torch.autograd.grad(u, x, ones, retain_graph=True)[0]
            return u_t - torch.autograd.grad(u_x, x, ones, create_graph=True)[0]


        net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        residual(net, torch.rand(5, 1), torch.rand(5, 1)).pow(2).mean().backward()
        """,
        [
            "`x.requires_grad_(True)` and `t.requires_grad_(True)`",
            "`create_graph=True`",
        ],
    ),
    "labels of full batches": (
        """\
        net, criterion = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid()), nn.BCELoss()
        batch_size = 8
        ones = torch.ones(batch_size, 1)
        loader = DataLoader(TensorDataset(torch.rand(20, 4)), batch_size=batch_size)
        for (real,) in loader:
            criterion(net(real), ones).backward()
        """,
        ["`ones[:real.size(0)]`"],
    ),
    "logits where a threshold expects probabilities": (
        """\
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        x, y = torch.rand(16, 4), torch.randint(2, (16, 1)).float()
        nn.BCELoss()(model(x), y).backward()
        print(((model(x) > 0.5).float() == y).float().mean())
        """,
        ["`nn.Sigmoid()` behind `nn.Linear(8, 1)`"],
    ),
    "a shuffle by the factor itself": (
        """\
        class Upscale(nn.Module):
            def __init__(self, scale=3):
                super().__init__()
                self.last = nn.Conv2d(8, scale, 3, padding=1)
                self.shuffle = nn.PixelShuffle(scale)

            def forward(self, x):
                return self.shuffle(self.last(x))


        Upscale()(torch.rand(2, 8, 6, 6)).sum().backward()
        """,
        ["`nn.Conv2d(8, scale ** 2, 3, padding=1)`"],
    ),
    "a critic that both losses call": (
        """\
        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(4, 1)

            def forward(self, image):
                return self.net(image)


        generator, critic = nn.Linear(2, 4), Critic()
        optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (generator, critic)]
        for _ in range(2):
            fake = generator(torch.rand(8, 2))
            loss_d = critic(fake).mean() - critic(torch.rand(8, 4)).mean()
            optimizers[1].zero_grad()
            loss_d.backward()
            optimizers[1].step()
            loss_g = -critic(fake).mean()
            optimizers[0].zero_grad()
            loss_g.backward()
            optimizers[0].step()
        """,
        ["`fake.detach()`"],
    ),
    "a number of channels that the outermost call gives": (
        """\
        class Block(nn.Module):
            def __init__(self, in_ch, out_ch):
                super().__init__()
                self.conv = nn.Conv2d(in_ch, out_ch, 3)

            def forward(self, x):
                return self.conv(x)


        class Net(nn.Module):
            def __init__(self, n_channels, n_classes):
                super().__init__()
                self.first = Block(n_channels, 8)
                self.last = nn.Conv2d(8, n_classes, 1)

            def forward(self, x):
                return self.last(self.first(x))


        Net(n_channels=3, n_classes=1)(torch.rand(2, 1, 8, 8)).sum().backward()
        """,
        ["`Net(n_channels=1, n_classes=1)`"],
    ),
    "losses that are added up with their graphs": (
        """\
        net, total = nn.Linear(4, 1), 0
        for _ in range(3):
            loss = net(torch.rand(8, 4)).mean()
            total += loss
            loss.backward()
        print(np.array([total / 3]))
        """,
        ["`loss.item()`"],
    ),
    "states that a method makes": (
        """\
        class Series(nn.Module):
            def __init__(self, batch):
                super().__init__()
                self.batch = batch
                self.rnn = nn.LSTM(3, 8, batch_first=True)

            def first(self, x):
                return torch.zeros(1, self.batch, 8), torch.zeros(1, self.batch, 8)

            def forward(self, x):
                return self.rnn(x, self.first(x))[0][:, -1]


        model = Series(8)
        for (x,) in DataLoader(TensorDataset(torch.rand(20, 5, 3)), batch_size=8):
            model(x).sum().backward()
        """,
        ["`x.size(0)` for the number of samples"],
    ),
    "states of steps, joined along the batch": (
        """\
        class Tags(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(3, 8, batch_first=True)
                self.head = nn.Linear(8, 4)

            def forward(self, x):
                state = None
                states = []
                for t in range(x.size(1)):
                    state = self.rnn(x[:, t : t + 1], state)[1]
                    states.append(state[0])
                return self.head(torch.cat(states, dim=1))


        scores = Tags()(torch.rand(6, 5, 3))
        F.cross_entropy(scores.transpose(1, 2), torch.randint(4, (6, 5))).backward()
        """,
        ["`state[0].transpose(0, 1)`"],
    ),
    "a state that lasts over the windows": (
        """\
        class River(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.out = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 1)
                self.reset_state()

            def reset_state(self):
                self.state = None

            def forward(self, x):
                y, state = self.rnn(x, self.state)
                self.state = state
                return self.out(y)


        def train(model, series):
            model.reset_state()
            for n in range(3):
                model(series[:, n * 4 : n * 4 + 4]).mean().backward()


        def validate(model, series):
            with torch.no_grad():
                for n in range(3):
                    print(model(series[:, n * 4 : n * 4 + 4]).mean())


        model = River()
        train(model, torch.rand(8, 12, 3))
        validate(model, torch.rand(4, 12, 3))
        """,
        [
            "`self.state = tuple(each.detach() for each in state)`",
            "`model.reset_state()` above the loop",
        ],
    ),
    "a model of other classes than its checkpoint, behind what the file holds": (
        """\
        from argparse import Namespace

        CLASSES = ["rust", "blight", "mildew"]


        def build(classes=10):
            return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, classes))


        model = build(len(CLASSES))
        model(torch.rand(2, 4)).sum().backward()
        torch.save({"model": model.state_dict(), "args": Namespace(lr=0.1)}, "plant.pt")
        kept = torch.load("plant.pt")
        other = build()
        other.load_state_dict(kept["model"])
        other.eval()
        print(other(torch.rand(2, 4)).argmax(dim=1))
        """,
        [
            '`torch.load("plant.pt", weights_only=False)`, if you trust the file',
            "`build(len(CLASSES))`",
        ],
    ),
    "outputs of packed sequences": (
        """\
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


        class Texts(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(20, 6)
                self.encoder = nn.GRU(6, 8, batch_first=True)
                self.out = nn.Linear(8, 3)

            def forward(self, ids, lengths):
                packed = pack_padded_sequence(
                    self.embed(ids), lengths, batch_first=True, enforce_sorted=False
                )
                output, h = self.encoder(packed)
                output, _ = pad_packed_sequence(output, batch_first=True)
                return self.out(output)


        ids, lengths = torch.randint(20, (4, 7)), torch.tensor([7, 3, 5, 2])
        F.cross_entropy(Texts()(ids, lengths), torch.randint(3, (4,))).backward()
        """,
        ["`h[-1]` for `output`"],
    ),
    "scores of all rows": (
        """\
        x, labels = torch.rand(30, 4), torch.randint(3, (30,))
        train_mask = torch.arange(30) < 20
        logits = nn.Linear(4, 3)(x)
        F.cross_entropy(logits, labels[train_mask]).backward()
        """,
        ["`logits[train_mask]`"],
    ),
    "a list of log-probabilities that is copied": (
        """\
        def play(policy):
            kept, rewards = [], []
            for _ in range(4):
                dist = torch.distributions.Categorical(logits=policy(torch.rand(3)))
                kept.append(dist.log_prob(dist.sample()))
                rewards.append(1.0)
            return kept, rewards


        kept, rewards = play(nn.Linear(3, 2))
        loss = -(torch.tensor(kept) * torch.tensor(rewards)).sum()
        loss.backward()
        """,
        ["`torch.stack(kept)`"],
    ),
    "heads of a dict of settings": (
        """\
        SETTINGS = {"width": 50, "heads": 4}
        layer = nn.TransformerEncoderLayer(SETTINGS["width"], SETTINGS["heads"])
        layer(torch.rand(5, 2, SETTINGS["width"])).sum().backward()
        """,
        ["`48` for `50`"],
    ),
    "states of both directions, and labels that are the inputs": (
        """\
        class Dates(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(12, 6)
                self.encoder = nn.GRU(6, 8, batch_first=True, bidirectional=True)
                self.decoder = nn.GRU(6, 16, batch_first=True)
                self.out = nn.Linear(16, 12)

            def forward(self, source, inputs):
                memory, h = self.encoder(self.embed(source))
                states, h = self.decoder(self.embed(inputs), h)
                return self.out(states)


        net = Dates()
        source, target = torch.randint(12, (4, 7)), torch.randint(12, (4, 9))
        inputs, labels = target[:, :-1], target[:, :-1]
        F.cross_entropy(net(source, inputs), labels).backward()
        """,
        [
            "`h = torch.cat([h[0::2], h[1::2]], dim=-1)`",
            "`net(source, inputs).transpose(1, 2)`",
        ],
    ),
    "arguments at each other's places": (
        """\
        class Graph(nn.Module):
            def __init__(self, n_entities, n_relations, dim):
                super().__init__()
                self.entity = nn.Embedding(n_entities, dim)
                self.relation = nn.Embedding(n_relations, dim)

            def forward(self, triples):
                h, r, t = triples.unbind(dim=1)
                return self.entity(h) + self.relation(r) - self.entity(t)


        entities, relations = list(range(40)), list(range(5))
        model = Graph(len(relations), len(entities), 8)
        triples = torch.tensor([[n, n % 5, 39 - n] for n in range(40)])
        model(triples).sum().backward()
        """,
        ["`Graph(len(entities), len(relations), 8)`"],
    ),
    "a mask with its dim, and the classes along the width": (
        """\
        class Lakes(Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                mask = (np.arange(64).reshape(8, 8) + index) % 3
                return torch.rand(3, 8, 8), torch.from_numpy(mask).unsqueeze(0)


        net = nn.Conv2d(3, 3, 1)
        for images, masks in DataLoader(Lakes(), batch_size=4):
            nn.CrossEntropyLoss()(net(images), masks).backward()
        with torch.no_grad():
            for images, masks in DataLoader(Lakes(), batch_size=4):
                classes = net(images).argmax(dim=-1)
                print(((classes == 1) & (masks == 1)).sum())
        """,
        ["`torch.from_numpy(mask)`", "`net(images).argmax(dim=1)`"],
    ),
    "lists that are filled up": (
        """\
        PAD = 0
        rows = [[3, 4, 5], [2, 6], [7, 1, 2, 3]]
        ids = []
        for row in rows:
            row = row + [PAD] * (5 - len(row))
            ids.append(row)
        ids = torch.tensor(ids)
        embed, head = nn.Embedding(9, 4, padding_idx=PAD), nn.Linear(4, 9)
        criterion = nn.CrossEntropyLoss()
        scores = head(embed(ids[:, :-1]))
        criterion(scores.transpose(1, 2), ids[:, 1:]).backward()
        """,
        ["`nn.CrossEntropyLoss(ignore_index=PAD)`"],
    ),
    "a loss of the nodes that are evaluated": (
        """\
        x, labels = torch.rand(30, 4), torch.randint(3, (30,))
        train_mask = torch.zeros(30, dtype=torch.bool)
        train_mask[:20] = True
        test_mask = ~train_mask
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            optimizer.zero_grad()
            out = model(x)
            loss = F.cross_entropy(out, labels)
            loss.backward()
            optimizer.step()
        right = out[test_mask].argmax(dim=1) == labels[test_mask]
        print(right.float().mean())
        """,
        ["`F.cross_entropy(out[train_mask], labels[train_mask])`"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_edit_of_each_is_what_was_meant(name: str, tmp_path: Path) -> None:
    program, fixes = CASES[name]
    lines = [row.removeprefix("        ") for row in program.splitlines()]
    report = rehearsed(tmp_path, HEAD + "\n".join(lines))
    checked = [
        next((fix.message for fix in finding.fixes if fix.checked), "")
        for finding in report.findings
        if finding.severity != "note"
    ]
    assert checked[: len(fixes)] == fixes
