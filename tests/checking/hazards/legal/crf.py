import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Parameter(torch.randn(5, 5))
        self.f = nn.Linear(6, 5)

    def forward(self, x, tags):
        e = self.f(x)
        a = e[:, 0]
        for i in range(1, e.size(1)):
            a = torch.logsumexp(
                a.unsqueeze(2) + self.t.unsqueeze(0) + e[:, i].unsqueeze(1), dim=1
            )
        s = e.gather(2, tags.unsqueeze(2)).squeeze(2).sum(1) + self.t[
            tags[:, :-1], tags[:, 1:]
        ].sum(1)
        return (a.logsumexp(1) - s).mean()


def example_inputs():
    return (
        torch.randn(3, 7, 6),
        torch.randint(0, 5, (3, 7)),
    )
