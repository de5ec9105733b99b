import math
import torch
from torch import nn
import torch.nn.functional as F


class CausalConv1d(nn.Module):
    def __init__(self, in_ch, out_ch, kernel, dilation):
        super().__init__()
        self.pad = dilation * (kernel - 1)
        self.conv = nn.Conv1d(in_ch, out_ch, kernel, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.pad, 0)))


class WaveNet(nn.Module):
    def __init__(self, ch=24, layers=4):
        super().__init__()
        self.inp = nn.Conv1d(1, ch, 1)
        self.convs = nn.ModuleList([CausalConv1d(ch, ch, 3, 2 ** i) for i in range(layers)])
        self.out = nn.Conv1d(ch, 1, 1)

    def forward(self, x):
        x = self.inp(x)
        for conv in self.convs:
            x = x + torch.tanh(conv(x))
        return self.out(x)


def waves(n, length=128):
    t = torch.arange(length) / 16.0
    freq = 0.5 + torch.rand(n, 1)
    phase = 2 * math.pi * torch.rand(n, 1)
    clean = torch.sin(2 * math.pi * freq * t + phase)
    return (clean + 0.3 * torch.randn(n, length)).unsqueeze(1)


train = waves(512)
model = WaveNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 11):
    model.train()
    for idx in torch.randperm(len(train)).split(32):
        wave = train[idx]
        loss = F.mse_loss(model(wave[:, :, :-1]), wave[:, :, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: one-step mse {loss.item():.4f} (noise variance 0.09)")

model.eval()
wave = waves(1)
with torch.no_grad():
    for _ in range(64):
        wave = torch.cat([wave, model(wave)[:, :, -1:]], dim=2)
print("amplitude of the generated part", wave[0, 0, -64:].std().item())
