import math
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader


class Config:
    micro_batch = 12
    accumulation = 4
    epochs = 4
    lr = 4e-3
    clip = 1.0


def make_loader(cfg, n, seed, shuffle):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=g)
    y = torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.1 * torch.randn(n, 1, generator=g)
    return DataLoader(TensorDataset(x, y), cfg.micro_batch, shuffle=shuffle)


def build():
    return nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def lr_at(step, total, base):
    warm = max(1, total // 10)
    if step < warm:
        return base * (step + 1) / warm
    return base * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


def train_one_epoch(cfg, model, optimizer, loader, state):
    model.train()
    criterion = nn.MSELoss()
    n = len(loader)
    rest = n % cfg.accumulation
    total, seen = 0.0, 0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        group = rest if rest and i >= n - rest else cfg.accumulation
        loss = criterion(model(x), y)
        (loss / group).backward()
        total += loss.detach() * len(x)
        seen += len(x)
        if (i + 1) % cfg.accumulation == 0 or i + 1 == n:
            for g in optimizer.param_groups:
                g['lr'] = lr_at(state['step'], state['total'], cfg.lr)
            norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
            state['norms'].append(norm.item())
            optimizer.step()
            optimizer.zero_grad()
            state['step'] += 1
    return (total / seen).item()


def evaluate(model, loader):
    model.eval()
    err = torch.zeros(())
    with torch.no_grad():
        for x, y in loader:
            err += nn.functional.mse_loss(model(x), y, reduction='sum')
    return (err / len(loader.dataset)).item()


def main():
    cfg = Config()
    torch.manual_seed(0)
    train, valid = make_loader(cfg, 500, 0, True), make_loader(cfg, 100, 1, False)
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    per_epoch = math.ceil(len(train) / cfg.accumulation)
    state = {'step': 0, 'total': per_epoch * cfg.epochs, 'norms': []}
    for epoch in range(cfg.epochs):
        tr = train_one_epoch(cfg, model, optimizer, train, state)
        print(f'epoch {epoch} train {tr:.4f} valid {evaluate(model, valid):.4f} '
              f'norm {sum(state["norms"][-per_epoch:]) / per_epoch:.3f}')
    assert state['step'] == state['total']


if __name__ == '__main__':
    main()
