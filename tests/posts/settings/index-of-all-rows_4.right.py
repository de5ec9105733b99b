# line 17: the stacked outputs of the heads, (heads, N), are indexed by the hospital of each row: all outputs of N heads come, (N, N)
import torch
from torch import nn


class MultiSiteNet(nn.Module):
    """One trunk, and a head of its own for each hospital."""

    def __init__(self, inputs=8, sites=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(32, 1) for _ in range(sites))

    def forward(self, x, site):
        h = self.trunk(x)
        per_site = torch.stack([head(h).squeeze(1) for head in self.heads])
        return per_site[site, torch.arange(len(site))]


class HuberTrainer:
    def __init__(self, model, delta=1.0):
        self.model, self.delta = model, delta
        self.opt = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss(self, prediction, stay):
        gap = (prediction - stay).abs()
        return torch.where(gap < self.delta, 0.5 * gap**2, self.delta * (gap - 0.5 * self.delta)).mean()

    def epoch(self, loader):
        total, seen = 0.0, 0
        for x, site, stay in loader:
            self.opt.zero_grad()
            loss = self.loss(self.model(x, site), stay)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(x)
            seen += len(x)
        return total / seen


torch.manual_seed(83)
x = torch.randn(640, 8)
site = torch.randint(4, (640,))
slopes = torch.randn(4, 8)
stay = (slopes[site] * x).sum(1) + 0.1 * torch.randn(640)
data = torch.utils.data.TensorDataset(x, site, stay)
loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
trainer = HuberTrainer(MultiSiteNet())
for epoch in range(8):
    print(f"epoch {epoch}: huber {trainer.epoch(loader):.4f}")
