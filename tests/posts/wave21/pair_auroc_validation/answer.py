import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import average_precision_score, roc_auc_score
from torch.utils.data import DataLoader, TensorDataset


def make_hyperedges(n_nodes=120, n_groups=6, n_edges=1600, size=4, seed=0):
    """Positive hyperedges stay mostly inside a group, negatives take any nodes."""
    g = torch.Generator().manual_seed(seed)
    group = torch.arange(n_nodes) % n_groups
    members = [torch.nonzero(group == k).flatten() for k in range(n_groups)]
    edges, labels = [], []
    for i in range(n_edges):
        positive = i % 4 == 0
        if positive:
            pool = members[int(torch.randint(0, n_groups, (1,), generator=g))]
            edge = pool[torch.randperm(len(pool), generator=g)[:size]].clone()
            if torch.rand(1, generator=g) < 0.4:
                edge[0] = torch.randint(0, n_nodes, (1,), generator=g)
        else:
            edge = torch.randperm(n_nodes, generator=g)[:size]
        edges.append(edge)
        labels.append(float(positive))
    order = torch.randperm(n_edges, generator=g)
    return torch.stack(edges)[order], torch.tensor(labels)[order]


class HyperlinkPredictor(nn.Module):
    def __init__(self, n_nodes, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(n_nodes, dim)
        self.mlp = nn.Sequential(nn.Linear(dim * 2, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, edges):
        x = self.embedding(edges)
        spread = x.max(dim=1).values - x.min(dim=1).values
        return self.mlp(torch.cat([x.mean(dim=1), spread], dim=1)).squeeze(1)


class RunningMean:
    def __init__(self):
        self.total, self.weight = 0.0, 0

    def update(self, value, n):
        self.total += value * n
        self.weight += n

    def compute(self):
        return self.total / self.weight


def training_step(model, batch, optimizer):
    edges, labels = batch
    loss = F.binary_cross_entropy_with_logits(model(edges), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    loss = RunningMean()
    all_labels, all_logits = [], []
    for edges, labels in loader:
        logits = model(edges)
        loss.update(F.binary_cross_entropy_with_logits(logits, labels).item(), len(labels))
        all_labels.append(labels)
        all_logits.append(logits)
    labels, logits = torch.cat(all_labels).numpy(), torch.cat(all_logits).numpy()
    return {"loss": loss.compute(),
            "auroc": roc_auc_score(labels, logits),
            "ap": average_precision_score(labels, logits)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()

    torch.manual_seed(0)
    edges, labels = make_hyperedges()
    train_set = TensorDataset(edges[:1200], labels[:1200])
    val_set = TensorDataset(edges[1200:], labels[1200:])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = HyperlinkPredictor(n_nodes=120)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        losses = [training_step(model, batch, optimizer) for batch in train_loader]
        scores = validate(model, val_loader)
        best = max(best, scores["auroc"])
        print("epoch %2d  train loss %.4f  val loss %.4f  auroc %.4f  ap %.4f"
              % (epoch, sum(losses) / len(losses), scores["loss"], scores["auroc"], scores["ap"]))
    print("best auroc %.4f" % best)


if __name__ == "__main__":
    main()
