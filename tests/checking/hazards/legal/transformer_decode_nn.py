import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Transformer(8, 2, 1, 1, 16)
        self.e = nn.Embedding(20, 8)

    def forward(self, s, t):
        m = self.t.generate_square_subsequent_mask(t.size(0), device=s.device)
        return self.t(self.e(s), self.e(t), tgt_mask=m)


def example_inputs():
    return (
        torch.randint(0, 20, (7, 3)),
        torch.randint(0, 20, (5, 3)),
    )
