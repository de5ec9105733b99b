import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div)
        pe[:, 0, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:x.size(0)]


class SensorTransformer(nn.Module):
    def __init__(self, channels=3, d_model=32):
        super().__init__()
        self.project = nn.Linear(channels, d_model)
        self.position = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(d_model, 2)

    def forward(self, x):
        return self.head(self.encoder(self.position(self.project(x))).mean(dim=1))


labels = torch.randint(0, 2, (1000,))
ramp = torch.linspace(-1.5, 1.5, 24).view(1, 24, 1)
signals = torch.randn(1000, 24, 3) * 0.5 + torch.where(labels == 1, 1.0, -1.0).view(-1, 1, 1) * ramp
loader = DataLoader(TensorDataset(signals[:800], labels[:800]), batch_size=32, shuffle=True)
model = SensorTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(signals[800:]).argmax(1) == labels[800:]).float().mean().item())
