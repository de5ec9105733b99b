import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPS = 1e-12


def weighted_bce(prob, target, pos_weight):
    p = prob.clamp(EPS, 1 - EPS)
    pos = pos_weight * target * torch.log(p)
    neg = (1 - target) * torch.log(1 - p)
    return -(pos + neg).mean()


class ChurnNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return torch.sigmoid(self.layers(x)).squeeze(1)


torch.manual_seed(4)
x = torch.randn(2400, 8)
x[:, 0] = x[:, 0].exp() * 3
x[:, 1] = x[:, 1].exp() * 3
y = (x[:, 0] - x[:, 1] + torch.randn(2400) > 0).float()
train_loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=50, shuffle=True)
model = ChurnNet(8)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        loss = weighted_bce(model(xb), yb, pos_weight=2.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        acc = ((model(x[2000:]) > 0.5).float() == y[2000:]).float().mean().item()
    print(f"epoch {epoch}: loss {total / 2000:.4f} test acc {acc:.3f}")
