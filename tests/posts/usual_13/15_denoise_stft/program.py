import math
import random

import torch
import torch.nn as nn

SR, N_FFT, HOP = 8000, 256, 64


def synth_voice(seconds=1.0):
    t = torch.arange(int(SR * seconds)) / SR
    f0 = random.uniform(90, 220)
    sig = sum(torch.sin(2 * math.pi * f0 * k * t + random.random()) / k for k in range(1, 8))
    env = 0.5 + 0.5 * torch.sin(2 * math.pi * random.uniform(2, 5) * t)
    return 0.2 * sig * env


def mix(clean, snr_db):
    noise = torch.randn_like(clean)
    scale = clean.pow(2).mean().sqrt() / (noise.pow(2).mean().sqrt() * 10 ** (snr_db / 20))
    return clean + scale * noise


class MaskNet(nn.Module):
    def __init__(self, n_freq=N_FFT // 2 + 1, hidden=96):
        super().__init__()
        self.rnn = nn.GRU(n_freq, hidden, num_layers=2, batch_first=True)
        self.mask = nn.Sequential(nn.Linear(hidden, n_freq), nn.Sigmoid())

    def forward(self, mag):
        h, _ = self.rnn(torch.log1p(mag).transpose(1, 2))
        return self.mask(h).transpose(1, 2)


class Enhancer:
    def __init__(self, lr):
        self.window = torch.hann_window(N_FFT)
        self.net = MaskNet()
        self.optim = torch.optim.Adam(self.net.parameters(), lr=lr)

    def spectrum(self, wav):
        spec = torch.stft(wav, N_FFT, HOP, window=self.window)
        return spec

    def enhance(self, wav):
        spec = self.spectrum(wav)
        return torch.istft(spec * self.net(spec.abs()), N_FFT, HOP, window=self.window, length=wav.shape[-1])

    def train_step(self, noisy, clean):
        self.net.train()
        out = self.enhance(noisy)
        loss = (out - clean).abs().mean() + (self.spectrum(out).abs() - self.spectrum(clean).abs()).abs().mean()
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.item()

    @torch.no_grad()
    def snr(self, noisy, clean):
        self.net.eval()
        err = self.enhance(noisy) - clean
        return (10 * torch.log10(clean.pow(2).sum(-1) / err.pow(2).sum(-1))).mean().item()


def batch(n):
    clean = torch.stack([synth_voice() for _ in range(n)])
    noisy = torch.stack([mix(c, random.uniform(0, 10)) for c in clean])
    return noisy, clean


if __name__ == '__main__':
    random.seed(0)
    torch.manual_seed(0)
    enhancer = Enhancer(lr=3e-3)
    test_noisy, test_clean = batch(8)
    print('SNR before: %.2f dB' % enhancer.snr(test_noisy, test_clean))
    for step in range(30):
        loss = enhancer.train_step(*batch(6))
        if step % 10 == 9:
            print('step %d  loss %.4f  SNR %.2f dB' % (step + 1, loss, enhancer.snr(test_noisy, test_clean)))
