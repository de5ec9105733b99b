import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ZeroConv2d(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.conv.weight.data.normal_(0, 0.01)
        self.conv.bias.data.zero_()
        self.logs = nn.Parameter(torch.zeros(1, out_channels, 1, 1))

    def forward(self, x):
        return self.conv(x) * torch.exp(self.logs * 3)


class ActNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.logs = nn.Parameter(torch.zeros(1, channels, 1, 1))

    def forward(self, x, logdet):
        h, w = x.shape[2:]
        x = (x + self.bias) * torch.exp(self.logs)
        return x, logdet + self.logs.sum() * h * w


class Permute2d(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("index", torch.randperm(channels))

    def forward(self, x):
        return x[:, self.index]


class AffineCoupling(nn.Module):
    def __init__(self, channels, hidden=32):
        super().__init__()
        half = channels // 2
        self.net = nn.Sequential(
            nn.Conv2d(half, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, hidden, 1),
            nn.ReLU(),
            ZeroConv2d(hidden, 2 * half),
        )

    def forward(self, x, logdet):
        half = x.shape[1] // 2
        z1, z2 = x[:, :half], x[:, half:]
        h = self.net(z1)
        shift, scale = h[:, 0::2], torch.sigmoid(h[:, 1::2] + 2.0)
        z2 += shift
        z2 *= scale
        logdet = logdet + torch.log(scale).flatten(1).sum(dim=1)
        return torch.cat([z1, z2], dim=1), logdet


class FlowStep(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.actnorm = ActNorm(channels)
        self.permute = Permute2d(channels)
        self.coupling = AffineCoupling(channels)

    def forward(self, x, logdet):
        x, logdet = self.actnorm(x, logdet)
        x = self.permute(x)
        return self.coupling(x, logdet)


class Flow(nn.Module):
    def __init__(self, in_channels=3, depth=4):
        super().__init__()
        self.steps = nn.ModuleList([FlowStep(in_channels * 4) for _ in range(depth)])

    def forward(self, x):
        z = F.pixel_unshuffle(x, 2)
        logdet = torch.zeros(x.shape[0], device=x.device)
        for step in self.steps:
            z, logdet = step(z, logdet)
        log_pz = -0.5 * (z ** 2 + math.log(2 * math.pi)).flatten(1).sum(dim=1)
        nats = -(log_pz + logdet)
        return nats / (math.log(2.0) * x[0].numel())


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    flow = Flow().to(device)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
    images = torch.rand(64, 3, 16, 16)
    for it in range(20):
        batch = images[torch.randint(0, 64, (16,))].to(device) - 0.5
        loss = flow(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        optimizer.step()
        if it % 5 == 0:
            print("iter %d bits/dim %.4f" % (it, loss.item()))


if __name__ == "__main__":
    main()
