"""Metric learning on product photos: batch-hard triplet loss, recall@k on held-out products."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler


class Products(Dataset):
    def __init__(self, n_products, per_product, seed):
        g = torch.Generator().manual_seed(seed)
        proto = torch.randn(n_products, 3, 8, 8, generator=g)
        proto = F.interpolate(proto, size=32, mode="bilinear", align_corners=False)
        self.labels = torch.arange(n_products).repeat_interleave(per_product)
        self.images = proto[self.labels] + 1.5 * torch.randn(len(self.labels), 3, 32, 32, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class PKSampler(Sampler):
    """Batches of P products with K photos each."""

    def __init__(self, labels, p, k, n_batches):
        self.by_label = {int(l): np.flatnonzero(labels.numpy() == l) for l in labels.unique().tolist()}
        self.p, self.k, self.n_batches = p, k, n_batches

    def __len__(self):
        return self.n_batches

    def __iter__(self):
        for _ in range(self.n_batches):
            batch = []
            for l in np.random.choice(list(self.by_label), self.p, replace=False):
                batch.extend(np.random.choice(self.by_label[l], self.k, replace=False).tolist())
            yield batch


class EmbeddingNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(32 * 16, dim),
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def batch_hard_triplet(emb, labels, margin):
    dist = 2 - 2 * emb @ emb.t()
    same = labels[:, None] == labels[None, :]
    hardest_pos = dist.masked_fill(~same, -1.0).max(dim=1).values
    hardest_neg = dist.masked_fill(same, 1e4).min(dim=1).values
    return F.relu(hardest_pos - hardest_neg + margin).mean()


@torch.no_grad()
def extract(model, loader):
    model.eval()
    feats, labels = [], []
    for x, y in loader:
        feats.append(model(x))
        labels.append(y)
    return torch.cat(feats), torch.cat(labels)


def recall_at_k(feats, labels, ks=(1, 4)):
    sim = feats @ feats.t()
    nearest = sim.topk(max(ks), dim=1).indices
    hits = labels[nearest] == labels[:, None]
    return {f"R@{k}": hits[:, :k].any(dim=1).float().mean().item() for k in ks}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--margin", type=float, default=0.3)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    np.random.seed(0)
    torch.manual_seed(0)

    train, test = Products(40, 8, seed=1), Products(30, 6, seed=2)
    train_loader = DataLoader(train, batch_sampler=PKSampler(train.labels, 8, 4, 15))
    test_loader = DataLoader(test, batch_size=64)
    model = EmbeddingNet(args.dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for x, y in train_loader:
            loss = batch_hard_triplet(model(x), y, args.margin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        recalls = recall_at_k(*extract(model, test_loader))
        print(f"epoch {epoch} loss {np.mean(losses):.4f}", {k: round(v, 4) for k, v in recalls.items()})


if __name__ == "__main__":
    main()
