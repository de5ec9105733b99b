"""TransE on a small synthetic knowledge graph, link prediction (raw setting)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)

N_ENT, N_REL, DIM = 200, 6, 32
MARGIN = 2.0
EPOCHS = 60
BATCH = 256


def synthetic_kg():
    """entities live on a ring, every relation is a fixed shift along the ring"""
    shifts = torch.tensor([1, 7, 20, 45, 90, 130])
    head = torch.arange(N_ENT).repeat_interleave(N_REL)
    rel = torch.arange(N_REL).repeat(N_ENT)
    tail = (head + shifts[rel]) % N_ENT
    triples = torch.stack([head, rel, tail], dim=1)
    triples = triples[torch.randperm(len(triples))]
    return triples[:1050], triples[1050:]


class TransE(nn.Module):
    def __init__(self, n_ent, n_rel, dim):
        super().__init__()
        self.ent = nn.Embedding(n_ent, dim)
        self.rel = nn.Embedding(n_rel, dim)
        bound = 6 / dim ** 0.5
        nn.init.uniform_(self.ent.weight, -bound, bound)
        nn.init.uniform_(self.rel.weight, -bound, bound)

    def score(self, h, r, t):
        return -(self.ent(h) + self.rel(r) - self.ent(t)).norm(p=2, dim=-1)

    def score_all_tails(self, h, r):
        q = self.ent(h) + self.rel(r)
        return -torch.cdist(q, self.ent.weight)


def corrupt(h, t, n_neg):
    """replace head or tail by random entities"""
    h = h[:, None].repeat(1, n_neg)
    t = t[:, None].repeat(1, n_neg)
    rand = torch.randint(0, N_ENT, h.shape)
    side = torch.rand(h.shape) < 0.5
    return torch.where(side, rand, h), torch.where(side, t, rand)


@torch.no_grad()
def evaluate(model, triples):
    model.eval()
    h, r, t = triples.unbind(1)
    scores = model.score_all_tails(h, r)
    order = scores.argsort(dim=1, descending=True)
    ranks = order.argsort(dim=1).gather(1, t[:, None]).squeeze(1) + 1
    ranks = ranks.float()
    return {
        "mrr": (1 / ranks).mean().item(),
        "hits@1": (ranks <= 1).float().mean().item(),
        "hits@10": (ranks <= 10).float().mean().item(),
        "mean rank": ranks.mean().item(),
    }


def main():
    train, test = synthetic_kg()
    loader = DataLoader(TensorDataset(train), batch_size=BATCH, shuffle=True)
    model = TransE(N_ENT, N_REL, DIM)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    for epoch in range(1, EPOCHS + 1):
        model.train()
        total = 0.0
        for (batch,) in loader:
            h, r, t = batch.unbind(1)
            nh, nt = corrupt(h, t, n_neg=16)
            pos = model.score(h, r, t)[:, None]
            neg = model.score(nh, r[:, None].expand_as(nh), nt)
            loss = F.relu(MARGIN - pos + neg).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                w = model.ent.weight
                w.div_(w.norm(dim=1, keepdim=True).clamp_min(1.0))
            total += loss.item()
        if epoch % 20 == 0:
            m = evaluate(model, test)
            print(f"epoch {epoch:3d} loss {total / len(loader):.4f} " + " ".join(f"{k} {v:.3f}" for k, v in m.items()))

    m = evaluate(model, train)
    print("train:", " ".join(f"{k} {v:.3f}" for k, v in m.items()))


if __name__ == "__main__":
    main()
