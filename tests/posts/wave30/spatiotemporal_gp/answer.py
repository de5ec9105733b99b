import math

import torch
import torch.nn as nn

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)


class ARDKernel(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(dims))
        self.log_signal = nn.Parameter(torch.tensor(0.0))

    def forward(self, a, b):
        a = a / self.log_scale.exp()
        b = b / self.log_scale.exp()
        d2 = (a[:, None, :] - b[None, :, :]).pow(2).sum(-1)
        return self.log_signal.exp() * torch.exp(-0.5 * d2)


class SpaceTimeGP(nn.Module):
    """Kronecker GP: one kernel over the stations, one over the hours."""

    def __init__(self, space_dims, time_dims=1):
        super().__init__()
        self.k_space = ARDKernel(space_dims)
        self.k_time = ARDKernel(time_dims)
        self.noise = nn.Parameter(torch.tensor(-2.0).exp())

    def eig(self, xs, xt):
        ks = self.k_space(xs, xs) + 1e-8 * torch.eye(len(xs))
        kt = self.k_time(xt, xt) + 1e-8 * torch.eye(len(xt))
        return torch.linalg.eigh(ks), torch.linalg.eigh(kt)

    def neg_log_likelihood(self, xs, xt, y):
        (ls, us), (lt, ut) = self.eig(xs, xt)
        spectrum = ls[:, None] * lt[None, :] + self.noise
        rotated = us.T @ y @ ut
        quad = (rotated.pow(2) / spectrum).sum()
        return 0.5 * (quad + spectrum.log().sum() + y.numel() * math.log(2 * math.pi))

    def predict(self, xs, xt, y, new_xs):
        (ls, us), (lt, ut) = self.eig(xs, xt)
        alpha = us @ ((us.T @ y @ ut) / (ls[:, None] * lt[None, :] + self.noise)) @ ut.T
        return self.k_space(new_xs, xs) @ alpha @ self.k_time(xt, xt)


def make_field(stations=18, hours=24):
    xs = torch.rand(stations, 2) * 4
    xt = torch.linspace(0, 3, hours)[:, None]
    clean = torch.sin(xs[:, :1] + xt.T) * torch.cos(xs[:, 1:])
    return xs, xt, clean + 0.1 * torch.randn(stations, hours)


xs, xt, y = make_field()
train_xs, test_xs = xs[:15], xs[15:]
train_y, test_y = y[:15], y[15:]

model = SpaceTimeGP(space_dims=2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for it in range(40):
    optimizer.zero_grad()
    nll = model.neg_log_likelihood(train_xs, xt, train_y)
    nll.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it:3d} nll {nll.item():.3f} noise {model.noise.item():.4f}")

with torch.no_grad():
    mean = model.predict(train_xs, xt, train_y, test_xs)
    print("rmse on left-out stations", (mean - test_y).pow(2).mean().sqrt().item())
