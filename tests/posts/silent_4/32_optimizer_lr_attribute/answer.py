import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(32)

BASE_LR, WARMUP, EPOCHS = 0.2, 3, 25

x = torch.randn(1000, 8)
y = torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.1 * torch.randn(1000, 1)
train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=40, shuffle=True)
val_x, val_y = x[800:], y[800:]

model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=BASE_LR)


def learning_rate(epoch):
    if epoch < WARMUP:
        return BASE_LR * (epoch + 1) / WARMUP
    progress = (epoch - WARMUP) / (EPOCHS - WARMUP)
    return 0.5 * BASE_LR * (1 + math.cos(math.pi * progress))


for epoch in range(EPOCHS):
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(epoch)

    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        val = criterion(model(val_x), val_y).item()
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d} val mse {val:.4f}")
