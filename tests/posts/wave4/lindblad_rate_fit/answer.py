"""Fit decay rates and a Hamiltonian of a driven two level system to measured populations."""
import math

import torch
import torch.nn as nn


class TwoLevelModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("drive", nn.Parameter(torch.tensor([0.8, 0.1])))
        self.register_parameter("log_rates", nn.Parameter(torch.full((2,), -1.5)))
        self.readout = nn.Linear(3, 1)

    def generator(self):
        ox, oz = self.drive
        g1, g2 = self.log_rates.exp()
        zero = torch.zeros(())
        return torch.stack([
            torch.stack([-(g1 / 2 + g2), -oz, zero]),
            torch.stack([oz, -(g1 / 2 + g2), -ox]),
            torch.stack([zero, ox, -g1]),
        ])

    def forward(self, times):
        start = torch.tensor([0.0, 0.0, 1.0])
        props = torch.matrix_exp(self.generator()[None] * times[:, None, None])
        bloch = props @ start
        return self.readout(bloch).squeeze(-1)


class MeasuredTraces(torch.utils.data.Dataset):
    def __init__(self, n=90):
        g = torch.Generator().manual_seed(5)
        self.t = torch.rand(n, generator=g) * 10
        self.p = 0.5 + 0.5 * torch.exp(-0.25 * self.t) * torch.cos(math.tau * 0.2 * self.t)
        self.p = self.p + 0.02 * torch.randn(n, generator=g)

    def __len__(self):
        return len(self.t)

    def __getitem__(self, i):
        return self.t[i], self.p[i]


torch.manual_seed(0)
model = TwoLevelModel()
options = dict(params=list(model.parameters()), lr=5e-3, ridge=1e-2)

optimizer = torch.optim.Adam(options["params"], lr=options["lr"])
loader = torch.utils.data.DataLoader(MeasuredTraces(), batch_size=32, shuffle=True)

for epoch in range(3):
    fit_sum = loss_sum = 0.0
    for t, p in loader:
        fit = (model(t) - p).pow(2).mean()
        ridge = options["ridge"] * sum(w.pow(2).sum() for w in options["params"])
        loss = fit + ridge
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        fit_sum += fit.item()
        loss_sum += loss.item()
    print(f"epoch {epoch}: fit {fit_sum / len(loader):.4f}, loss {loss_sum / len(loader):.4f}")
