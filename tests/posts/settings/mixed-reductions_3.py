# line 46: the divergence of the distributions is averaged over everything while nn.BCELoss sums over samples and pixels
import torch
import torch.nn as nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader


class Squares(torch.utils.data.Dataset):
    def __init__(self, n, side=10):
        self.n, self.side = n, side

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        top, left = torch.randint(0, self.side - 4, (2,), generator=g).tolist()
        picture = torch.zeros(1, self.side, self.side)
        picture[:, top : top + 4, left : left + 4] = 1.0
        return picture


class ConvVAE(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 4, 2), nn.ReLU(), nn.Flatten())
        self.loc, self.raw_scale = nn.Linear(128, latent), nn.Linear(128, latent)
        self.up = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 100), nn.Sigmoid())

    def posterior(self, x):
        h = self.down(x)
        return Normal(self.loc(h), nn.functional.softplus(self.raw_scale(h)) + 1e-4)

    def forward(self, x):
        q = self.posterior(x)
        return self.up(q.rsample()).view_as(x), q


class NegativeELBO(nn.Module):
    def __init__(self):
        super().__init__()
        self.pixels = nn.BCELoss(reduction="sum")

    def forward(self, picture, x, q):
        prior = Normal(torch.zeros_like(q.loc), torch.ones_like(q.scale))
        return self.pixels(picture, x) + kl_divergence(q, prior).mean()


torch.manual_seed(0)
vae, bound = ConvVAE(), NegativeELBO()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
data = Squares(320)
for epoch in range(5):
    vae.train()
    total = 0.0
    for x in DataLoader(data, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        picture, q = vae(x)
        loss = bound(picture, x, q)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(data))
vae.eval()
with torch.no_grad():
    q = vae.posterior(torch.stack([data[i] for i in range(100)]))
    print("posterior means: std", q.loc.std(0).tolist(), "scale", q.scale.mean().item())
