"""Speech-like denoising: predict a magnitude mask, resynthesise, and train on the waveform (SI-SDR)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SR, LENGTH = 8000, 4096
N_FFT, HOP = 256, 64


def harmonic_tone(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(LENGTH) / SR
    f0 = 100 + 200 * torch.rand(n, 1, generator=g)
    vibrato = 1 + 0.01 * torch.sin(2 * torch.pi * 5 * t)
    wave = sum(torch.sin(2 * torch.pi * k * f0 * vibrato * t) / k for k in range(1, 6))
    envelope = torch.sin(torch.pi * torch.arange(LENGTH) / LENGTH)
    clean = 0.3 * wave * envelope
    noisy = clean + 0.15 * torch.randn(n, LENGTH, generator=g)
    return noisy, clean


class Spectral(nn.Module):
    """STFT / inverse STFT pair with a fixed Hann window."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(N_FFT))

    def analyse(self, wave):
        return torch.stft(
            wave, N_FFT, hop_length=HOP, window=self.window, center=True, return_complex=True
        )

    def synthesise(self, spec):
        return torch.istft(
            spec, N_FFT, hop_length=HOP, window=self.window, center=True, length=LENGTH
        )


class MaskNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        bins = N_FFT // 2 + 1
        self.stft = Spectral()
        self.norm = nn.LayerNorm(bins)
        self.rnn = nn.GRU(bins, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, bins)

    def forward(self, noisy):
        spec = self.stft.analyse(noisy)
        mag = torch.log1p(spec.abs()).transpose(1, 2)
        hidden, _ = self.rnn(self.norm(mag))
        mask = torch.sigmoid(self.out(hidden)).transpose(1, 2)
        return self.stft.synthesise(spec * mask)


def si_sdr(estimate, target, eps=1e-8):
    estimate = estimate - estimate.mean(-1, keepdim=True)
    target = target - target.mean(-1, keepdim=True)
    scale = (estimate * target).sum(-1, keepdim=True) / (target.pow(2).sum(-1, keepdim=True) + eps)
    projection = scale * target
    noise = estimate - projection
    return 10 * torch.log10(projection.pow(2).sum(-1) / (noise.pow(2).sum(-1) + eps) + eps)


def main():
    torch.manual_seed(1)
    train = DataLoader(TensorDataset(*harmonic_tone(160, seed=0)), batch_size=16, shuffle=True)
    noisy_test, clean_test = harmonic_tone(24, seed=1)
    print(f"input SI-SDR {si_sdr(noisy_test, clean_test).mean():.2f} dB")

    net = MaskNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(4):
        net.train()
        for noisy, clean in train:
            loss = -si_sdr(net(noisy), clean).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
        net.eval()
        with torch.no_grad():
            score = si_sdr(net(noisy_test), clean_test).mean()
        print(f"epoch {epoch} test SI-SDR {score:.2f} dB")


if __name__ == "__main__":
    main()
