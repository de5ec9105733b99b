import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 16)
        self.k = nn.Linear(16, 8)

    def forward(self, x):
        B, T, _ = x.shape
        q = self.q(x).view(B, T, 4, 4).transpose(1, 2)
        k = self.k(x).view(B, T, 2, 4).transpose(1, 2)
        kk = k[:, :, None].expand(B, 2, 2, T, 4).reshape(B, 4, T, 4)
        k2 = k.repeat_interleave(2, dim=1)
        o = F.scaled_dot_product_attention(q, kk, k2, is_causal=True)
        qg = q.view(B, 2, 2, T, 4)
        sc = torch.einsum("bgrtd,bgsd->bgrts", qg, k).softmax(-1)
        o2 = torch.einsum("bgrts,bgsd->bgrtd", sc, k).reshape(B, 4, T, 4)
        return (o + o2).transpose(1, 2).contiguous().view(B, T, -1)


def example_inputs():
    return (torch.randn(3, 7, 16),)
