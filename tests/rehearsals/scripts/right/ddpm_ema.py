import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def swiss_roll(n):
    t = 1.5 * math.pi * (1 + 2 * torch.rand(n))
    return torch.stack([t * t.cos(), t * t.sin()], 1) / 8 + 0.05 * torch.randn(n, 2)


def extract(table, t, shape):
    return table.gather(0, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))


class Eps(nn.Module):
    def __init__(self, steps, width=64):
        super().__init__()
        self.time = nn.Embedding(steps, width)
        self.inp = nn.Linear(2, width)
        self.bn = nn.BatchNorm1d(width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.bn(self.mid(h))) + h)


class EMA:
    def __init__(self, model, decay):
        self.shadow, self.decay, self.updates = copy.deepcopy(model), decay, 0
        self.shadow.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - d)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--T', type=int, default=40)
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--batch', type=int, default=96)
    args = parser.parse_args()
    torch.manual_seed(0)
    betas = torch.linspace(1e-3, 0.1, args.T)
    alphas = 1 - betas
    bar = alphas.cumprod(0)
    loader = DataLoader(TensorDataset(swiss_roll(1000)), args.batch, shuffle=True)
    model = Eps(args.T)
    ema = EMA(model, 0.99)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    total, warm = args.epochs * len(loader), 10
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: (s + 1) / warm if s < warm else 0.5 * (1 + math.cos(math.pi * (s - warm) / (total - warm))))

    for epoch in range(args.epochs):
        model.train()
        losses = torch.zeros(len(loader))
        for i, (x0,) in enumerate(loader):
            t = torch.randint(args.T, (len(x0),))
            noise = torch.randn_like(x0)
            xt = extract(bar.sqrt(), t, x0.shape) * x0 + extract((1 - bar).sqrt(), t, x0.shape) * noise
            loss = F.mse_loss(model(xt, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            ema.update(model)
            losses[i] = loss.detach()
        print(f'epoch {epoch} loss {losses.mean():.4f} lr {scheduler.get_last_lr()[0]:.2e}')

    ema.shadow.eval()
    x = torch.randn(200, 2)
    with torch.no_grad():
        for i in range(args.T - 1, -1, -1):
            t = torch.full((len(x),), i)
            eps = ema.shadow(x, t)
            x = (x - betas[i] / (1 - bar[i]).sqrt() * eps) / alphas[i].sqrt()
            if i:
                x += betas[i].sqrt() * torch.randn_like(x)
    print('sample mean', x.mean(0).tolist(), 'std', x.std(0).tolist())


if __name__ == '__main__':
    main()
