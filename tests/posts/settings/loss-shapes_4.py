# line 40: the net of the deep prior returns (1, 1, N) and the noisy recording is (N,)
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
n = 512
t = torch.linspace(0, 1, n)
clean = torch.sin(2 * math.pi * 5 * t) * torch.exp(-2 * t)
noisy = clean + 0.3 * torch.randn(n)


def block(cin, cout):
    return nn.Sequential(
        nn.Conv1d(cin, cout, 5, padding=2), nn.GroupNorm(4, cout), nn.LeakyReLU(0.1)
    )


class HourGlass(nn.Module):
    def __init__(self, code=8, ch=16):
        super().__init__()
        self.stages = nn.ModuleList([block(code, ch), block(ch, ch), block(ch, ch)])
        self.to_wave = nn.Conv1d(ch, 1, 1)

    def forward(self, z):
        for stage in self.stages:
            z = F.interpolate(stage(z), scale_factor=2, mode="linear", align_corners=False)
        return self.to_wave(z)


def restore(recording, iterations=150):
    net = HourGlass()
    z = 0.1 * torch.randn(1, 8, recording.numel() // 8)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(iterations):
        optimizer.zero_grad()
        wave = net(z)
        loss = F.mse_loss(wave, recording)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        return net(z).flatten()


def snr(estimate):
    return 10 * torch.log10(clean.square().sum() / (clean - estimate).square().sum()).item()


print("noisy", round(snr(noisy), 2), "restored", round(snr(restore(noisy)), 2))
