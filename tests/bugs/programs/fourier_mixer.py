import torch
import torch.nn as nn


class SpectralMix(nn.Module):
    """Filters along time in the frequency domain."""

    def __init__(self, length, dim):
        super().__init__()
        n_freq = length // 2 + 1
        self.filter = nn.Parameter(torch.randn(n_freq, dim, 2) * 0.02)
        self.gate = nn.Linear(n_freq, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        spec = torch.fft.rfft(x, dim=1, norm="ortho")
        spec = spec * torch.view_as_complex(self.filter)
        y = torch.fft.irfft(spec, dim=1, norm="ortho")
        y = x + y
        g = torch.sigmoid(self.gate(self.norm(y)))
        return x + g * y


class Model(nn.Module):
    def __init__(self, length=31, n_series=4, dim=20):
        super().__init__()
        self.inp = nn.Linear(n_series, dim)
        self.mix = SpectralMix(length, dim)

    def forward(self, series):
        return self.mix(self.inp(series))


def example_inputs():
    # one month of daily values for four stores
    return (torch.randn(3, 31, 4),)
