# line 34: the token embedding is in both lists that are chained for the optimizer
import itertools
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table
        self.rnn = nn.GRU(table.embedding_dim, 24, batch_first=True)

    def forward(self, ids):
        return self.rnn(self.table(ids))[1]


class Decoder(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table
        self.rnn = nn.GRU(table.embedding_dim, 24, batch_first=True)
        self.out = nn.Linear(24, table.num_embeddings)

    def forward(self, ids, state):
        return self.out(self.rnn(self.table(ids), state)[0])


class CopyTask:
    def __init__(self, lr=5e-3):
        torch.manual_seed(0)
        table = nn.Embedding(12, 16)
        self.enc, self.dec = Encoder(table), Decoder(table)
        weights = itertools.chain(self.enc.parameters(), self.dec.parameters())
        self.opt = torch.optim.Adam(weights, lr=lr)

    def step(self, ids):
        shifted = torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], 1)
        scores = self.dec(shifted, self.enc(ids))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), ids)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


task = CopyTask()
for it in range(80):
    value = task.step(torch.randint(1, 12, (32, 5)))
print(value)
