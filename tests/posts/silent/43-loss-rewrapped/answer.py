import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class MultiOutput(Dataset):
    """One input, three regression targets with separate heads."""

    def __init__(self, n=400):
        self.x = torch.randn(n, 15)
        self.y = torch.stack([self.x[:, :3].sum(1), self.x[:, 3:6].norm(dim=1), self.x[:, 6].sin()], dim=1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class SharedTrunk(nn.Module):
    def __init__(self, n_heads=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(15, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(48, 1) for _ in range(n_heads))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h).squeeze(-1) for head in self.heads]


class WeightedMultiTaskLoss(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights
        self.mse = nn.MSELoss()

    def forward(self, outputs, targets):
        losses = []
        for k, out in enumerate(outputs):
            losses.append(self.weights[k] * self.mse(out, targets[:, k]))
        return torch.stack(losses).sum()


torch.manual_seed(0)
loader = DataLoader(MultiOutput(), batch_size=40, shuffle=True)
model = SharedTrunk()
criterion = WeightedMultiTaskLoss([1.0, 0.5, 0.5])
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")
