# line 20: the deviation of the posterior is exp(logvar) in rsample while the divergence takes logvar for the log variance
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class TableVAE(nn.Module):
    def __init__(self, columns, latent, hidden=32):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(columns, hidden), nn.ReLU(), nn.Linear(hidden, latent * 2))
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, columns))

    def posterior(self, rows):
        centre, spread = torch.split(self.encode(rows), self.encode[-1].out_features // 2, dim=-1)
        return centre, spread

    def forward(self, rows):
        centre, spread = self.posterior(rows)
        code = Normal(centre, spread.exp()).rsample()
        return self.decode(code), centre, spread


def negative_elbo(rebuilt, rows, centre, spread):
    fit = F.mse_loss(rebuilt, rows, reduction="none").sum(1)
    rate = 0.5 * (centre**2 + spread.exp() - spread - 1).sum(1)
    return (fit + rate).mean()


torch.manual_seed(29)
mix = torch.randn(3, 12)
table = torch.randn(400, 3) @ mix + 0.1 * torch.randn(400, 12)
vae = TableVAE(12, 3)
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for epoch in range(6):
    running = 0.0
    for idx in torch.randperm(400).split(50):
        optimizer.zero_grad()
        rebuilt, centre, spread = vae(table[idx])
        loss = negative_elbo(rebuilt, table[idx], centre, spread)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    print(epoch, running / 400)
