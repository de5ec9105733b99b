import torch
from torch import nn


class Bilinear(nn.Module):
    def __init__(self, left, right, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out, left, right) / left)
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, a, b):
        score = torch.einsum("bi,oij,bj->o", a, self.weight, b)
        return score + self.bias


class Model(nn.Module):
    """Answer selection: question and answer encoders, bilinear relation scores."""

    def __init__(self, vocab=120, hidden=16, relations=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.question = nn.GRU(hidden, hidden, batch_first=True)
        self.answer = nn.GRU(hidden, hidden, batch_first=True)
        self.match = Bilinear(hidden, hidden, relations)

    def forward(self, q, a):
        _, hq = self.question(self.embed(q))
        _, ha = self.answer(self.embed(a))
        score = self.match(hq[-1], ha[-1])
        return score.expand(q.size(0), -1).log_softmax(dim=-1)


def example_inputs():
    return torch.randint(0, 120, (5, 8)), torch.randint(0, 120, (5, 14))
