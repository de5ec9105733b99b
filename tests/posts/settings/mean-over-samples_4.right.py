# line 30: the perplexity divides the sum of the mean losses of the windows by the number of tokens
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallLM(nn.Module):
    def __init__(self, vocab, width=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        return self.head(self.gru(self.embed(ids))[0])

    def loss(self, ids):
        logits = self(ids[:, :-1])
        return F.cross_entropy(logits.transpose(1, 2), ids[:, 1:])


def perplexity(model, corpus, batch_size=16):
    model.eval()
    nats, tokens = 0.0, 0
    with torch.no_grad():
        for ids in corpus.split(batch_size):
            predicted = ids[:, 1:].numel()
            nats += model.loss(ids).item() * predicted
            tokens += predicted
    model.train()
    return math.exp(nats / tokens)


def markov_corpus(n, length, vocab, generator):
    ids = torch.randint(vocab, (n, 1), generator=generator)
    for _ in range(length - 1):
        step = torch.randint(1, 4, (n, 1), generator=generator)
        ids = torch.cat([ids, (ids[:, -1:] + step) % vocab], dim=1)
    return ids


gen = torch.Generator().manual_seed(60)
torch.manual_seed(60)
train = markov_corpus(320, 15, 25, gen)
held_out = markov_corpus(72, 15, 25, gen)
lm = SmallLM(25)
opt = torch.optim.Adam(lm.parameters(), lr=5e-3)
for epoch in range(4):
    for rows in torch.randperm(len(train), generator=gen).split(32):
        opt.zero_grad()
        lm.loss(train[rows]).backward()
        opt.step()
    print(f"epoch {epoch} perplexity {perplexity(lm, held_out):.3f}")
