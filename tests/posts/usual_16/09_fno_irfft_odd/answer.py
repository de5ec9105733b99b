"""Fourier neural operator, 1D heat equation: u(x, 0) -> u(x, T)"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

N_GRID = 101          # x = 0, 0.01, ..., 1
MODES = 12
WIDTH = 24
NU_T = 0.002


def make_dataset(n):
    x = torch.linspace(0, 1, N_GRID)
    k = torch.arange(1, 9).float()
    coef = torch.randn(n, 8) / k
    basis = torch.sin(torch.pi * k[:, None] * x[None, :])
    decay = torch.exp(-NU_T * (torch.pi * k) ** 2)
    u0 = coef @ basis
    uT = (coef * decay) @ basis
    grid = x.expand(n, -1)
    return torch.stack([u0, grid], dim=-1), uT


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, modes):
        super().__init__()
        self.out_channels = out_channels
        self.modes = modes
        scale = 1 / (in_channels * out_channels)
        self.weights = nn.Parameter(
            scale * torch.rand(in_channels, out_channels, modes, dtype=torch.cfloat)
        )

    def forward(self, x):
        x_ft = torch.fft.rfft(x)
        out_ft = torch.zeros(
            x.size(0), self.out_channels, x_ft.size(-1), dtype=torch.cfloat, device=x.device
        )
        out_ft[:, :, : self.modes] = torch.einsum(
            "bix,iox->box", x_ft[:, :, : self.modes], self.weights
        )
        return torch.fft.irfft(out_ft, n=x.size(-1))


class FNO1d(nn.Module):
    def __init__(self, modes, width, n_layers=3):
        super().__init__()
        self.lift = nn.Linear(2, width)
        self.spectral = nn.ModuleList([SpectralConv1d(width, width, modes) for _ in range(n_layers)])
        self.pointwise = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(n_layers)])
        self.proj1 = nn.Linear(width, 64)
        self.proj2 = nn.Linear(64, 1)

    def forward(self, a):
        x = self.lift(a).permute(0, 2, 1)
        for i, (spec, point) in enumerate(zip(self.spectral, self.pointwise)):
            x1 = spec(x)
            x2 = point(x)
            x = x1 + x2
            if i < len(self.spectral) - 1:
                x = F.gelu(x)
        x = x.permute(0, 2, 1)
        return self.proj2(F.gelu(self.proj1(x))).squeeze(-1)


def relative_l2(pred, target):
    return ((pred - target).norm(dim=1) / target.norm(dim=1)).mean()


train_loader = DataLoader(TensorDataset(*make_dataset(256)), batch_size=32, shuffle=True)
test_a, test_u = make_dataset(64)

model = FNO1d(MODES, WIDTH)
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)

for epoch in range(10):
    model.train()
    total = 0.0
    for a, u in train_loader:
        optimizer.zero_grad()
        loss = relative_l2(model(a), u)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        test = relative_l2(model(test_a), test_u).item()
    print(f"epoch {epoch + 1:2d}  train {total / len(train_loader):.4f}  test {test:.4f}")
