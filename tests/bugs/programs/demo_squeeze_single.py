import torch
import torch.nn as nn


def conv_bn(cin, cout, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, 1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class Model(nn.Module):
    """Leaf disease classifier; the demo feeds a single photo."""

    def __init__(self, n_class=5):
        super().__init__()
        self.features = nn.Sequential(
            conv_bn(3, 16, 2),
            conv_bn(16, 32, 2),
            conv_bn(32, 32, 2),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(32, n_class)

    def forward(self, x):
        x = self.features(x)
        x = self.pool(x)
        x = x.squeeze()
        return self.classifier(x)


def example_inputs():
    photo = torch.rand(1, 3, 64, 64)
    return (photo,)
