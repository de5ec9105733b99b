import torch
import torch.nn as nn

CFG = {
    "A": [16, "M", 32, "M", 48, "M", 64, "M", 64, "M"],
    "tiny": [8, "M", 16, "M"],
}


def make_layers(cfg, in_channels=1):
    layers = []
    for v in cfg:
        if v == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        else:
            layers.append(nn.Conv2d(in_channels, v, kernel_size=3, padding=1))
            layers.append(nn.ReLU(inplace=True))
            in_channels = v
    return nn.Sequential(*layers)


class Model(nn.Module):
    def __init__(self, name="A", num_classes=10):
        super().__init__()
        self.features = make_layers(CFG[name])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.features(x)
        x = self.avgpool(x)
        return self.classifier(torch.flatten(x, 1))


def example_inputs():
    return (torch.randn(3, 1, 28, 28),)
