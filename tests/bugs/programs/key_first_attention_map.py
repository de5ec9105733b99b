import torch
import torch.nn as nn
from torch.nn.utils import spectral_norm


class SelfAttention(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.f = spectral_norm(nn.Conv1d(ch, ch // 8, 1, bias=False))
        self.g = spectral_norm(nn.Conv1d(ch, ch // 8, 1, bias=False))
        self.h = spectral_norm(nn.Conv1d(ch, ch, 1, bias=False))
        self.gamma = nn.Parameter(torch.tensor([0.1]))

    def forward(self, x):
        size = x.size()
        x = x.view(*size[:2], -1)
        keys, queries, values = self.f(x), self.g(x), self.h(x)
        # beta[b, i, j]: how much position j looks at position i
        beta = torch.bmm(keys.transpose(1, 2).contiguous(), queries)
        beta = beta.softmax(dim=1)
        o = self.gamma * torch.bmm(values, beta) + x
        return o.view(*size).contiguous(), beta


class Model(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.inp = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.LeakyReLU(0.1))
        self.attn = SelfAttention(ch)

    def forward(self, image):
        h = self.inp(image)
        h, beta = self.attn(h)
        return h, beta.detach()


def example_inputs():
    return (torch.rand(2, 3, 10, 12),)
