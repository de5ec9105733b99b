# line 18: the Jacobian of the contractive penalty is computed by functional.jacobian without create_graph and is a constant
import torch
import torch.nn as nn
from torch.autograd.functional import jacobian


class ContractiveAutoencoder(nn.Module):
    def __init__(self, n_in=10, n_hidden=4):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n_in, 16), nn.Tanh(), nn.Linear(16, n_hidden))
        self.decode = nn.Sequential(nn.Linear(n_hidden, 16), nn.Tanh(), nn.Linear(16, n_in))

    def forward(self, x):
        return self.decode(self.encode(x))

    def sensitivity(self, x):
        """Mean squared Frobenius norm of d code / d input."""
        table = jacobian(lambda rows: self.encode(rows).sum(0), x)
        return table.pow(2).sum(dim=(0, 2)).mean()


def sensors(n):
    hidden = torch.rand(n, 2) * 6.28
    waves = torch.cat([hidden.sin(), hidden.cos(), (2 * hidden).sin()], dim=1)
    mix = torch.linspace(-1, 1, 60).view(6, 10).sin()
    return waves @ mix + 0.05 * torch.randn(n, 10)


def train(model, data, strength, epochs=8):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        model.train()
        sums = [0.0, 0.0]
        for idx in torch.randperm(len(data)).split(32):
            x = data[idx]
            fit = nn.functional.mse_loss(model(x), x)
            penalty = model.sensitivity(x)
            opt.zero_grad()
            (fit + strength * penalty).backward()
            opt.step()
            sums[0] += fit.item() * len(x)
            sums[1] += penalty.item() * len(x)
        print(epoch, [round(s / len(data), 4) for s in sums])


torch.manual_seed(0)
cae = ContractiveAutoencoder()
train(cae, sensors(512), strength=0.1)
cae.eval()
with torch.no_grad():
    x = sensors(100)
    print("rebuilt", nn.functional.mse_loss(cae(x), x).item())
