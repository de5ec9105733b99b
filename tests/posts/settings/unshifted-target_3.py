# line 34: the causal convolutions see sample t and are trained to classify sample t itself, not the next one
import math

import torch
import torch.nn.functional as F
from torch import nn

LEVELS = 32


class CausalConv(nn.Conv1d):
    def __init__(self, channels, dilation):
        super().__init__(channels, channels, 2, dilation=dilation)

    def forward(self, x):
        return super().forward(F.pad(x, (self.dilation[0], 0)))


class MiniWaveNet(nn.Module):
    def __init__(self, channels=24):
        super().__init__()
        self.embed = nn.Embedding(LEVELS, channels)
        self.stack = nn.ModuleList(CausalConv(channels, 2**k) for k in range(4))
        self.post = nn.Conv1d(channels, LEVELS, 1)

    def forward(self, samples):
        x = self.embed(samples).transpose(1, 2)
        for conv in self.stack:
            x = x + torch.tanh(conv(x))
        return self.post(x)

    def nats(self, samples):
        scores = self(samples)
        return F.cross_entropy(scores, samples)


def quantised_tones(n, length=64):
    t = torch.arange(length) * (0.1 + 0.3 * torch.rand(n, 1))
    wave = torch.sin(t + 2 * math.pi * torch.rand(n, 1)) + 0.05 * torch.randn(n, length)
    return ((wave.clamp(-1, 1) + 1) / 2 * (LEVELS - 1)).round().long()


torch.manual_seed(46)
net = MiniWaveNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(80):
    loss = net.nats(quantised_tones(16))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1}: {loss.item() / math.log(2):.3f} bits per sample")
