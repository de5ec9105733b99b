import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

SR, N_FFT, HOP, N_MELS = 8000, 256, 80, 40
WORDS = ["up", "down", "stop"]


def mel_filterbank(n_mels=N_MELS, n_fft=N_FFT, sr=SR):
    def to_mel(f): return 2595 * np.log10(1 + f / 700)
    def to_hz(m): return 700 * (10 ** (m / 2595) - 1)
    pts = to_hz(np.linspace(to_mel(30), to_mel(sr / 2), n_mels + 2))
    freqs = np.linspace(0, sr / 2, n_fft // 2 + 1)
    up = (freqs[None] - pts[:-2, None]) / (pts[1:-1] - pts[:-2])[:, None]
    down = (pts[2:, None] - freqs[None]) / (pts[2:] - pts[1:-1])[:, None]
    return torch.tensor(np.maximum(0, np.minimum(up, down)), dtype=torch.float32)


class LogMel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("fb", mel_filterbank())
        self.register_buffer("window", torch.hann_window(N_FFT))

    def forward(self, wav):
        spec = torch.stft(wav, N_FFT, HOP, window=self.window, return_complex=True).abs().pow(2)
        return torch.log(self.fb @ spec + 1e-6)


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, pool):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.pool = nn.MaxPool2d(pool)

    def forward(self, x):
        return self.pool(F.relu(self.bn(self.conv(x))))


class CRNN(nn.Module):
    def __init__(self, n_classes, width=32, hidden=48):
        super().__init__()
        self.frontend = LogMel()
        self.blocks = nn.Sequential(
            ConvBlock(1, width, (2, 2)),
            ConvBlock(width, width, (2, 2)),
            ConvBlock(width, width, (2, 1)),
        )
        self.gru = nn.GRU(width * (N_MELS // 4), hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, wav):
        x = self.frontend(wav).unsqueeze(1)
        x = self.blocks(x)
        b, c, f, t = x.shape
        x = x.permute(0, 3, 1, 2).reshape(b, t, c * f)
        x, _ = self.gru(x)
        return self.fc(x.mean(dim=1))


def synth(n, rng):
    t = np.arange(SR // 2) / SR
    y = rng.integers(0, len(WORDS), n)
    slope = np.array([1200, -1200, 0])[y][:, None]
    f0 = rng.uniform(1400, 1800, (n, 1))
    wav = 0.3 * np.sin(2 * np.pi * (f0 * t + slope * t ** 2 / 2)) + 0.02 * rng.normal(size=(n, len(t)))
    return TensorDataset(torch.tensor(wav, dtype=torch.float32), torch.tensor(y))


def fit(model, train, valid, epochs=3):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for ep in range(epochs):
        model.train()
        tot = 0.0
        for wav, y in train:
            loss = F.cross_entropy(model(wav), y)
            opt.zero_grad(); loss.backward(); opt.step()
            tot += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            acc = sum((model(w).argmax(-1) == y).sum().item() for w, y in valid) / len(valid.dataset)
        print(f"ep {ep}  loss {tot / len(train.dataset):.4f}  acc {acc:.3f}")


torch.manual_seed(0)
rng = np.random.default_rng(0)
fit(CRNN(len(WORDS)),
    DataLoader(synth(192, rng), batch_size=16, shuffle=True),
    DataLoader(synth(64, rng), batch_size=32))
