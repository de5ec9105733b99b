# line 23: the relation vectors of the knowledge graph are a Variable, not a Parameter, so parameters() leaves them out
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

np.random.seed(0)
torch.manual_seed(0)
N_ENT, N_REL, DIM = 60, 4, 16


def synthetic_triples():
    shift = np.array([3, 11, 17, 29])
    heads = np.repeat(np.arange(N_ENT), N_REL)
    rels = np.tile(np.arange(N_REL), N_ENT)
    return np.stack([heads, rels, (heads + shift[rels]) % N_ENT], axis=1)


class DistMult(nn.Module):
    def __init__(self):
        super(DistMult, self).__init__()
        self.ent = nn.Embedding(N_ENT, DIM)
        self.rel = Variable(torch.randn(N_REL, DIM), requires_grad=True)
        self.drop = nn.Dropout(0.1)

    def forward(self, h, r):
        query = self.drop(self.ent(h) * self.rel[r])
        return query @ self.ent.weight.t()


triples = synthetic_triples()
np.random.shuffle(triples)
train, valid = torch.LongTensor(triples[:200]), torch.LongTensor(triples[200:])

model = DistMult()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(20):
    model.train()
    perm = torch.randperm(len(train))
    running = 0.0
    for k in range(0, len(train), 50):
        batch = train[perm[k : k + 50]]
        optimizer.zero_grad()
        loss = loss_fn(model(batch[:, 0], batch[:, 1]), batch[:, 2])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(batch)
print("train loss %.3f" % (running / len(train)))

model.eval()
with torch.no_grad():
    scores = model(valid[:, 0], valid[:, 1])
    ranks = (scores > scores.gather(1, valid[:, 2:])).sum(1) + 1
print("MRR %.3f" % (1.0 / ranks.float()).mean().item())
