import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, people, per_person, seed, dim=48):
        rng = np.random.default_rng(seed)
        ids = rng.normal(size=(people, dim))
        self.labels = np.repeat(np.arange(people), per_person)
        self.x = (ids[self.labels] + 1.1 * rng.normal(size=(len(self.labels), dim))).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.x[i], int(self.labels[i])


class PKBatches:
    """Batches of p people with k pictures each; the last batch has fewer people."""

    def __init__(self, labels, p, k):
        self.by_label = {}
        for i, l in enumerate(labels):
            self.by_label.setdefault(int(l), []).append(i)
        self.p, self.k = p, k

    def __len__(self):
        return -(-len(self.by_label) // self.p)

    def __iter__(self):
        people = list(self.by_label)
        random.shuffle(people)
        for i in range(0, len(people), self.p):
            yield [j for l in people[i:i + self.p] for j in random.sample(self.by_label[l], self.k)]


def batch_hard(emb, labels, margin):
    d = torch.cdist(emb, emb)
    same = labels[:, None] == labels[None, :]
    hardest_positive = d.masked_fill(~same, 0).amax(1)
    hardest_negative = d.masked_fill(same, float("inf")).amin(1)
    return F.relu(hardest_positive - hardest_negative + margin).mean()


@torch.no_grad()
def embed(model, loader):
    model.eval()
    parts = [(F.normalize(model(x)), y) for x, y in loader]
    emb, labels = zip(*parts)
    return torch.cat(emb), torch.cat(labels)


def recall_at(emb, labels, ks):
    d = torch.cdist(emb, emb)
    d.fill_diagonal_(float("inf"))
    nearest = labels[d.topk(max(ks), largest=False).indices]
    return {k: (nearest[:, :k] == labels[:, None]).any(1).float().mean().item() for k in ks}


def auc(emb, labels):
    i, j = torch.triu_indices(len(emb), len(emb), offset=1)
    score = (emb[i] * emb[j]).sum(1).numpy()
    truth = (labels[i] == labels[j]).numpy()
    ranks = np.empty(len(score))
    ranks[score.argsort()] = np.arange(1, len(score) + 1)
    pos, neg = truth.sum(), (~truth).sum()
    return (ranks[truth].sum() - pos * (pos + 1) / 2) / (pos * neg)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("-p", type=int, default=8)
    ap.add_argument("-k", type=int, default=4)
    ap.add_argument("--margin", type=float, default=0.3)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    train = Faces(42, 8, 0)
    test = DataLoader(Faces(15, 6, 1), batch_size=32)
    loader = DataLoader(train, batch_sampler=PKBatches(train.labels, args.p, args.k))
    model = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for x, y in loader:
            loss = batch_hard(F.normalize(model(x)), y, args.margin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if epoch % 3 == 0 or epoch == args.epochs - 1:
            r = recall_at(*embed(model, test), ks=(1, 5))
            print(f"epoch {epoch} loss {np.mean(losses):.4f} R@1 {r[1]:.3f} R@5 {r[5]:.3f}")
    emb, labels = embed(model, test)
    print("auc", round(float(auc(emb, labels)), 4))
    np.savez("embeddings.npz", emb=emb.numpy(), labels=labels.numpy())


if __name__ == "__main__":
    main()
