# line 45: optimizer.step without parentheses names the method and never calls it
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class SkipGram(nn.Module):
    def __init__(self, words, dim):
        super(SkipGram, self).__init__()
        self.centre = nn.Embedding(words, dim)
        self.context = nn.Embedding(words, dim)

    def forward(self, w, c, negatives):
        v = self.centre(w)
        good = (v * self.context(c)).sum(-1)
        bad = torch.einsum("bd,bkd->bk", v, self.context(negatives))
        return -(nn.functional.logsigmoid(good) + nn.functional.logsigmoid(-bad).sum(-1)).mean()


def build_pairs(n_words=40, length=1500):
    walk, pairs = 0, []
    for _ in range(length):
        nxt = (walk + np.random.randint(1, 4)) % n_words
        pairs.append((walk, nxt))
        walk = nxt
    return torch.tensor(pairs)


pairs = build_pairs()
model = SkipGram(40, 12)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(6):
    model.train()
    perm = torch.randperm(len(pairs))
    epoch_loss = 0.0
    for i in range(0, len(perm), 100):
        batch = pairs[perm[i : i + 100]]
        negatives = torch.randint(0, 40, (len(batch), 4))
        optimizer.zero_grad()
        loss = model(batch[:, 0], batch[:, 1], negatives)
        loss.backward()
        optimizer.step
        epoch_loss += loss.item() * len(batch)
    print("epoch", epoch, "loss", epoch_loss / len(pairs))

model.eval()
with torch.no_grad():
    scores = model.centre.weight @ model.context.weight.t()
    ahead = (torch.arange(40) + 2) % 40
    rank = (scores > scores.gather(1, ahead[:, None])).sum(1).float().mean().item()
print("mean rank of the usual next word", rank)
