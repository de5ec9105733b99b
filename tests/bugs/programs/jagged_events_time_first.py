import torch
import torch.nn as nn


class EventRNN(nn.Module):
    def __init__(self, kinds, d, h, layers):
        super().__init__()
        self.kind = nn.Embedding(kinds + 1, d, padding_idx=kinds)
        self.rnn = nn.GRU(d + 1, h, layers)
        self.rate = nn.Linear(h, kinds)

    def forward(self, kind, gap, state=None):
        x = torch.cat((self.kind(kind), gap[..., None].log1p()), -1)
        y, state = self.rnn(x, state)
        return self.rate(y), state


class Model(nn.Module):
    def __init__(self, kinds=6, d=7, h=6, layers=2):
        super().__init__()
        self.net = EventRNN(kinds, d, h, layers)
        self.start = nn.Parameter(torch.zeros(layers, 1, h))

    def forward(self, kind, gap):
        # kind, gap: (T, N)
        state = self.start.expand(-1, kind.shape[1], -1).contiguous()
        rates = []
        for k, g in zip(kind.split(4), gap.split(4), strict=True):
            r, state = self.net(k, g, state)
            state = state.detach()
            rates.append(r)
        rates = torch.vstack(rates)
        hazard = nn.functional.softplus(rates)
        total = hazard.sum(-1) * gap
        hit = hazard.gather(-1, kind.clamp_max(5)[..., None]).squeeze(-1)
        alive = kind.ne(6)
        score = torch.where(alive, hit.log() - total, 0.0).sum(0) / alive.sum(0).clamp(min=1)
        table = hit.new_zeros(6, 6).index_put((kind[alive], kind[alive]), hit[alive], accumulate=True)
        return score, state[-1].T, table, rates[alive][None].mean(1, True)[0, 0, :, None]


def example_inputs():
    kind = torch.randint(0, 6, (10, 3))
    kind[7:, 1] = 6
    kind[:, 2] = 6
    return kind, torch.rand(10, 3)
