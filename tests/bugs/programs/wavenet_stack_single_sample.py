import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv(nn.Conv1d):
    def forward(self, x):
        left = (self.kernel_size[0] - 1) * self.dilation[0]
        return super().forward(F.pad(x, (left, 0)))


class GatedLayer(nn.Module):
    def __init__(self, ch, dilation):
        super().__init__()
        self.conv = CausalConv(ch, 2 * ch, 2, dilation=dilation)
        self.res = nn.Conv1d(ch, ch, 1)
        self.skip = nn.Conv1d(ch, ch, 1)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, dim=-2)
        h = a.tanh() * b.sigmoid()
        return x + self.res(h), self.skip(h)


class Model(nn.Module):
    def __init__(self, levels=16, ch=12, depth=5):
        super().__init__()
        self.levels = levels
        self.inp = CausalConv(1, ch, 2)
        self.layers = nn.ModuleList(GatedLayer(ch, 2**i) for i in range(depth))
        self.out = nn.Conv1d(ch, levels, 1)

    def quantise(self, wave):
        mu = self.levels - 1
        y = wave.sign() * torch.log1p(mu * wave.abs()) / torch.log1p(torch.tensor(float(mu)))
        return ((y + 1) / 2 * mu + 0.5).long()

    def forward(self, wave):
        # wave (T,): conv1d takes (C, T) without a batch, too
        x = self.inp(wave.unsqueeze(0))
        skips = []
        for layer in self.layers:
            x, s = layer(x)
            skips.append(s)
        logits = self.out(F.relu(torch.stack(skips).sum(dim=0)))
        target = self.quantise(wave)
        loss = F.cross_entropy(logits[:, :-1].T, target[1:])
        return logits, loss


def example_inputs():
    return (torch.rand(100) * 2 - 1,)
