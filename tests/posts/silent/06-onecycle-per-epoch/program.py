import torch
import torch.nn as nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 6
BATCH_SIZE = 16
MAX_LR = 0.1


class ResidualMLP(nn.Module):
    def __init__(self, dim=32, depth=3, classes=6):
        super().__init__()
        self.stem = nn.Linear(16, dim)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))
            for _ in range(depth)
        )
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


def accuracy(model, loader):
    model.eval()
    good = total = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(-1) == y).sum().item()
            total += len(y)
    return good / total


torch.manual_seed(3)
centers = torch.randn(6, 16)
y = torch.randint(0, 6, (480,))
x = centers[y] + 0.8 * torch.randn(480, 16)
train_loader = DataLoader(TensorDataset(x[:384], y[:384]), batch_size=BATCH_SIZE, shuffle=True)
val_loader = DataLoader(TensorDataset(x[384:], y[384:]), batch_size=BATCH_SIZE)

model = ResidualMLP()
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=MAX_LR, momentum=0.9)
scheduler = OneCycleLR(optimizer, max_lr=MAX_LR, epochs=EPOCHS, steps_per_epoch=len(train_loader))

for epoch in range(EPOCHS):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    scheduler.step()
    lr = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch} lr {lr:.5f} loss {loss.item():.3f} val acc {accuracy(model, val_loader):.3f}")
