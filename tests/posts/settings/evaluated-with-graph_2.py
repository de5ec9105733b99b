# line 25: the perplexity loop adds up loss tensors in evaluation with the graph recorded
import math
import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, v=25, d=24):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(v, d), nn.LSTM(d, 32, batch_first=True), nn.Linear(32, v)

    def forward(self, ids):
        return self.o(self.r(self.e(ids))[0])


def nll(lm, ids):
    scores = lm(ids[:, :-1])
    return nn.functional.cross_entropy(scores.reshape(-1, scores.size(-1)), ids[:, 1:].reshape(-1), reduction="sum")


def perplexity(lm, chunks):
    lm.eval()
    total, tokens = torch.zeros(()), 0
    for ids in chunks:
        total = total + nll(lm, ids)
        tokens += ids[:, 1:].numel()
    lm.train()
    return math.exp(float(total) / tokens)


def stream(n, length, g):
    out = torch.zeros(n, length, dtype=torch.long)
    out[:, 0] = torch.randint(25, (n,), generator=g)
    for t in range(1, length):
        out[:, t] = (out[:, t - 1] * 3 + torch.randint(2, (n,), generator=g)) % 25
    return out


g = torch.Generator().manual_seed(1)
torch.manual_seed(1)
train_ids, test_ids = stream(160, 20, g), stream(64, 20, g)
lm = LM()
opt = torch.optim.Adam(lm.parameters(), lr=0.01)
for epoch in range(3):
    for i in torch.randperm(160).split(16):
        loss = nll(lm, train_ids[i]) / (len(i) * 19)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, perplexity(lm, test_ids.split(8)))
