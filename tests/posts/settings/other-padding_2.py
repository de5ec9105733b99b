# line 29: lengths of the code tokens are counted with the padding id of the comment tokens
import numpy as np
import torch
from torch import nn

CODE_PAD, TEXT_PAD = 99, 0


class Tower(nn.Module):
    def __init__(self, vocab, pad, d=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=pad)
        self.fc = nn.Linear(d, d)

    def forward(self, ids, valid):
        valid = valid.unsqueeze(-1).float()
        pooled = (self.fc(self.emb(ids)).relu() * valid).sum(1) / valid.sum(1).clamp(min=1)
        return nn.functional.normalize(pooled, dim=-1)


class Retriever(nn.Module):
    def __init__(self):
        super().__init__()
        self.code = Tower(100, CODE_PAD)
        self.text = Tower(60, TEXT_PAD)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, code_ids, text_ids):
        c = self.code(code_ids, torch.ne(code_ids, TEXT_PAD))
        t = self.text(text_ids, torch.ne(text_ids, TEXT_PAD))
        return self.logit_scale.exp() * c @ t.t()


def corpus(n, rng):
    code = np.full((n, 20), CODE_PAD)
    text = np.full((n, 10), TEXT_PAD)
    for k in range(n):
        topic = rng.integers(0, 12)
        a, b = rng.integers(4, 21), rng.integers(3, 11)
        code[k, :a] = topic * 8 + rng.integers(0, 8, a)
        text[k, :b] = 1 + topic * 4 + rng.integers(0, 4, b)
    return torch.from_numpy(code), torch.from_numpy(text)


torch.manual_seed(0)
code, text = corpus(256, np.random.default_rng(0))
model = Retriever()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for i in torch.randperm(256).split(32):
        sim = model(code[i], text[i])
        same = torch.arange(len(i))
        loss = (nn.functional.cross_entropy(sim, same) + nn.functional.cross_entropy(sim.t(), same)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
