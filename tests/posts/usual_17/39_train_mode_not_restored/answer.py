import math
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)


def make_signals(n, length=128):
    y = np.random.randint(0, 3, n)
    t = np.arange(length)
    x = np.random.randn(n, 1, length) * 0.8
    for i, c in enumerate(y):
        x[i, 0] += np.sin(2 * np.pi * t * (0.03 + 0.03 * c) + np.random.rand() * 6)
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


class ResBlock(nn.Module):
    def __init__(self, c, p):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(c, c, 5, padding=2), nn.BatchNorm1d(c), nn.ReLU(), nn.Dropout(p),
            nn.Conv1d(c, c, 5, padding=2), nn.BatchNorm1d(c))

    def forward(self, x):
        return torch.relu(x + self.body(x))


class VibrationNet(nn.Module):
    def __init__(self, n_classes=3, c=24, p=0.3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, c, 7, stride=2, padding=3), nn.BatchNorm1d(c), nn.ReLU())
        self.blocks = nn.Sequential(ResBlock(c, p), ResBlock(c, p))
        self.head = nn.Sequential(nn.Dropout(p), nn.Linear(c, n_classes))

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(-1))


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    loss, correct, n = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        loss += criterion(out, y).item() * len(y)
        correct += (out.argmax(1) == y).sum().item()
        n += len(y)
    return {'val_loss': loss / n, 'val_acc': correct / n}


class CSVLogger:
    def __init__(self):
        self.rows = []

    def log(self, **kw):
        self.rows.append(kw)
        print(', '.join(f'{k}={v:.4f}' if isinstance(v, float) else f'{k}={v}' for k, v in kw.items()))


def fit(cfg):
    train_dl = DataLoader(make_signals(480), batch_size=cfg['batch_size'], shuffle=True)
    val_dl = DataLoader(make_signals(120), batch_size=60)
    model = VibrationNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg['lr'])
    total_steps = cfg['epochs'] * len(train_dl)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: 0.5 * (1 + math.cos(math.pi * s / total_steps)))
    logger = CSVLogger()
    step = 0
    model.train()
    for epoch in range(cfg['epochs']):
        for x, y in train_dl:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            if step % cfg['val_every'] == 0:
                metrics = validate(model, val_dl, criterion)
                model.train()
                logger.log(step=step, epoch=epoch, train_loss=loss.item(), **metrics)
    return model, logger.rows


if __name__ == '__main__':
    model, rows = fit({'batch_size': 32, 'lr': 2e-3, 'epochs': 4, 'val_every': 10})
    print('best', max(r['val_acc'] for r in rows))
