# Which electrode fires first?  Transformer on binned spike counts (side project, lab rotation)
import math
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.default_rng(0)

T_BINS, N_ELEC = 40, 8


def make_trials(n):
    counts = rng.poisson(0.3, size=(n, T_BINS, N_ELEC)).astype(np.float32)
    label = rng.integers(0, 2, n)
    for k in range(n):
        t1, t2 = np.sort(rng.choice(T_BINS, 2, replace=False))
        first, second = (0, 1) if label[k] == 0 else (1, 0)
        counts[k, t1, first] += 6
        counts[k, t2, second] += 6
    return TensorDataset(torch.from_numpy(counts), torch.from_numpy(label))


class PositionalEncoding(nn.Module):

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x):
        x = x + self.pe[:x.size(1)].transpose(0, 1)
        return self.dropout(x)


class SpikeTransformer(nn.Module):
    def __init__(self, d_model=32):
        super().__init__()
        self.proj = nn.Linear(N_ELEC, d_model)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(d_model, 2)

    def forward(self, x):
        # x: [trials, bins, electrodes]
        z = self.encoder(self.pos(self.proj(x)))
        return self.head(z.mean(dim=1))


train_loader = DataLoader(make_trials(960), batch_size=48, shuffle=True)
test_loader = DataLoader(make_trials(300), batch_size=50)

model = SpikeTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(7):
    model.train()
    running = 0.0
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(-1) == y).sum().item()
    print(f'epoch {epoch}: loss {running / len(train_loader):.3f}, test accuracy {correct / 300:.3f}')
