# line 32: the squared error of the series is a mean over everything while the divergence is a sum over everything
import numpy as np
import torch
from torch import nn

np.random.seed(2)
torch.manual_seed(2)


class SeriesVAE(nn.Module):
    def __init__(self, length, code=4, hidden=24):
        super().__init__()
        self.read = nn.GRU(1, hidden, batch_first=True)
        self.to_mu, self.to_lv = nn.Linear(hidden, code), nn.Linear(hidden, code)
        self.write = nn.Sequential(nn.Linear(code, 48), nn.ELU(), nn.Linear(48, length))

    def sample(self, mu, lv):
        return torch.addcmul(mu, torch.exp(lv / 2), torch.randn_like(mu))

    def forward(self, series):
        _, h = self.read(series.unsqueeze(-1))
        mu, lv = self.to_mu(h[0]), self.to_lv(h[0])
        return self.write(self.sample(mu, lv)), mu, lv


def gaussian_kl(mu, lv):
    inner = lv.exp() + mu.square() - 1.0 - lv
    return torch.sum(inner) / 2


def objective(series, rebuilt, mu, lv):
    distortion = torch.square(series - rebuilt).mean()
    return distortion + gaussian_kl(mu, lv)


t = np.linspace(0, 4, 40)
load = np.stack([np.sin(np.random.uniform(1, 3) * t + np.random.rand()) for _ in range(160)])
load = torch.tensor(load, dtype=torch.float32)
model = SeriesVAE(40)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    for idx in torch.randperm(160).split(40):
        rebuilt, mu, lv = model(load[idx])
        loss = objective(load[idx], rebuilt, mu, lv)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.3f} spread of mu {mu.std().item():.3f}")
