import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def build_triples(seed=13):
    rng = random.Random(seed)
    artists = [f"artist_{i}" for i in range(30)]
    cities = [f"city_{i}" for i in range(6)]
    styles = [f"style_{i}" for i in range(5)]
    museums = [f"museum_{i}" for i in range(12)]
    triples = set()
    for i, m in enumerate(museums):
        triples.add((m, "located_in", cities[i % 6]))
        triples.add((m, "collects", styles[i % 5]))
    for i, a in enumerate(artists):
        triples.add((a, "born_in", cities[i % 6]))
        triples.add((a, "paints_in", styles[i % 5]))
        for m in rng.sample(museums, 3):
            triples.add((a, "exhibited_at", m))
    return sorted(triples)


class TransE(nn.Module):
    def __init__(self, n_entities, n_relations, dim):
        super().__init__()
        self.entity = nn.Embedding(n_entities, dim)
        self.relation = nn.Embedding(n_relations, dim)
        nn.init.xavier_uniform_(self.entity.weight)
        nn.init.xavier_uniform_(self.relation.weight)

    def normalize_entities(self):
        with torch.no_grad():
            self.entity.weight[:] = F.normalize(self.entity.weight, dim=1)

    def score(self, triples):
        h = self.entity(triples[:, 0])
        r = self.relation(triples[:, 1])
        t = self.entity(triples[:, 2])
        return (h + r - t).norm(p=2, dim=1)


def corrupt(triples, n_entities):
    fake = triples.clone()
    swap_head = torch.rand(len(triples)) < 0.5
    random_entities = torch.randint(n_entities, (len(triples),))
    fake[swap_head, 0] = random_entities[swap_head]
    fake[~swap_head, 2] = random_entities[~swap_head]
    return fake


@torch.no_grad()
def mean_rank(model, triples, n_entities):
    ranks = []
    for h, r, t in triples.tolist():
        candidates = torch.tensor([[h, r, e] for e in range(n_entities)])
        scores = model.score(candidates)
        ranks.append((scores < scores[t]).sum().item() + 1)
    return sum(ranks) / len(ranks)


def main():
    torch.manual_seed(13)
    names = build_triples()
    entities = sorted({x for h, _, t in names for x in (h, t)})
    relations = sorted({r for _, r, _ in names})
    ent2id = {e: i for i, e in enumerate(entities)}
    rel2id = {r: i for i, r in enumerate(relations)}
    triples = torch.tensor([[ent2id[h], rel2id[r], ent2id[t]] for h, r, t in names])
    print(len(entities), "entities", len(relations), "relations", len(triples), "triples")

    model = TransE(len(entities), len(relations), dim=24)
    criterion = nn.MarginRankingLoss(margin=1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    for epoch in range(1, 61):
        model.normalize_entities()
        total = 0.0
        for batch in triples[torch.randperm(len(triples))].split(32):
            positive = model.score(batch)
            negative = model.score(corrupt(batch, len(entities)))
            target = -torch.ones(len(batch))
            loss = criterion(positive, negative, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        if epoch % 20 == 0:
            rank = mean_rank(model, triples, len(entities))
            print(f"epoch {epoch} loss {total / len(triples):.3f} mean rank {rank:.1f}")


if __name__ == "__main__":
    main()
