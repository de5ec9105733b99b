import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)


class FraudDataset(Dataset):
    def __init__(self, n=800, n_features=12):
        self.x = np.random.randn(n, n_features).astype(np.float32)
        logit = self.x[:, 0] * 2 + self.x[:, 3] - 3
        self.y = (np.random.rand(n) < 1 / (1 + np.exp(-logit))).astype(np.float32)
        self.amount = np.random.lognormal(3, 1, n).astype(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {'x': self.x[i], 'y': self.y[i], 'amount': self.amount[i]}


class FocalLoss(nn.Module):
    """Focal loss for binary targets, weighted by the transaction amount."""

    def __init__(self, alpha=0.75, gamma=2.0, reduction='mean'):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma
        self.reduction = reduction

    def forward(self, logits, targets, weight=None):
        bce = F.binary_cross_entropy_with_logits(logits, targets, reduction='none')
        p_t = torch.exp(-bce)
        alpha_t = self.alpha * targets + (1 - self.alpha) * (1 - targets)
        loss = alpha_t * (1 - p_t) ** self.gamma * bce
        if weight is not None:
            loss = loss * weight
        if self.reduction == 'mean':
            return loss.mean()
        if self.reduction == 'sum':
            return loss.sum()
        return loss


class Scorer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, count = 0.0, 0
    for batch in loader:
        w = torch.log1p(batch['amount'])
        logits = model(batch['x'])
        loss = criterion(logits, batch['y'], w / w.mean())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
        total += loss.sum().item()
        count += len(w)
    return total / count


def main():
    train_dl = DataLoader(FraudDataset(), batch_size=64, shuffle=True)
    val_dl = DataLoader(FraudDataset(200), batch_size=64)
    model = Scorer(12)
    criterion = FocalLoss(gamma=1.5, reduction='none')
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(5):
        tr = run_epoch(model, train_dl, criterion, optimizer)
        with torch.no_grad():
            va = run_epoch(model, val_dl, criterion)
        print(f'epoch {epoch} train {tr:.4f} val {va:.4f}')


if __name__ == '__main__':
    main()
