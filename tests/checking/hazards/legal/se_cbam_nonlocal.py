import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(8, 4, 1)
        self.b = nn.Conv2d(8, 4, 1)
        self.c = nn.Conv2d(8, 8, 1)
        self.f = nn.Linear(8, 8)

    def forward(self, x):
        B, C, H, W = x.shape
        q = self.a(x).view(B, -1, H * W).permute(0, 2, 1)
        k = self.b(x).view(B, -1, H * W)
        e = torch.bmm(q, k).softmax(-1)
        o = torch.bmm(self.c(x).view(B, -1, H * W), e.permute(0, 2, 1)).view(B, C, H, W)
        s = self.f(x.mean((2, 3))).sigmoid().view(B, C, 1, 1)
        m = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], 1)
        g = x.view(B, C, -1)
        en = (g @ g.transpose(1, 2)).softmax(-1)
        return o * s, m, (en @ g).view(B, C, H, W)


def example_inputs():
    return (torch.randn(2, 8, 5, 6),)
