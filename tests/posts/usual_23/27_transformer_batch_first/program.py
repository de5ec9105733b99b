import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_sensor_data(n, seq_len=50, n_channels=6, n_classes=4, seed=0):
    """Accelerometer and gyroscope windows of four activities."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, n_classes, (n,), generator=g)
    start = torch.randint(0, seq_len - 12, (n, 1), generator=g)
    steps = torch.arange(seq_len).unsqueeze(0)
    active = ((steps >= start) & (steps < start + 12)).float().unsqueeze(-1)
    profile = torch.randn(n_classes, n_channels, generator=torch.Generator().manual_seed(99))
    x = 1.2 * active * profile[y].unsqueeze(1) + 0.7 * torch.randn(n, seq_len, n_channels, generator=g)
    return x, y


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        pos = torch.arange(max_len).float().unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(pos * div)
        pe[0, :, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class ActivityTransformer(nn.Module):
    def __init__(self, n_channels=6, n_classes=4, d_model=64, nhead=4, num_layers=2):
        super().__init__()
        self.proj = nn.Linear(n_channels, d_model)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward=128, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, num_layers)
        self.fc = nn.Linear(d_model, n_classes)

    def forward(self, x):
        h = self.pos(self.proj(x))
        h = self.encoder(h)
        return self.fc(h.mean(dim=1))


def accuracy(model, loader):
    model.eval()
    hits, n = 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            hits += (model(xb).argmax(dim=1) == yb).sum().item()
            n += len(yb)
    return hits / n


torch.manual_seed(0)
train_loader = DataLoader(TensorDataset(*make_sensor_data(512)), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(*make_sensor_data(128, seed=1)), batch_size=32)

model = ActivityTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f} test acc {accuracy(model, test_loader):.3f}")
