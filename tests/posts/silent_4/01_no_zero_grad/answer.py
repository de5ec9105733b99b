import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

features = torch.randn(800, 12)
weights = torch.randn(12, 1)
prices = features @ weights + 0.1 * torch.randn(800, 1)

train_loader = DataLoader(TensorDataset(features[:640], prices[:640]), batch_size=32, shuffle=True)
val_x, val_y = features[640:], prices[640:]

model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(15):
    model.train()
    running = 0.0
    for x, y in train_loader:
        pred = model(x)
        loss = criterion(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * x.size(0)

    model.eval()
    with torch.no_grad():
        val_loss = criterion(model(val_x), val_y).item()
    print(f"epoch {epoch + 1:2d}  train {running / 640:.4f}  val {val_loss:.4f}")
