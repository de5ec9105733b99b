import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class MFCC(nn.Module):
    def __init__(self, sample_rate=16000, n_mfcc=40, n_fft=400, hop=200, n_mels=64):
        super().__init__()
        self.n_fft = n_fft
        self.hop = hop
        self.register_buffer("window", torch.hann_window(n_fft))
        mel_max = 2595 * math.log10(1 + sample_rate / 2 / 700)
        hz = 700 * (10 ** (torch.linspace(0, mel_max, n_mels + 2) / 2595) - 1)
        freqs = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1)
        up = (freqs[None] - hz[:-2, None]) / (hz[1:-1, None] - hz[:-2, None])
        down = (hz[2:, None] - freqs[None]) / (hz[2:, None] - hz[1:-1, None])
        self.register_buffer("mel", torch.minimum(up, down).clamp(min=0))
        n = torch.arange(n_mels) + 0.5
        k = torch.arange(n_mfcc)
        self.register_buffer("dct", torch.cos(math.pi / n_mels * k[:, None] * n[None]))

    def forward(self, wave):
        spec = torch.stft(wave, self.n_fft, self.hop, window=self.window, return_complex=True).abs() ** 2
        mel = torch.log(self.mel @ spec + 1e-6)
        return self.dct @ mel


class ImageEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GELU())
        self.proj = nn.Linear(64, dim)

    def forward(self, x):
        return self.proj(self.conv(x).mean(dim=(2, 3)))


class AudioEncoder(nn.Module):
    def __init__(self, dim, sample_rate=16000):
        super().__init__()
        self.mfcc_transform = MFCC(sample_rate, n_mfcc=40)
        self.conv = nn.Sequential(
            nn.Conv1d(40, 64, kernel_size=3, padding=1), nn.ReLU(),
            nn.Conv1d(64, 128, kernel_size=3, stride=2, padding=1), nn.ReLU())
        self.proj = nn.Linear(128, dim)

    def forward(self, wave):
        feats = self.mfcc_transform(wave)
        out = self.conv(feats)
        return self.proj(out.mean(dim=-1))


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=2 * dim, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)

    def forward(self, ids):
        return self.encoder(self.embed(ids)).mean(dim=1)


class Agent(nn.Module):
    def __init__(self, vocab=1000, dim=64, actions=6):
        super().__init__()
        self.text = TextEncoder(vocab, dim)
        self.image = ImageEncoder(dim)
        self.audio = AudioEncoder(dim)
        self.fuse = nn.Sequential(nn.Linear(3 * dim, dim), nn.GELU(), nn.LayerNorm(dim))
        self.policy = nn.Linear(dim, actions)
        self.value = nn.Linear(dim, 1)

    def forward(self, text, image, audio):
        z = torch.cat([self.text(text), self.image(image), self.audio(audio)], dim=-1)
        z = self.fuse(z)
        return self.policy(z), self.value(z)


if __name__ == "__main__":
    agent = Agent()
    text = torch.randint(0, 1000, (1, 12))
    image = torch.rand(1, 3, 64, 64)
    audio = torch.randn(1, 16000)
    logits, value = agent(text, image, audio)
    print(logits.shape, value.shape)
