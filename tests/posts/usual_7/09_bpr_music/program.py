# BPR matrix factorisation on implicit plays (artists), K sampled negatives per positive
import numpy as np
import scipy.sparse as sp
import torch
import torch.nn as nn
import torch.nn.functional as F

N_USERS, N_ARTISTS, FACTORS = 300, 420, 24
NEG_K = 5
BATCH = 256
SEED = 7


def build_interactions(rng):
    taste = rng.normal(size=(N_USERS, 6))
    style = rng.normal(size=(N_ARTISTS, 6))
    score = taste @ style.T + rng.normal(scale=0.5, size=(N_USERS, N_ARTISTS))
    keep = score > np.quantile(score, 0.95, axis=1, keepdims=True)
    return sp.csr_matrix(keep)


class BPRSampler:
    def __init__(self, plays, n_neg, rng):
        self.plays = plays
        self.users, self.items = plays.nonzero()
        self.n_neg = n_neg
        self.rng = rng
        self.seen = [set(plays[u].indices) for u in range(plays.shape[0])]

    def __len__(self):
        return len(self.users) // BATCH

    def negatives_for(self, u):
        out = []
        while len(out) < self.n_neg:
            j = int(self.rng.integers(N_ARTISTS))
            if j not in self.seen[u]:
                out.append(j)
        return out

    def __iter__(self):
        order = self.rng.permutation(len(self.users))
        for k in range(len(self)):
            sel = order[k * BATCH:(k + 1) * BATCH]
            users, pos = self.users[sel], self.items[sel]
            neg = np.array([self.negatives_for(u) for u in users])
            yield torch.as_tensor(users).long(), torch.as_tensor(pos).long(), torch.as_tensor(neg).long()


class BPRMF(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.item_bias = nn.Embedding(n_items, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.item_bias.weight)

    def score(self, users, items):
        u = self.user(users)
        v = self.item(items)
        return (u * v).sum(dim=-1) + self.item_bias(items).squeeze(-1)

    def forward(self, users, pos, neg):
        pos_score = self.score(users, pos)
        neg_score = self.score(users, neg)
        return pos_score, neg_score

    @torch.no_grad()
    def all_scores(self):
        return self.user.weight @ self.item.weight.T + self.item_bias.weight.T


def bpr_loss(pos_score, neg_score):
    return -F.logsigmoid(pos_score.unsqueeze(1) - neg_score).mean()


def hit_rate(model, train, held, k=20):
    scores = model.all_scores()
    scores[torch.as_tensor(train.toarray())] = -float("inf")
    top = scores.topk(k, dim=1).indices.numpy()
    return np.mean([held[u] in top[u] for u in range(N_USERS)])


rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)
plays = build_interactions(rng).tolil()
held = {}
for u in range(N_USERS):
    held[u] = int(rng.choice(plays.rows[u]))
    plays[u, held[u]] = False
plays = plays.tocsr()
plays.eliminate_zeros()

sampler = BPRSampler(plays, NEG_K, rng)
model = BPRMF(N_USERS, N_ARTISTS, FACTORS)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-5)
for epoch in range(8):
    losses = []
    for users, pos, neg in sampler:
        optimizer.zero_grad()
        loss = bpr_loss(*model(users, pos, neg))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: bpr {np.mean(losses):.4f}  HR@20 {hit_rate(model, plays, held):.3f}")
