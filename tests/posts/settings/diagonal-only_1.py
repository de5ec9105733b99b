# line 18: the einsum reads only the diagonal of the bilinear weight, so it is no bilinear form
import torch
from torch import nn

torch.manual_seed(0)


class BilinearLink(nn.Module):
    """Scores a pair of entities for one relation (RESCAL)."""

    def __init__(self, entities, relations, dim):
        super().__init__()
        self.entity = nn.Embedding(entities, dim)
        self.relation = nn.Parameter(torch.randn(relations, dim, dim) / dim**0.5)

    def forward(self, head, rel, tail):
        h, t = self.entity(head), self.entity(tail)
        return torch.einsum("nk,nkk,nk->n", h, self.relation[rel], t)


def make_triples(n, entities, relations):
    head = torch.randint(entities, (n,))
    rel = torch.randint(relations, (n,))
    tail = (head + rel + 1) % entities
    wrong = torch.randint(entities, (n,))
    return head, rel, tail, wrong


ENT, REL = 40, 3
head, rel, tail, wrong = make_triples(512, ENT, REL)
scorer = BilinearLink(ENT, REL, 16)
optim = torch.optim.Adagrad(scorer.parameters(), lr=0.1)
for epoch in range(5):
    running = 0.0
    for idx in torch.randperm(512).split(64):
        positive = scorer(head[idx], rel[idx], tail[idx])
        negative = scorer(head[idx], rel[idx], wrong[idx])
        loss = nn.functional.softplus(negative - positive).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        running += loss.item() * len(idx)
    print(epoch, running / 512)
