# line 26: addcmul multiplies the noise with logvar.exp(), the variance, although the divergence takes logvar for its logarithm
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConditionalVAE(nn.Module):
    """Draws rows of a table for a given group."""

    def __init__(self, columns, groups, latent=2):
        super().__init__()
        self.groups, self.latent = groups, latent
        self.enc = nn.Sequential(nn.Linear(columns + groups, 32), nn.ELU(), nn.Linear(32, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent + groups, 32), nn.ELU(), nn.Linear(32, columns))

    def encode(self, row, group):
        return self.enc(torch.cat([row, F.one_hot(group, self.groups)], dim=1)).chunk(2, dim=1)

    def decode(self, z, group):
        return self.dec(torch.cat([z, F.one_hot(group, self.groups)], dim=1))

    def forward(self, row, group):
        mu, logvar = self.encode(row, group)
        spread = logvar.mul(0.5).exp()
        z = torch.addcmul(mu, torch.randn_like(mu), spread)
        error = F.mse_loss(self.decode(z, group), row, reduction="none").sum(1)
        kl = 0.5 * (mu**2 + logvar.exp() - logvar - 1).sum(1)
        return (error + kl).mean()


def people(n, seed):
    r = np.random.default_rng(seed)
    group = r.integers(0, 3, n)
    base = r.normal(size=(n, 2))
    mixing = np.array([[1.0, 0.5, -0.3, 0.8], [0.2, -1.0, 0.7, 0.4]])
    rows = 2 * base @ mixing + group[:, None] + 0.1 * r.normal(size=(n, 4))
    return TensorDataset(torch.tensor(rows, dtype=torch.float32), torch.tensor(group))


torch.manual_seed(0)
model = ConditionalVAE(4, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
train = people(800, 0)
for epoch in range(8):
    model.train()
    running = 0.0
    for row, group in DataLoader(train, batch_size=40, shuffle=True):
        optimizer.zero_grad()
        loss = model(row, group)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(row)
    print(epoch, round(running / len(train), 3))

model.eval()
with torch.no_grad():
    group = torch.randint(0, 3, (1000,))
    drawn = model.decode(torch.randn(1000, 2), group)
print("std of columns", drawn.std(0).tolist(), "in the data", train.tensors[0].std(0).tolist())
