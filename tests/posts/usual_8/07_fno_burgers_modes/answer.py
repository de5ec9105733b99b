import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)

################################################################
#  1d Fourier neural operator, viscous Burgers' equation
################################################################


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, modes1):
        super(SpectralConv1d, self).__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.modes1 = modes1
        self.scale = 1 / (in_channels * out_channels)
        self.weights1 = nn.Parameter(
            self.scale * torch.rand(in_channels, out_channels, self.modes1, dtype=torch.cfloat))

    def compl_mul1d(self, input, weights):
        return torch.einsum("bix,iox->box", input, weights)

    def forward(self, x):
        batchsize = x.shape[0]
        x_ft = torch.fft.rfft(x)
        out_ft = torch.zeros(batchsize, self.out_channels, x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        out_ft[:, :, :self.modes1] = self.compl_mul1d(x_ft[:, :, :self.modes1], self.weights1)
        return torch.fft.irfft(out_ft, n=x.size(-1))


class FNO1d(nn.Module):
    def __init__(self, modes, width):
        super(FNO1d, self).__init__()
        self.fc0 = nn.Linear(2, width)
        self.convs = nn.ModuleList([SpectralConv1d(width, width, modes) for _ in range(3)])
        self.ws = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(3)])
        self.fc1 = nn.Linear(width, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, x):
        grid = self.get_grid(x.shape[0], x.shape[1], x.device)
        x = self.fc0(torch.cat((x, grid), dim=-1))
        x = x.permute(0, 2, 1)
        for conv, w in zip(self.convs, self.ws):
            x = F.gelu(conv(x) + w(x))
        x = x.permute(0, 2, 1)
        return self.fc2(F.gelu(self.fc1(x)))

    def get_grid(self, batchsize, size_x, device):
        gridx = torch.linspace(0, 1, size_x, device=device)
        return gridx.reshape(1, size_x, 1).repeat(batchsize, 1, 1)


def burgers(u, nu=0.01, t=0.3, steps=600):
    """Periodic finite differences; u of shape (samples, points)."""
    dx, dt = 1.0 / u.shape[1], t / steps
    for _ in range(steps):
        ux = (np.roll(u, -1, 1) - np.roll(u, 1, 1)) / (2 * dx)
        uxx = (np.roll(u, -1, 1) - 2 * u + np.roll(u, 1, 1)) / dx ** 2
        u = u + dt * (nu * uxx - u * ux)
    return u


def random_fields(n, points):
    x = np.arange(points) / points
    u = np.zeros((n, points))
    for k in range(1, 5):
        u += np.random.randn(n, 1) / k * np.sin(2 * np.pi * k * x + 2 * np.pi * np.random.rand(n, 1)) * 0.4
    return u


################################################################
#  configuration
################################################################
ntrain, ntest = 200, 40
sub = 4
modes, width = 12, 32
batch_size, epochs, learning_rate = 20, 4, 2e-3

a = random_fields(ntrain + ntest, 128)
u = burgers(a)
a = torch.tensor(a[:, ::sub], dtype=torch.float32).unsqueeze(-1)
u = torch.tensor(u[:, ::sub], dtype=torch.float32).unsqueeze(-1)

train_loader = DataLoader(TensorDataset(a[:ntrain], u[:ntrain]), batch_size=batch_size, shuffle=True)
test_loader = DataLoader(TensorDataset(a[ntrain:], u[ntrain:]), batch_size=batch_size)

model = FNO1d(modes, width)
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)


def rel_l2(pred, true):
    diff = (pred - true).flatten(1).norm(dim=1)
    return (diff / true.flatten(1).norm(dim=1)).sum()


for ep in range(epochs):
    model.train()
    train_l2 = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = rel_l2(model(x), y)
        loss.backward()
        optimizer.step()
        train_l2 += loss.item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        test_l2 = sum(rel_l2(model(x), y).item() for x, y in test_loader)
    print(ep, train_l2 / ntrain, test_l2 / ntest)
