import torch
import torch.nn as nn


class StackedGRU(nn.Module):
    def __init__(self, n_in, n_hid, n_layers):
        super().__init__()
        self.n_hid = n_hid
        self.cells = nn.ModuleList(
            nn.GRUCell(n_in if i == 0 else n_hid, n_hid) for i in range(n_layers)
        )

    def forward(self, x):
        B, T, _ = x.shape
        hs = [torch.zeros(B, self.n_hid) for _ in self.cells]
        outs = []
        for t in range(T):
            inp = x[:, t]
            for i, cell in enumerate(self.cells):
                hs[i] = cell(inp, hs[i])
                inp = hs[i]
            outs.append(inp)
        return torch.stack(outs, dim=1)


class Model(nn.Module):
    def __init__(self, vocab=30, dim=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = StackedGRU(dim, 18, n_layers=2)
        self.out = nn.Linear(18, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids)))


def example_inputs():
    return (torch.randint(0, 30, (4, 11)),)
