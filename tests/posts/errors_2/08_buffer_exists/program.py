import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        self.pe = torch.zeros(1, max_len, d_model)
        self.pe[0, :, 0::2] = torch.sin(position * div_term)
        self.pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", self.pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class SeqClassifier(nn.Module):
    def __init__(self, vocab=100, d_model=32, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.pos = PositionalEncoding(d_model)
        self.layer = nn.TransformerEncoderLayer(d_model, 4, 64, batch_first=True)
        self.head = nn.Linear(d_model, classes)

    def forward(self, tokens):
        h = self.layer(self.pos(self.embed(tokens)))
        return self.head(h[:, 0])


torch.manual_seed(0)
tokens = torch.randint(0, 100, (192, 12))
labels = tokens[:, 0] % 3

model = SeqClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(4):
    for xb, yb in zip(tokens.split(32), labels.split(32)):
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
