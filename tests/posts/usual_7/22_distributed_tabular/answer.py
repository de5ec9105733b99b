#!/usr/bin/env python
"""Credit default MLP, data parallel.   torchrun --nproc_per_node=4 credit_ddp.py   (plain python = one process)"""
import os
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29611")
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    dist.init_process_group(backend="gloo", rank=rank, world_size=world)
    return rank, world


class CreditData(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 18)).astype(np.float32)
        logit = x[:, 0] * 1.2 - x[:, 3] + 0.8 * x[:, 5] * x[:, 6] - 0.5
        self.x = torch.from_numpy(x)
        self.y = torch.from_numpy((rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.float32))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return i, self.x[i], self.y[i]


class CreditMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(18, 64), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(64, 32), nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


def reduce_mean(total, count):
    t = torch.tensor([total, count], dtype=torch.float64)
    dist.all_reduce(t)
    return (t[0] / t[1]).item()


def train_epoch(model, loader, optimizer, loss_fn):
    model.train()
    total, count, first_ids = 0.0, 0, None
    for ids, x, y in loader:
        if first_ids is None:
            first_ids = ids[:6].tolist()
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        count += len(y)
    return reduce_mean(total, count), first_ids


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits, count = 0, 0
    for _, x, y in loader:
        hits += ((model(x) > 0).float() == y).sum().item()
        count += len(y)
    return reduce_mean(hits, count)


def main():
    rank, world = setup()
    torch.manual_seed(100 + rank)
    train_set, valid_set = CreditData(3000, 0), CreditData(800, 1)
    train_sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, seed=5)
    valid_sampler = DistributedSampler(valid_set, num_replicas=world, rank=rank, shuffle=False)
    train_loader = DataLoader(train_set, batch_size=50, sampler=train_sampler)
    valid_loader = DataLoader(valid_set, batch_size=200, sampler=valid_sampler)

    model = DistributedDataParallel(CreditMLP())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(5):
        train_sampler.set_epoch(epoch)
        loss, first_ids = train_epoch(model, train_loader, optimizer, loss_fn)
        acc = accuracy(model, valid_loader)
        if rank == 0:
            print(f"epoch {epoch}  loss {loss:.4f}  valid acc {acc:.4f}  first rows {first_ids}")
    if rank == 0:
        torch.save(model.module.state_dict(), "credit_mlp.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
