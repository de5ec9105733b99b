"""Matrix factorisation recommender (BPR) with a Recall@10 / NDCG@10 report."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

N_USERS, N_ITEMS, K = 400, 300, 10


def make_interactions(seed=0):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(N_USERS, 6))
    v = rng.normal(size=(N_ITEMS, 6))
    affinity = u @ v.T + 0.3 * rng.normal(size=N_ITEMS)
    train, held_out = [], []
    for user in range(N_USERS):
        n = rng.integers(15, 30)
        p = np.exp(1.2 * affinity[user])
        items = rng.choice(N_ITEMS, size=n, replace=False, p=p / p.sum())
        train += [(user, i) for i in items[:-3]]
        held_out.append(items[-3:])
    return np.array(train), np.stack(held_out)


class BPRTriples(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs
        self.seen = np.zeros((N_USERS, N_ITEMS), dtype=bool)
        self.seen[pairs[:, 0], pairs[:, 1]] = True

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        user, pos = self.pairs[i]
        neg = np.random.randint(N_ITEMS)
        while self.seen[user, neg]:
            neg = np.random.randint(N_ITEMS)
        return int(user), int(pos), int(neg)


class MF(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim)
        self.item = nn.Embedding(N_ITEMS, dim)
        self.bias = nn.Embedding(N_ITEMS, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(-1) + self.bias(item).squeeze(-1)

    def all_scores(self, users):
        return self.user(users) @ self.item.weight.T + self.bias.weight.squeeze(-1)


@torch.no_grad()
def evaluate(model, held_out, train_seen):
    model.eval()
    users = torch.arange(N_USERS)
    scores = model.all_scores(users)
    scores = scores.masked_fill(train_seen, float("-inf"))
    top = scores.topk(K, dim=1).indices
    relevant = torch.zeros(N_USERS, N_ITEMS)
    relevant.scatter_(1, torch.from_numpy(held_out), 1.0)
    hits = relevant.gather(1, top)
    recall = (hits.sum(1) / held_out.shape[1]).mean().item()
    discount = 1 / torch.log2(torch.arange(K) + 2.0)
    ndcg = ((hits * discount).sum(1) / discount[:held_out.shape[1]].sum()).mean().item()
    coverage = top.unique().numel() / N_ITEMS
    already = train_seen.sum(1).float().mean().item()
    return recall, ndcg, coverage, already


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    pairs, held_out = make_interactions()
    data = BPRTriples(pairs)
    loader = DataLoader(data, batch_size=256, shuffle=True)
    train_seen = torch.from_numpy(data.seen)

    model = MF()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    for epoch in range(1, 16):
        model.train()
        total = 0.0
        for user, pos, neg in loader:
            loss = -F.logsigmoid(model(user, pos) - model(user, neg)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(user)
        if epoch % 5 == 0:
            recall, ndcg, coverage, already = evaluate(model, held_out, train_seen)
            print(
                f"epoch {epoch:2d} bpr {total / len(data):.4f} recall@{K} {recall:.3f} ndcg@{K} {ndcg:.3f}"
                f" coverage {coverage:.2f} ({already:.1f} train items per user)"
            )


if __name__ == "__main__":
    main()
