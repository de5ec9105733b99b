import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class TopReturnLoss(nn.Module):
    """Squared error that counts the stocks with the highest predicted return more."""

    def __init__(self, alpha=5.0, fraction=0.1):
        super().__init__()
        self.alpha = alpha
        self.fraction = fraction

    def forward(self, y_pred, y_true):
        errors = (y_pred - y_true).square()
        k = max(1, int(y_pred.size(0) * self.fraction))
        _, top = torch.topk(y_pred, k)
        stock_weight = torch.ones(y_pred.size(0), dtype=torch.float32)
        weighted = errors * stock_weight
        top_errors = self.alpha * weighted[top]
        return weighted.mean() + top_errors.mean()


class FactorNet(nn.Module):
    def __init__(self, n_factors, hidden=64):
        super().__init__()
        self.gru = nn.GRU(n_factors, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        out, _ = self.gru(x)
        return self.head(out[:, -1]).squeeze(-1)


def make_panel(n=1000, steps=10, factors=6):
    x = torch.randn(n, steps, factors)
    y = 0.5 * x[:, -1, 0] - 0.3 * x[:, -3:, 1].mean(dim=1) + 0.1 * torch.randn(n)
    return TensorDataset(x, y)


train_loader = DataLoader(make_panel(), batch_size=100, shuffle=True)
valid_loader = DataLoader(make_panel(300), batch_size=100)

model = FactorNet(6).to(device)
criterion = TopReturnLoss(alpha=5.0).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in valid_loader:
            x, y = x.to(device), y.to(device)
            total += criterion(model(x), y).item()
    print(f"epoch {epoch} train {loss.item():.4f} valid {total / len(valid_loader):.4f}")
