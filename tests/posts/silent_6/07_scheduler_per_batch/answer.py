import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

T = 60
EPOCHS = 40
betas = torch.linspace(1e-4, 0.12, T)
alphas = 1.0 - betas
alpha_bar = torch.cumprod(alphas, dim=0)


def ring(n):
    angle = 2 * math.pi * torch.rand(n)
    radius = 1.5 + 0.05 * torch.randn(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)


class NoisePredictor(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.time = nn.Embedding(T, 32)
        self.net = nn.Sequential(
            nn.Linear(2 + 32, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, 2),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def q_sample(x0, t, noise):
    ab = alpha_bar[t].unsqueeze(1)
    return ab.sqrt() * x0 + (1 - ab).sqrt() * noise


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for step in reversed(range(T)):
        t = torch.full((n,), step)
        eps = model(x, t)
        x = (x - betas[step] / (1 - alpha_bar[step]).sqrt() * eps) / alphas[step].sqrt()
        if step > 0:
            x = x + betas[step].sqrt() * torch.randn_like(x)
    return x


def train(model, loader):
    opt = torch.optim.Adam(model.parameters(), lr=8e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=10, gamma=0.5)
    for epoch in range(EPOCHS):
        total, n = 0.0, 0
        for (x0,) in loader:
            t = torch.randint(0, T, (x0.size(0),))
            noise = torch.randn_like(x0)
            loss = ((model(q_sample(x0, t, noise), t) - noise) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * x0.size(0)
            n += x0.size(0)
        scheduler.step()
        if (epoch + 1) % 8 == 0:
            print(f"epoch {epoch + 1:2d}  noise mse {total / n:.4f}")


def main():
    torch.manual_seed(0)
    data = ring(3000)
    loader = DataLoader(TensorDataset(data), batch_size=100, shuffle=True)
    model = NoisePredictor()
    train(model, loader)
    model.eval()
    radius = sample(model, 1000).norm(dim=1)
    print(f"sample radius mean {radius.mean():.3f} std {radius.std():.3f} (data: mean 1.5, std 0.05)")


if __name__ == "__main__":
    main()
