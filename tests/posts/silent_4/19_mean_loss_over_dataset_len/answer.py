import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)
t = torch.linspace(0, 60, 1256)
wave = torch.sin(t) + 0.5 * torch.sin(2.7 * t) + 0.05 * torch.randn_like(t)
windows = wave.unfold(0, 25, 1)
inputs, targets = windows[:, :24], windows[:, 24:]

train_ds = TensorDataset(inputs[:960], targets[:960])
val_ds = TensorDataset(inputs[992:], targets[992:])
train_loader = DataLoader(train_ds, batch_size=32, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=60)

model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * x.size(0)
    train_loss /= len(train_loader.dataset)

    model.eval()
    val_loss = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            val_loss += criterion(model(x), y).item() * x.size(0)
    val_loss /= len(val_loader.dataset)

    print(f"epoch {epoch + 1:2d} | train mse {train_loss:.6f} | val mse {val_loss:.6f}")
