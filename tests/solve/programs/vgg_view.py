"""VGG with the `view(-1, features)` of many tutorials."""

import torch.nn as nn

CFG = [4, "M", 8, "M", 8, "M"]


def make_layers(cfg):
    layers, channels = [], 3
    for v in cfg:
        if v == "M":
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
        else:
            layers += [nn.Conv2d(channels, v, 3, padding=1), nn.ReLU(inplace=True)]
            channels = v
    return nn.Sequential(*layers)


class VGG(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = make_layers(CFG)
        self.classifier = nn.Sequential(nn.Linear(8 * 4 * 4, 16), nn.Linear(16, 10))

    def forward(self, x):
        x = self.features(x)
        x = x.view(-1, 8 * 4 * 4)
        return self.classifier(x)
