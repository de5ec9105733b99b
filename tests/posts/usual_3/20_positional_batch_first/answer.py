import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PositionalEncoding(nn.Module):

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[:x.size(1)].transpose(0, 1)
        return self.dropout(x)


class ClickstreamModel(nn.Module):
    """Which of the two products came first in the session?"""

    def __init__(self, n_items, d_model=32, nhead=4, num_layers=2):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(n_items, d_model)
        self.pos_encoder = PositionalEncoding(d_model, dropout=0.0)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers)
        self.decoder = nn.Linear(d_model, 2)

    def forward(self, tokens):
        x = self.embedding(tokens) * math.sqrt(self.d_model)
        x = self.pos_encoder(x)
        x = self.encoder(x)
        return self.decoder(x.mean(dim=1))


def make_sessions(n, length=12, n_items=40):
    tokens = torch.randint(2, n_items, (n, length))
    first = torch.randint(0, length // 2, (n,))
    second = torch.randint(length // 2, length, (n,))
    label = torch.randint(0, 2, (n,))
    rows = torch.arange(n)
    tokens[rows, first] = label
    tokens[rows, second] = 1 - label
    return TensorDataset(tokens, label)


torch.manual_seed(0)
train_loader = DataLoader(make_sessions(2000), batch_size=50, shuffle=True)
test_loader = DataLoader(make_sessions(500), batch_size=50)

model = ClickstreamModel(n_items=40)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    total = 0.0
    for tokens, label in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens), label)
        loss.backward()
        optimizer.step()
        total += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for tokens, label in test_loader:
            correct += (model(tokens).argmax(dim=1) == label).sum().item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.4f}  test acc {correct / 500:.3f}")
