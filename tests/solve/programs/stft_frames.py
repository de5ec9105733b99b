"""Frames of a signal, padded by reflection as an STFT with center=True."""

import torch
import torch.nn.functional as F
from torch import nn


class FrameEncoder(nn.Module):
    def __init__(self, frame=16, hop=8, width=8):
        super().__init__()
        self.frame, self.hop = frame, hop
        self.register_buffer("window", torch.hann_window(frame))
        self.project = nn.Linear(frame, width)

    def forward(self, signal):
        half = self.frame // 2
        padded = F.pad(signal.unsqueeze(1), (half, half), mode="reflect")
        frames = padded.squeeze(1).unfold(-1, self.frame, self.hop)
        return self.project(frames * self.window)
