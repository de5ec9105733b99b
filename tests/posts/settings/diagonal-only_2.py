# line 22: the letter of the input channels is also that of the output channels, so the mixing of channels scales each by a diagonal element
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)


class SpectralMix(nn.Module):
    def __init__(self, channels, modes):
        super().__init__()
        scale = 1 / channels
        self.modes = modes
        self.mix = nn.Parameter(scale * torch.rand(channels, channels, modes, 2))

    def forward(self, signal):
        n = signal.shape[-1]
        spectrum = torch.fft.rfft(signal, norm="ortho")[..., : self.modes]
        kernel = torch.view_as_complex(self.mix)
        mixed = torch.einsum("bim,iim->bim", spectrum, kernel)
        return torch.fft.irfft(mixed, n=n, norm="ortho")


class FourierOperator(nn.Module):
    def __init__(self, width=8, modes=6, depth=2):
        super().__init__()
        self.lift = nn.Conv1d(1, width, 1)
        self.spectral = nn.ModuleList(SpectralMix(width, modes) for _ in range(depth))
        self.local = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(depth))
        self.project = nn.Conv1d(width, 1, 1)

    def forward(self, u):
        u = self.lift(u)
        for spectral, local in zip(self.spectral, self.local):
            u = torch.nn.functional.gelu(spectral(u) + local(u))
        return self.project(u)


grid = torch.linspace(0, 2 * math.pi, 32)
phase = torch.rand(128, 1, 1) * 2 * math.pi
before, after = torch.sin(grid + phase), torch.cos(grid + phase)
loader = DataLoader(TensorDataset(before, after), batch_size=32, shuffle=True)
operator = FourierOperator()
opt = torch.optim.Adam(operator.parameters(), lr=5e-3)
for epoch in range(5):
    for u0, u1 in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(operator(u0), u1)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
