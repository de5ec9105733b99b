import json
import os
import tempfile
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, dim=32):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.user_mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.item_mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def encode_users(self, u):
        return F.normalize(self.user_mlp(self.user(u)), dim=-1)

    def encode_items(self, i):
        return F.normalize(self.item_mlp(self.item(i)), dim=-1)


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class JsonLogger:
    """One JSON object per line, as the dashboards expect it."""

    def __init__(self, path):
        self.path = path

    def log(self, step, meters):
        row = {"step": step}
        row.update({k: m.avg for k, m in meters.items()})
        with open(self.path, "a") as f:
            f.write(json.dumps(row) + "\n")


def in_batch_softmax(u, v, tau=0.1):
    logits = u @ v.t() / tau
    target = torch.arange(len(u))
    loss = F.cross_entropy(logits, target)
    top1 = (logits.argmax(1) == target).float().mean()
    return loss, top1


@torch.no_grad()
def recall_at_k(model, pairs, n_items, k=20):
    model.eval()
    scores = model.encode_users(pairs[:, 0]) @ model.encode_items(torch.arange(n_items)).t()
    hits = (scores.topk(k, dim=1).indices == pairs[:, 1:]).any(1)
    return hits.float().mean().item()


def main():
    torch.manual_seed(4)
    n_users, n_items = 300, 200
    users = torch.randint(0, n_users, (6000,))
    items = (users * 7 % n_items // 10 * 10 + torch.randint(0, 10, (6000,))) % n_items
    pairs = torch.stack([users, items], dim=1)
    train, test = pairs[:5000], pairs[5000:]

    model = TwoTower(n_users, n_items)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    logger = JsonLogger(os.path.join(tempfile.mkdtemp(), "metrics.jsonl"))
    step = 0
    for epoch in range(3):
        model.train()
        meters = defaultdict(AverageMeter)
        for batch in train[torch.randperm(len(train))].split(100):
            loss, top1 = in_batch_softmax(model.encode_users(batch[:, 0]), model.encode_items(batch[:, 1]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            meters["loss"].update(loss.item(), len(batch))
            meters["batch_top1"].update(top1, len(batch))
            step += 1
        meters["recall@20"].update(recall_at_k(model, test, n_items))
        logger.log(step, meters)
    print(open(logger.path).read())


if __name__ == "__main__":
    main()
