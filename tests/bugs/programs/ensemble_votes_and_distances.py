import torch
import torch.nn as nn
import torch.nn.functional as F


class Member(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_in, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_out)
        )
        self.trust = nn.Linear(n_in, 1)

    def forward(self, x):
        return self.body(x), self.trust(x)


class Model(nn.Module):
    """Members of different width vote; who is trusted more counts more."""

    def __init__(self, n_in=9, widths=(8, 16, 24), n_out=4):
        super().__init__()
        self.members = nn.ModuleList(Member(n_in, w, n_out) for w in widths)
        self.prior = nn.Parameter(torch.zeros(len(widths), 1, 1))

    def forward(self, x):
        votes, trust = map(torch.stack, zip(*(m(x) for m in self.members)))
        # (M, B, 1): the members share one unit of trust per row
        share = F.softmax(trust + self.prior, dim=0)
        logits = (share * votes).sum(0)
        top = logits.max(-1).values
        gaps = top[:, None] - top  # every row against every other
        average = logits.softmax(-1).mean(0)
        usage = share.mean((1, 2))
        return logits, gaps, average, usage


def example_inputs():
    return (torch.randn(5, 9),)
