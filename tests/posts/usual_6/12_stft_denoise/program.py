import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    sample_rate: int = 8000
    seconds: float = 1.0
    n_fft: int = 256
    hop: int = 128
    batch: int = 8
    steps: int = 30
    lr: float = 1e-3


class Spectrogram(nn.Module):
    def __init__(self, n_fft, hop):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, center=True, return_complex=True)
        return spec.unsqueeze(1)


class MaskNet(nn.Module):
    """Predicts a mask in [0, 1] for the noisy magnitude spectrogram."""

    def __init__(self, ch=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, ch, 5, padding=2), nn.BatchNorm2d(ch), nn.PReLU(),
            nn.Conv2d(ch, ch, 5, padding=2), nn.BatchNorm2d(ch), nn.PReLU(),
            nn.Conv2d(ch, 1, 1), nn.Sigmoid(),
        )

    def forward(self, mag):
        return self.layers(mag)


def make_batch(cfg: Config, generator):
    n = int(cfg.sample_rate * cfg.seconds)
    t = torch.arange(n) / cfg.sample_rate
    f0 = 120 + 200 * torch.rand(cfg.batch, 1, generator=generator)
    clean = sum(torch.sin(2 * math.pi * k * f0 * t) / k for k in (1, 2, 3, 4))
    clean = 0.3 * clean
    noisy = clean + 0.2 * torch.randn(cfg.batch, n, generator=generator)
    return clean, noisy


def main(cfg: Config):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    to_spec = Spectrogram(cfg.n_fft, cfg.hop)
    net = MaskNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    l1 = nn.L1Loss()

    net.train()
    for step in range(cfg.steps):
        clean, noisy = make_batch(cfg, gen)
        clean_mag = to_spec(clean)
        noisy_mag = to_spec(noisy)
        est = net(noisy_mag) * noisy_mag
        loss = l1(est, clean_mag)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:3d}  L1 {loss.item():.4f}")

    net.eval()
    with torch.no_grad():
        clean, noisy = make_batch(cfg, gen)
        noisy_mag = to_spec(noisy)
        before = l1(noisy_mag, to_spec(clean))
        after = l1(net(noisy_mag) * noisy_mag, to_spec(clean))
    print(f"held-out L1: noisy {before:.4f}, denoised {after:.4f}")


if __name__ == "__main__":
    main(Config())
