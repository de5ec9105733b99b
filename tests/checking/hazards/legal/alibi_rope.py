import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 24)
        self.register_buffer("s", torch.tensor([0.5, 0.25]))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.q(x).view(B, T, 3, 2, 4).unbind(2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        pos = torch.arange(T, device=x.device)
        f = torch.outer(pos, 1 / (100 ** (torch.arange(0, 4, 2, device=x.device) / 4)))
        c, s = f.cos(), f.sin()

        def rot(t):
            return torch.stack(
                [
                    t[..., ::2] * c - t[..., 1::2] * s,
                    t[..., ::2] * s + t[..., 1::2] * c,
                ],
                -1,
            ).flatten(-2)

        a = rot(q) @ rot(k).transpose(-1, -2) + self.s[:, None, None] * (
            pos[None, :] - pos[:, None]
        )
        a = a.masked_fill(pos[None, :] > pos[:, None], float("-inf")).softmax(-1)
        return (a @ v).transpose(1, 2).reshape(B, T, C)


def example_inputs():
    return (torch.randn(2, 7, 8),)
