import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB = 120
SEQ_LEN = 24


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class RecipeLM(nn.Module):
    def __init__(self, vocab, d_model=64, nhead=4, num_layers=2):
        super().__init__()
        self.d_model = d_model
        self.embed = nn.Embedding(vocab, d_model)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(
            d_model=d_model, nhead=nhead, dim_feedforward=128, dropout=0.1,
            batch_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=num_layers)
        self.head = nn.Linear(d_model, vocab)

    def forward(self, tokens):
        size = tokens.size(1)
        mask = torch.triu(torch.full((size, size), float("-inf")), diagonal=1)
        x = self.embed(tokens) * math.sqrt(self.d_model)
        x = self.encoder(self.pos(x), mask=mask)
        return self.head(x)


torch.manual_seed(0)
tokens = torch.randint(0, VOCAB, (160, SEQ_LEN + 1))
loader = DataLoader(
    TensorDataset(tokens[:, :-1], tokens[:, 1:]), batch_size=16, shuffle=True
)

model = RecipeLM(VOCAB)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)

for epoch in range(2):
    model.train()
    total = 0.0
    for src, tgt in loader:
        logits = model(src)
        loss = criterion(logits.reshape(-1, VOCAB), tgt.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f} ppl {math.exp(total / len(loader)):.1f}")
