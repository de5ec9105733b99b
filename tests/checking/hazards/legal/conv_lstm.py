import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 4, 3, padding=1)
        self.r = nn.LSTM(32, 6, bidirectional=True)
        self.o = nn.Linear(12, 9)

    def forward(self, x):
        f = self.c(x)
        B, C, H, W = f.shape
        f = f.permute(3, 0, 1, 2).reshape(W, B, C * H)
        y, _ = self.r(f)
        T, B, h = y.shape
        return self.o(y.view(T * B, h)).view(T, B, -1).log_softmax(2)


def example_inputs():
    return (torch.randn(2, 1, 8, 15),)
