"""Translate written dates ("14 march 1987") into ISO dates with nn.Transformer."""
import math
import random
from datetime import date, timedelta

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2
CHARS = "abcdefghijklmnopqrstuvwxyz0123456789 -"
STOI = {c: i + 3 for i, c in enumerate(CHARS)}
VOCAB = len(CHARS) + 3
DAY0 = date(1950, 1, 1)


def make_pair(rng):
    d = DAY0 + timedelta(days=rng.randrange(25000))
    return d.strftime("%d %B %Y").lower().lstrip("0"), d.isoformat()


def encode(text):
    return torch.tensor([BOS] + [STOI[c] for c in text] + [EOS])


def collate(pairs):
    src = nn.utils.rnn.pad_sequence([encode(s) for s, _ in pairs], batch_first=True, padding_value=PAD)
    tgt = nn.utils.rnn.pad_sequence([encode(t) for _, t in pairs], batch_first=True, padding_value=PAD)
    return src, tgt


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.05, max_len=100):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


class DateTransformer(nn.Module):
    def __init__(self, d_model=64, nhead=4, layers=1):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d_model, padding_idx=PAD)
        self.pos = PositionalEncoding(d_model)
        self.transformer = nn.Transformer(d_model, nhead, layers, layers, 128, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d_model, VOCAB)

    def forward(self, src, tgt, tgt_mask):
        pad = src == PAD
        src = self.pos(self.embed(src))
        tgt = self.pos(self.embed(tgt))
        h = self.transformer(src, tgt, tgt_mask=tgt_mask, src_key_padding_mask=pad,
                             memory_key_padding_mask=pad)
        return self.out(h)


rng = random.Random(0)
torch.manual_seed(0)
pairs = [make_pair(rng) for _ in range(1600)]
train_loader = DataLoader(pairs[:1472], batch_size=64, shuffle=True, collate_fn=collate)
test_loader = DataLoader(pairs[1472:], batch_size=64, collate_fn=collate)

model = DateTransformer()
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def step(src, tgt):
    tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
    tgt_mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
    logits = model(src, tgt_in, tgt_mask)
    loss = criterion(logits, tgt_out)
    hits = ((logits.argmax(-1) == tgt_out) & (tgt_out != PAD)).sum().item()
    return loss, hits / (tgt_out != PAD).sum().item()


for epoch in range(7):
    model.train()
    for src, tgt in train_loader:
        loss, acc = step(src, tgt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = [step(src, tgt)[1] for src, tgt in test_loader]
    print(f"epoch {epoch + 1}: loss {loss.item():.3f}  test token acc {sum(scores) / len(scores):.3f}")
