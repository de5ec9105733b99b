# line 33: the "not padded" mask is ~ of an integer mask (0/1), so the weights are -1 and -2
import torch
import torch.nn as nn
import torch.nn.functional as F


def collate(seqs, pad=0):
    n = max(map(len, seqs))
    ids = torch.tensor([s + [pad] * (n - len(s)) for s in seqs])
    is_pad = (ids == pad).int()
    return ids, is_pad


class LM(nn.Module):
    def __init__(self, v=20, d=16):
        super().__init__()
        self.e = nn.Embedding(v, d, padding_idx=0)
        self.r = nn.LSTM(d, 32, batch_first=True)
        self.o = nn.Linear(32, v)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def token_loss(self, ids, is_pad):
        logits = self.model(ids[:, :-1])
        per_token = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        real = ~is_pad[:, 1:]
        return (per_token * real).sum() / real.sum()

    def run(self, seqs, epochs):
        for e in range(epochs):
            order = torch.randperm(len(seqs)).tolist()
            for s in range(0, len(order), 16):
                ids, is_pad = collate([seqs[k] for k in order[s:s + 16]])
                loss = self.token_loss(ids, is_pad)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(e, loss.item())


torch.manual_seed(0)
lengths = torch.randint(4, 15, (96,)).tolist()
seqs = [[(1 + (k + j) % 19) for j in range(n)] for k, n in enumerate(lengths)]
Trainer(LM()).run(seqs, epochs=4)
