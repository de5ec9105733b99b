import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, h, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.d_k, self.h = d_model // h, h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        B = q.size(0)
        q = self.w_q(q).view(B, -1, self.h, self.d_k).transpose(1, 2)
        k = self.w_k(k).view(B, -1, self.h, self.d_k).transpose(1, 2)
        v = self.w_v(v).view(B, -1, self.h, self.d_k).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        attn = self.dropout(scores.softmax(dim=-1))
        out = (attn @ v).transpose(1, 2).contiguous().view(B, -1, self.h * self.d_k)
        return self.w_o(out)


class EncoderClassifier(nn.Module):
    def __init__(self, vocab=80, d_model=32, h=4, n_out=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d_model)
        self.attn = MultiHeadAttention(d_model, h)
        self.norm = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, 64), nn.ReLU(), nn.Linear(64, d_model))
        self.out = nn.Linear(d_model, n_out)

    def forward(self, tokens):
        mask = (tokens != 0).unsqueeze(1).unsqueeze(2)
        x = self.emb(tokens)
        x = self.norm(x + self.attn(x, x, x, mask))
        x = x + self.ff(x)
        return self.out(x[:, 0])


torch.manual_seed(0)
tokens = torch.randint(1, 80, (320, 16))
labels = (tokens[:, 1] > 40).long()
lengths = torch.randint(3, 17, (320,))
tokens[torch.arange(16)[None] >= lengths[:, None]] = 0
loader = DataLoader(TensorDataset(tokens, labels), batch_size=32, shuffle=True)

model = EncoderClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
