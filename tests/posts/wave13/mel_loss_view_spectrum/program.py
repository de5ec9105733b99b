import math

import torch
import torch.nn as nn
import torch.nn.functional as F

fs = 8000
win_len, win_inc, fft_len = 256, 128, 256
n_mels = 24
torch.manual_seed(0)


def mel_filterbank(n_freq, n_mels, sr):
    """triangles on the mel scale, shape (n_freq, n_mels)"""
    to_mel = lambda f: 2595 * math.log10(1 + f / 700)
    points = torch.linspace(to_mel(60.0), to_mel(sr / 2), n_mels + 2)
    edges = 700 * (10 ** (points / 2595) - 1)
    freqs = torch.linspace(0, sr / 2, n_freq).unsqueeze(1)
    up = (freqs - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - freqs) / (edges[2:] - edges[1:-1])
    return torch.clamp(torch.minimum(up, down), min=0)


def speech_like(n, length=fs):
    """harmonics with a moving pitch and pauses, plus the same with noise"""
    t = torch.arange(length) / fs
    clean = []
    for _ in range(n):
        f0 = 110 + 90 * torch.rand(1) + 15 * torch.sin(2 * math.pi * (1 + torch.rand(1)) * t)
        phase = torch.cumsum(2 * math.pi * f0 / fs, dim=0)
        voice = sum(torch.sin(k * phase) / k for k in range(1, 12))
        gate = (torch.sin(2 * math.pi * 2.5 * t + 6.28 * torch.rand(1)) > -0.3).float()
        clean.append(0.2 * voice * gate)
    clean = torch.stack(clean)
    return clean, clean + 0.12 * torch.randn_like(clean)


class ConvSTFT(nn.Module):
    def __init__(self):
        super().__init__()
        basis = torch.fft.rfft(torch.eye(fft_len))[:win_len]
        kernel = torch.cat([basis.real, basis.imag], dim=1).T * torch.hann_window(win_len)
        self.register_buffer('kernel', kernel.unsqueeze(1))

    def forward(self, wav):
        out = F.conv1d(wav.unsqueeze(1), self.kernel, stride=win_inc)
        real, imag = out.chunk(2, dim=1)
        return torch.sqrt(real ** 2 + imag ** 2 + 1e-8)


class PerceptualTransform(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('mel', mel_filterbank(fft_len // 2 + 1, n_mels, fs))

    def forward(self, x):
        # (..., freq, time)
        x_shape = x.size()
        x = x.view(-1, x_shape[-1], x_shape[-2])
        mel = torch.matmul(x, self.mel)
        return torch.log(mel + 1e-4)


class PerceptualLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.transform = PerceptualTransform()

    def forward(self, clean_mag, out_mag):
        clean_mel = self.transform(clean_mag)
        out_mel = self.transform(out_mag)
        return (clean_mel - out_mel).abs().mean()


class MaskNet(nn.Module):
    def __init__(self, n_freq=fft_len // 2 + 1, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(n_freq, hidden, 5, padding=2), nn.PReLU(),
            nn.Conv1d(hidden, hidden, 5, padding=2), nn.PReLU(),
            nn.Conv1d(hidden, n_freq, 1), nn.Sigmoid())

    def forward(self, mag):
        return self.net(torch.log(mag + 1e-3))


def log_spectral_distance(a, b):
    diff = 20 * (torch.log10(a + 1e-2) - torch.log10(b + 1e-2))
    return diff.pow(2).mean(dim=1).sqrt().mean().item()


def train():
    stft, model, perceptual_loss = ConvSTFT(), MaskNet(), PerceptualLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    clean_val, noisy_val = (stft(w) for w in speech_like(8))
    for epoch in range(1, 9):
        model.train()
        for _ in range(5):
            clean_mag, noisy_mag = (stft(w) for w in speech_like(8))
            enhanced = model(noisy_mag) * noisy_mag
            main_loss = (enhanced - clean_mag).pow(2).mean()
            p_loss = perceptual_loss(clean_mag, enhanced)
            loss = 0.2 * main_loss + p_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            lsd = log_spectral_distance(model(noisy_val) * noisy_val, clean_val)
        print('EPOCH[{}] main {:.4f} perceptual {:.4f} | val LSD {:.2f} dB'.format(
            epoch, main_loss.item(), p_loss.item(), lsd))


if __name__ == '__main__':
    train()
