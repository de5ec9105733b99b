import math

import torch
import torch.nn as nn

torch.manual_seed(0)


def spectral_loss(pred, target):
    """L1 distance of the magnitude spectra."""
    p = torch.fft.fft(pred, dim=-1)
    t = torch.fft.fft(target, dim=-1)
    return (p.abs() - t.abs()).abs().mean()


class Denoiser(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, ch, 9, padding=4),
            nn.ReLU(),
            nn.Conv1d(ch, ch, 9, padding=4),
            nn.ReLU(),
            nn.Conv1d(ch, 1, 9, padding=4),
        )

    def forward(self, x):
        return x + self.net(x)


def batch(n=16, length=256):
    t = torch.arange(length) / length
    f = torch.randint(2, 20, (n, 1))
    clean = torch.sin(2 * math.pi * f * t).unsqueeze(1)
    return clean + 0.3 * torch.randn_like(clean), clean


model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(20):
    noisy, clean = batch()
    out = model(noisy)
    loss = nn.functional.l1_loss(out, clean) + 0.05 * spectral_loss(out, clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(f"step {step} {loss.item():.4f}")
