import math
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class SensorDataset(Dataset):
    """windows of 60 steps x 6 sensor channels, label = machine state (5 states)"""

    def __init__(self, n):
        self.windows = torch.randn(n, 60, 6)
        self.labels = torch.randint(0, 5, (n,))

    def __len__(self):
        return self.windows.size(0)

    def __getitem__(self, i):
        return self.windows[i], self.labels[i]


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[:, :x.size(1)])


class SensorTransformer(nn.Module):
    def __init__(self, n_features, n_classes, d_model=64, nhead=4, num_layers=2, dropout=0.1):
        super().__init__()
        self.input_proj = nn.Linear(n_features, d_model)
        self.pos = PositionalEncoding(d_model, dropout)
        encoder_layer = nn.TransformerEncoderLayer(d_model, nhead, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder_layer, num_layers)
        self.norm = nn.LayerNorm(d_model)
        self.fc = nn.Linear(d_model, n_classes)

    def forward(self, x):
        x = self.pos(self.input_proj(x))
        x = self.encoder(x)
        return self.fc(self.norm(x.mean(dim=1)))


train_loader = DataLoader(SensorDataset(64), batch_size=32, shuffle=True)
val_loader = DataLoader(SensorDataset(32), batch_size=32)

model = SensorTransformer(n_features=6, n_classes=5)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} val acc {correct / len(val_loader.dataset):.3f}")
