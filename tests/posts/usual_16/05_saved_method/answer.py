import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(7)
CKPT = os.path.join(tempfile.mkdtemp(), "best_gesture.pth")


def gestures(n_per_class=80, length=40):
    """3-axis accelerometer signals of four gestures"""
    t = torch.linspace(0, 1, length)
    xs, ys = [], []
    for c in range(4):
        for _ in range(n_per_class):
            phase = torch.rand(3, 1) * 0.5
            sig = torch.sin(2 * torch.pi * (c + 1) * t + phase) + 0.4 * torch.randn(3, length)
            xs.append(sig)
            ys.append(c)
    return torch.stack(xs), torch.tensor(ys)


class GestureCNN(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(3, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        )
        self.classifier = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def accuracy(model, loader):
    model.eval()
    good = total = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return good / total


X, y = gestures()
train_set, val_set, test_set = random_split(TensorDataset(X, y), [200, 60, 60])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=60)
test_loader = DataLoader(test_set, batch_size=60)

best_model = GestureCNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(best_model.parameters(), lr=1e-3)
best_acc = 0.0

for epoch in range(6):
    best_model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(best_model(x), y)
        loss.backward()
        optimizer.step()
    acc = accuracy(best_model, val_loader)
    print(f"epoch {epoch + 1}: loss {loss.item():.3f}, val acc {acc:.3f}")
    if acc > best_acc:
        best_acc = acc
        torch.save(best_model.state_dict(), CKPT)
        print("  -> saved")

# ---- evaluation with the best weights ----
model = GestureCNN()
model.load_state_dict(torch.load(CKPT))
print(f"test acc of the best epoch: {accuracy(model, test_loader):.3f}")
