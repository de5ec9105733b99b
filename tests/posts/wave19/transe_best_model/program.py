import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def family_triples(n_entities=120, n_relations=6, n=1800, seed=0):
    """triples that fit translations of hidden vectors, with some noise"""
    rng = np.random.RandomState(seed)
    ent = rng.normal(size=(n_entities, 4))
    rel = rng.normal(size=(n_relations, 4))
    triples = set()
    while len(triples) < n:
        h, r = rng.randint(n_entities), rng.randint(n_relations)
        dist = np.linalg.norm(ent[h] + rel[r] - ent, axis=1)
        dist[h] = np.inf
        t = int(np.argsort(dist)[rng.randint(4)]) if rng.rand() < 0.9 else rng.randint(n_entities)
        triples.add((h, r, t))
    triples = sorted(triples)
    rng.shuffle(triples)
    return torch.tensor(np.array(triples)), n_entities, n_relations


class TripleSet(Dataset):
    def __init__(self, triples, n_entities):
        self.triples = triples
        self.n_entities = n_entities

    def __len__(self):
        return len(self.triples)

    def __getitem__(self, i):
        h, r, t = self.triples[i].tolist()
        if random.random() < 0.5:
            nh, nt = random.randrange(self.n_entities), t
        else:
            nh, nt = h, random.randrange(self.n_entities)
        return torch.tensor([h, r, t]), torch.tensor([nh, r, nt])


class TransE(nn.Module):
    def __init__(self, n_entities, n_relations, dim=32):
        super().__init__()
        self.ent = nn.Embedding(n_entities, dim)
        self.rel = nn.Embedding(n_relations, dim)
        nn.init.xavier_uniform_(self.ent.weight)
        nn.init.xavier_uniform_(self.rel.weight)

    def score(self, hrt):
        h, r, t = F.normalize(self.ent(hrt[:, 0]), dim=1), self.rel(hrt[:, 1]), F.normalize(self.ent(hrt[:, 2]), dim=1)
        return (h + r - t).norm(p=1, dim=1)

    def forward(self, pos, neg, margin=2.0):
        return F.relu(margin + self.score(pos) - self.score(neg)).mean()


@torch.no_grad()
def hits_at_10(model, triples):
    model.eval()
    ent = F.normalize(model.ent.weight, dim=1)
    query = ent[triples[:, 0]] + model.rel(triples[:, 1])
    dist = torch.cdist(query, ent, p=1)
    rank = (dist < dist.gather(1, triples[:, 2:3])).sum(dim=1)
    return (rank < 10).float().mean().item()


def train(model, loader, valid, args):
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    best_epoch, best_hit10, best_model = 0, 0.0, None
    bad_counts = 0
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        for pos, neg in loader:
            loss = model(pos, neg)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        hit10 = hits_at_10(model, valid)
        print(f"epoch {epoch}: loss {total / len(loader):.4f} valid hit@10 {hit10:.4f}")
        if hit10 > best_hit10:
            best_hit10, best_epoch = hit10, epoch
            best_model = model.state_dict()
            bad_counts = 0
        else:
            bad_counts += 1
        if bad_counts == args.patience:
            print(f"early stopping at epoch {epoch}")
            break
    print(f"best epoch is {best_epoch} with hit@10 = {best_hit10:.4f}")
    model.load_state_dict(best_model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--patience", type=int, default=5)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    triples, n_ent, n_rel = family_triples()
    train_set, valid, test = triples[:1400], triples[1400:1600], triples[1600:]
    model = TransE(n_ent, n_rel)
    train(model, DataLoader(TripleSet(train_set, n_ent), batch_size=args.batch_size, shuffle=True), valid, args)
    print(f"restored: valid hit@10 {hits_at_10(model, valid):.4f}, test hit@10 {hits_at_10(model, test):.4f}")
