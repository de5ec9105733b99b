# line 9: the shuffle unit splits its channels into 3 groups, but stage width 32 is not divisible by 3; mended by: a number of groups in the config that divides the widths
import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "in_channels": 4,
    "widths": [24, 32],
    "groups": 3,
    "num_classes": 7,
    "epochs": 2,
}


def channel_shuffle(x, groups):
    n, c, h, w = x.shape
    x = x.reshape(n, groups, c // groups, h, w).transpose(1, 2)
    return x.reshape(n, c, h, w)


class ShuffleUnit(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        self.dw = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.bn = nn.BatchNorm2d(channels)
        self.pw = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        y = F.relu(self.bn(self.dw(x)))
        y = channel_shuffle(y, self.groups)
        return F.relu(x + self.pw(y))


class LandCoverNet(nn.Module):
    """Four bands (RGB + near infrared) to a land cover class."""

    def __init__(self, cfg):
        super().__init__()
        stages = []
        prev = cfg["in_channels"]
        for w in cfg["widths"]:
            stages.append(nn.Conv2d(prev, w, 3, stride=2, padding=1))
            stages.append(ShuffleUnit(w, cfg["groups"]))
            prev = w
        self.stages = nn.Sequential(*stages)
        self.fc = nn.Linear(prev, cfg["num_classes"])

    def forward(self, x):
        return self.fc(self.stages(x).mean((2, 3)))


def tiles(n, cfg):
    gen = torch.Generator().manual_seed(7)
    y = torch.randint(cfg["num_classes"], (n,), generator=gen)
    x = torch.randn(n, cfg["in_channels"], 32, 32, generator=gen) + y.view(-1, 1, 1, 1) * 0.3
    return x, y


x, y = tiles(64, CONFIG)
net = LandCoverNet(CONFIG)
opt = torch.optim.Adam(net.parameters(), 2e-3)
for epoch in range(CONFIG["epochs"]):
    for xb, yb in zip(x.split(16), y.split(16)):
        opt.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
