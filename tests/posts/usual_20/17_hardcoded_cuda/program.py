import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class LogClassifier(nn.Module):
    def __init__(self, vocab=100, d_model=32, nhead=4, layers=2, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(d_model, classes)

    def forward(self, tokens):
        h = self.encoder(self.pos(self.embed(tokens)))
        return self.head(h.mean(dim=1))


class Trainer:
    def __init__(self, model, loader, lr=1e-3):
        self.model = model.cuda()
        self.loader = loader
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def train(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for tokens, labels in self.loader:
                tokens, labels = tokens.cuda(), labels.cuda()
                loss = self.criterion(self.model(tokens), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(f"epoch {epoch}: {total / len(self.loader):.4f}")


torch.manual_seed(0)
labels = torch.randint(0, 4, (256,))
tokens = torch.randint(0, 40, (256, 20)) + 20 * labels.unsqueeze(1)
loader = DataLoader(TensorDataset(tokens, labels), batch_size=32, shuffle=True)
trainer = Trainer(LogClassifier(), loader)
trainer.train(epochs=3)
