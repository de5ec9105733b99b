import torch
from torch.nn import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
)


class Model(Module):
    """German traffic signs, 32x32."""

    def __init__(self):
        super().__init__()
        self.first = Sequential(
            Conv2d(3, 24, 3, padding=1), BatchNorm2d(24), ReLU(), MaxPool2d(2)
        )
        self.second = Sequential(
            Conv2d(24, 48, 3, padding=1), BatchNorm1d(48), ReLU(), MaxPool2d(2)
        )
        self.hidden = Linear(48 * 16 * 16, 100)
        self.hidden_norm = BatchNorm1d(100)
        self.dropout = Dropout(0.4)
        self.out = Linear(100, 43)

    def forward(self, x):
        x = self.first(x)
        x = self.second(x)
        x = x.reshape(len(x), -1)
        x = self.hidden_norm(self.hidden(x)).relu()
        return self.out(self.dropout(x))


def example_inputs():
    return (torch.rand(8, 3, 32, 32),)
