import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
n = 600
x = torch.randn(n, 10)
y = (x[:, 0] + 0.5 * x[:, 1] > 1.2).long()
weight = torch.where(y == 1, 3.0, 1.0)
loader = DataLoader(TensorDataset(x, y, weight), batch_size=60, shuffle=True)


class FraudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2)
        )

    def forward(self, x):
        return self.layers(x)


model = FraudNet()
criterion = nn.CrossEntropyLoss(reduction="none")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(4):
    model.train()
    running, seen = 0.0, 0
    for xb, yb, wb in loader:
        losses = criterion(model(xb), yb) * wb
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        running += losses.sum().item()
        seen += len(xb)
    print(f"epoch {epoch + 1}: weighted loss {running / seen:.4f}")

model.eval()
with torch.no_grad():
    recall = (model(x).argmax(1)[y == 1] == 1).float().mean()
print(f"recall {recall:.3f}")
