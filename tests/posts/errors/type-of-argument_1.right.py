# line 26: the bottleneck width comes from a multiplication with a float ratio, so nn.Conv1d gets a float as number of channels; mended by: converting the width to int
import torch
import torch.nn as nn

MODEL_ZOO = {
    "tiny": {"width": 16, "depth": 2, "expand": 1.5, "se_ratio": 0.25},
    "small": {"width": 24, "depth": 3, "expand": 2.0, "se_ratio": 0.25},
}


class SqueezeExcite1d(nn.Module):
    def __init__(self, channels, ratio):
        super().__init__()
        squeezed = max(1, int(channels * ratio))
        self.down = nn.Linear(channels, squeezed)
        self.up = nn.Linear(squeezed, channels)

    def forward(self, x):
        s = torch.relu(self.down(x.mean(-1)))
        return x * torch.sigmoid(self.up(s)).unsqueeze(-1)


class InvertedBlock(nn.Module):
    def __init__(self, width, expand, se_ratio):
        super().__init__()
        mid = int(width * expand)
        self.layers = nn.Sequential(
            nn.Conv1d(width, mid, 1), nn.BatchNorm1d(mid), nn.SiLU(),
            nn.Conv1d(mid, mid, 9, padding=4, groups=mid), nn.BatchNorm1d(mid), nn.SiLU(),
            SqueezeExcite1d(mid, se_ratio),
            nn.Conv1d(mid, width, 1), nn.BatchNorm1d(width),
        )

    def forward(self, x):
        return x + self.layers(x)


def build_model(name, in_axes, n_classes):
    c = MODEL_ZOO[name]
    return nn.Sequential(
        nn.Conv1d(in_axes, c["width"], 7, stride=2, padding=3),
        *[InvertedBlock(c["width"], c["expand"], c["se_ratio"]) for _ in range(c["depth"])],
        nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        nn.Linear(c["width"], n_classes),
    )


def accelerometer(n, axes=3, length=100, n_classes=5):
    y = torch.randint(n_classes, (n,))
    t = torch.arange(length) / 50
    base = torch.sin(2 * torch.pi * (1 + y[:, None]) * t)
    gain = torch.rand(n, axes, 1) + 0.5
    return gain * base[:, None] + 0.3 * torch.randn(n, axes, length), y


def train(name="tiny", epochs=3):
    torch.manual_seed(0)
    x, y = accelerometer(120)
    model = build_model(name, 3, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for epoch in range(epochs):
        for xb, yb in zip(x.split(30), y.split(30)):
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(name, epoch, loss.item())


train()
