import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

T, N_CLASSES, P_UNCOND = 60, 5, 0.2
betas = torch.linspace(1e-3, 0.12, T)
alphas = 1 - betas
alpha_bar = torch.cumprod(alphas, dim=0)


def make_data(n):
    y = torch.randint(0, N_CLASSES, (n,))
    angle = 2 * torch.pi * y / N_CLASSES
    centre = torch.stack([angle.cos(), angle.sin()], dim=1) * 1.6
    return centre + 0.15 * torch.randn(n, 2), y


class Denoiser(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.label_emb = nn.Embedding(N_CLASSES, 32)
        self.time_emb = nn.Embedding(T, 32)
        self.net = nn.Sequential(
            nn.Linear(2 + 64, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2)
        )

    def forward(self, x, t, y):
        return self.net(torch.cat([x, self.time_emb(t), self.label_emb(y)], dim=1))


def drop_labels(y):
    drop = torch.rand(len(y)) < P_UNCOND
    return torch.where(drop, torch.zeros_like(y), y)


@torch.no_grad()
def sample(model, y, scale):
    x = torch.randn(len(y), 2)
    null = torch.zeros_like(y)
    for i in reversed(range(T)):
        t = torch.full((len(y),), i)
        eps_c, eps_u = model(x, t, y), model(x, t, null)
        eps = eps_u + scale * (eps_c - eps_u)
        x = (x - betas[i] / (1 - alpha_bar[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


def fidelity(x, y):
    angle = 2 * torch.pi * torch.arange(N_CLASSES) / N_CLASSES
    centres = torch.stack([angle.cos(), angle.sin()], dim=1) * 1.6
    hit = torch.cdist(x, centres).argmin(1) == y
    return [round(hit[y == c].float().mean().item(), 2) for c in range(N_CLASSES)]


torch.manual_seed(0)
loader = DataLoader(TensorDataset(*make_data(4000)), batch_size=200, shuffle=True)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(30):
    total = 0.0
    for x0, y in loader:
        t = torch.randint(0, T, (len(x0),))
        noise = torch.randn_like(x0)
        ab = alpha_bar[t].unsqueeze(1)
        xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
        loss = (model(xt, t, drop_labels(y)) - noise).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 10 == 9:
        labels = torch.arange(N_CLASSES).repeat_interleave(100)
        samples = sample(model, labels, scale=2.0)
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}  fidelity per class {fidelity(samples, labels)}")
