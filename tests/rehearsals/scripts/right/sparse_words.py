"""Bag of hashed words to a topic; big sparse table, small dense head."""
import argparse
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

BUCKETS = 5000


def bucket(word):
    return zlib.crc32(word.encode()) % BUCKETS


class Headlines(Dataset):
    topics = {
        0: "goal match team coach league win score season".split(),
        1: "market shares profit bank trade stock price tax".split(),
        2: "virus doctor health study patients drug trial care".split(),
    }
    filler = "the a in on of after new says for with".split()

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.rows = []
        for _ in range(n):
            y = int(rng.integers(3))
            words = list(rng.choice(self.topics[y], rng.integers(1, 4)))
            words += list(rng.choice(self.filler, rng.integers(2, 6)))
            self.rows.append(([bucket(w) for w in words], y))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    flat, offsets, labels = [], [], []
    for words, y in rows:
        offsets.append(len(flat))
        flat += words
        labels.append(y)
    return torch.tensor(flat), torch.tensor(offsets), torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.table = nn.EmbeddingBag(BUCKETS, dim, mode="mean", sparse=True)
        self.head = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, flat, offsets):
        return self.head(self.table(flat, offsets))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--dim", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(Headlines(350, 0), args.batch, shuffle=True, collate_fn=collate)
    test = DataLoader(Headlines(90, 1), args.batch, collate_fn=collate)
    model = Classifier(args.dim)
    optimizers = [optim.SparseAdam(list(model.table.parameters()), lr=0.01),
                  optim.Adam(model.head.parameters(), lr=0.005)]
    for epoch in range(args.epochs):
        model.train()
        for flat, offsets, y in loader:
            for o in optimizers:
                o.zero_grad()
            loss = F.cross_entropy(model(flat, offsets), y)
            loss.backward()
            for o in optimizers:
                o.step()
        model.eval()
        with torch.no_grad():
            right = [(model(f, o).argmax(1) == y) for f, o, y in test]
        print("epoch", epoch, "loss", round(loss.item(), 4), "acc", torch.cat(right).float().mean().item())


if __name__ == "__main__":
    main()
