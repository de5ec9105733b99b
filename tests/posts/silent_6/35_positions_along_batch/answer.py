import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def ordered_pairs(n, length=16, vocab=60):
    """Label 1 if token 1 comes before token 2 in the sequence."""
    x = torch.randint(3, vocab, (n, length))
    y = torch.randint(0, 2, (n,))
    for i in range(n):
        first, second = torch.randperm(length)[:2].sort().values.tolist()
        x[i, first], x[i, second] = (1, 2) if y[i] == 1 else (2, 1)
    return x, y


class PositionalEncoding(nn.Module):
    def __init__(self, dim, max_len=512):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(max_len, 1, dim)
        pe[:, 0, 0::2] = torch.sin(position * div)
        pe[:, 0, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe)

    def forward(self, h):
        return h + self.pe[:h.size(1)].transpose(0, 1)


class OrderModel(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = PositionalEncoding(dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.fc = nn.Linear(dim, 2)

    def forward(self, x):
        h = self.encoder(self.pos(self.emb(x)))
        return self.fc(h.mean(dim=1))


class Fit:
    def __init__(self, model, train, test, lr=2e-3):
        self.model = model
        self.train_loader = DataLoader(TensorDataset(*train), batch_size=50, shuffle=True)
        self.test = test
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)
        self.loss = nn.CrossEntropyLoss()

    def epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.opt.zero_grad()
            loss = self.loss(self.model(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / len(self.train_loader)

    def accuracy(self):
        self.model.eval()
        x, y = self.test
        with torch.no_grad():
            return (self.model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
fit = Fit(OrderModel(), ordered_pairs(2000), ordered_pairs(400))
for e in range(8):
    loss = fit.epoch()
    print(f"epoch {e + 1} loss {loss:.4f} test acc {fit.accuracy():.3f}")
fit.model.eval()
with torch.no_grad():
    same = ordered_pairs(1)[0].repeat(4, 1)
    print("one sequence in four rows:", [round(v, 3) for v in fit.model(same).softmax(1)[:, 1].tolist()])
