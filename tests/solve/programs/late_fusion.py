"""Audio and video features, aligned in time, joined and read by a GRU."""

import torch
from torch import nn


class AudioVisual(nn.Module):
    def __init__(self):
        super().__init__()
        self.audio = nn.Conv1d(8, 8, 3, padding=1)
        self.video = nn.Linear(12, 8)
        self.gru = nn.GRU(16, 8, batch_first=True)
        self.out = nn.Linear(8, 4)

    def forward(self, audio, video):
        a = self.audio(audio.transpose(1, 2))[:, :, ::2].transpose(1, 2)
        v = self.video(video)
        joined = torch.cat([a, v], dim=-1)
        states, _ = self.gru(joined)
        return self.out(states)
