import torch
from torch import nn


class ConvGRUCell(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.gates = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1)
        self.candidate = nn.Conv2d(2 * channels, channels, 3, padding=1)

    def forward(self, x, h):
        both = torch.cat([x, h], dim=1)
        reset, update = torch.sigmoid(self.gates(both)).chunk(2, dim=1)
        new = torch.tanh(self.candidate(torch.cat([x, reset * h], dim=1)))
        return (1 - update) * h + update * new


class VideoModel(nn.Module):
    """Reads a clip (B, T, 1, H, W) frame by frame at half the size."""

    def __init__(self, channels=4):
        super().__init__()
        self.channels = channels
        self.encode = nn.Conv2d(1, channels, 3, stride=2, padding=1)
        self.cell = ConvGRUCell(channels)
        self.decode = nn.ConvTranspose2d(channels, 1, 2, stride=2)

    def forward(self, clip):
        b, t, _, height, width = clip.shape
        h = clip.new_zeros(b, self.channels, height // 2, width // 2)
        frames = []
        for step in range(t):
            x = self.encode(clip[:, step])
            h = self.cell(x, h)
            frames.append(self.decode(h))
        return torch.stack(frames, dim=1)
