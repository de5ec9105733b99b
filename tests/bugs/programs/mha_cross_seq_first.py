import torch
from torch import nn


class Fusion(nn.Module):
    """Lets audio frames attend to the aligned video frames."""

    def __init__(self, dim, heads=4):
        super().__init__()
        self.cross = nn.MultiheadAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, audio, video):
        mixed, _ = self.cross(audio, video, video)
        audio = self.norm(audio + mixed)
        return audio + self.ff(audio)


class Model(nn.Module):
    def __init__(self, n_mels=12, n_pix=30, dim=20):
        super().__init__()
        self.audio = nn.Linear(n_mels, dim)
        self.video = nn.Linear(n_pix, dim)
        self.fusion = Fusion(dim)

    def forward(self, mels, frames):
        # both (batch, time, features)
        a = self.audio(mels)
        v = self.video(frames.flatten(2))
        return self.fusion(a, v)


def example_inputs():
    return torch.randn(3, 6, 12), torch.randn(3, 6, 5, 6)
