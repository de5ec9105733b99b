import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = load_wine(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)


def to_loader(a, b, shuffle=False):
    ds = TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor(b))
    return DataLoader(ds, batch_size=16, shuffle=shuffle)


train_loader, val_loader = to_loader(X_tr, y_tr, True), to_loader(X_va, y_va)


def accuracy(output, target, topk=(1,)):
    """Computes the precision@k for the specified values of k."""
    maxk = max(topk)
    _, pred = output.topk(maxk, dim=1)
    correct = pred.t().eq(target.view(1, -1).expand(maxk, -1))
    return [correct[:k].reshape(-1).float().sum().item() * 100.0 / target.size(0) for k in topk]


model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()

    model.eval()
    top1, top5, batches = 0.0, 0.0, 0
    with torch.no_grad():
        for xb, yb in val_loader:
            acc1, acc5 = accuracy(model(xb), yb, topk=(1, 5))
            top1, top5, batches = top1 + acc1, top5 + acc5, batches + 1
    print(f"epoch {epoch} top1 {top1 / batches:.1f} top5 {top5 / batches:.1f}")
