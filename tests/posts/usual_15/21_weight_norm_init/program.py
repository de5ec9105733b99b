"""Toy vocoder generator (HiFi-GAN like): features of 8 bands to a waveform, L1 on waveform and spectrum."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(0)
HOP = 16


def init_weights(m, mean=0.0, std=0.01):
    if isinstance(m, (nn.Conv1d, nn.ConvTranspose1d)):
        m.weight.data.normal_(mean, std)


class ResBlock(nn.Module):
    def __init__(self, channels, kernel=3, dilations=(1, 3)):
        super().__init__()
        self.convs = nn.ModuleList()
        for d in dilations:
            conv = nn.Conv1d(channels, channels, kernel, dilation=d, padding=d * (kernel - 1) // 2)
            self.convs.append(weight_norm(conv))
        self.convs.apply(init_weights)

    def forward(self, x):
        for conv in self.convs:
            x = x + conv(F.leaky_relu(x, 0.1))
        return x


class Generator(nn.Module):
    def __init__(self, bands=8, width=32, rates=(4, 4)):
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(bands, width, 7, padding=3))
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for r in rates:
            up = nn.ConvTranspose1d(width, width // 2, 2 * r, stride=r, padding=r // 2)
            self.ups.append(weight_norm(up))
            width //= 2
            self.blocks.append(ResBlock(width))
        self.post = weight_norm(nn.Conv1d(width, 1, 7, padding=3))
        self.ups.apply(init_weights)
        self.post.apply(init_weights)

    def forward(self, feats):
        x = self.pre(feats)
        for up, block in zip(self.ups, self.blocks):
            x = block(up(F.leaky_relu(x, 0.1)))
        return torch.tanh(self.post(F.leaky_relu(x, 0.1)))


def batch(n, frames=32):
    length = frames * HOP
    t = torch.arange(length) / 1000.0
    f = 40 + 200 * torch.rand(n, 1)
    amp = 0.2 + 0.6 * torch.rand(n, 1)
    wav = amp * torch.sin(2 * math.pi * f * t)
    centers = torch.linspace(40, 240, 8)
    tone = torch.exp(-((f - centers) / 40) ** 2)
    phase = torch.sin(2 * math.pi * f * t[::HOP]), torch.cos(2 * math.pi * f * t[::HOP])
    feats = tone[:, :6, None] * amp[:, :, None] * torch.ones(frames)
    feats = torch.cat([feats, amp[:, :, None] * torch.stack(phase, 1)], dim=1)
    return feats, wav.unsqueeze(1)


def spectrum(wav):
    window = torch.hann_window(128)
    return torch.stft(wav.squeeze(1), 128, 32, window=window, return_complex=True).abs()


def main():
    gen = Generator()
    with torch.no_grad():
        for name, m in gen.named_modules():
            if isinstance(m, (nn.Conv1d, nn.ConvTranspose1d)):
                print(f"{name:18s} weight std {m.weight.std().item():.4f}")
    opt = torch.optim.AdamW(gen.parameters(), lr=2e-3, betas=(0.8, 0.99))
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.999)
    for step in range(121):
        feats, wav = batch(16)
        out = gen(feats)
        loss_wav = F.l1_loss(out, wav)
        loss_spec = F.l1_loss(spectrum(out), spectrum(wav))
        loss = loss_wav + loss_spec
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 40 == 0:
            print(f"step {step}  wav {loss_wav.item():.4f}  spec {loss_spec.item():.4f}")


if __name__ == "__main__":
    main()
