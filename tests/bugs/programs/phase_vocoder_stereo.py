from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class VocoderConfig:
    window: int = 32
    hop: int = 8
    mid_side: bool = True


class Model(nn.Module):
    def __init__(self, cfg=VocoderConfig()):
        super().__init__()
        self.cfg = cfg
        self.register_buffer("hann", torch.hann_window(cfg.window))
        self.tilt = nn.Parameter(torch.ones(cfg.window // 2 + 1, 2))
        self.balance = nn.Parameter(torch.tensor([[0.5, 0.5], [0.5, -0.5]]))

    def spectrum(self, x):
        frames = x.unfold(-1, self.cfg.window, self.cfg.hop) * self.hann
        return torch.fft.rfft(frames) * torch.view_as_complex(self.tilt)

    def forward(self, stereo):
        if self.cfg.mid_side:
            stereo = torch.einsum("oc,bct->bot", self.balance, stereo)
        spec = self.spectrum(stereo)
        magnitude = spec.abs().clamp_min(1e-5).log()

        # even and odd samples, one shifted by a step: the length stays
        even, odd = stereo.unflatten(-1, (-1, 2)).unbind(-1)
        mono = torch.stack((even, odd.roll(1, dims=-1)), -1).flatten(-2).mean(1)

        # each channel twice along the batch: in order, and backwards
        doubled = torch.cat([stereo, stereo.flip(-1)])
        halves = doubled.view(-1, 2, 2, 32).sum(-2)
        return magnitude, mono, halves


def example_inputs():
    return (torch.randn(4, 2, 64),)
