import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class RadarGates(Dataset):
    """Radar reflectivity profile -> rain rate, with a quality index for every gauge."""

    def __init__(self, n=600):
        g = torch.Generator().manual_seed(11)
        self.profile = torch.rand(n, 24, generator=g)
        self.rate = (self.profile[:, :6].sum(1) ** 1.4) + 0.1 * torch.randn(n, generator=g)
        self.quality = torch.rand(n, generator=g)

    def __len__(self):
        return len(self.rate)

    def __getitem__(self, i):
        return self.profile[i], self.rate[i], self.quality[i]


class RainNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(24, 64), nn.GELU(),
            nn.Linear(64, 64), nn.GELU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


class WeightedHuber(nn.Module):
    def __init__(self, beta=0.5, eps=1e-3):
        super().__init__()
        self.base = nn.SmoothL1Loss(beta=beta, reduction="none")
        self.eps = eps

    def forward(self, pred, target, weight):
        loss = self.base(pred, target)
        weight = weight / (weight.mean() + self.eps)
        return (loss * weight).mean()


torch.manual_seed(0)
loader = DataLoader(RadarGates(), batch_size=50, shuffle=True)
model = RainNet()
criterion = WeightedHuber()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)

for epoch in range(4):
    history = []
    for profile, rate, quality in loader:
        optimizer.zero_grad()
        pred = model(profile)
        loss = criterion(pred, rate, quality)
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
    scheduler.step()
    print(f"epoch {epoch}  loss {torch.stack(history).mean():.4f}")
