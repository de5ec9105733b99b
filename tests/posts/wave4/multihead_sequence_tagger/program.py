import numpy as np
import torch
import torch.nn as nn


class ScaledDotProductAttention(nn.Module):
    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature = temperature
        self.dropout = nn.Dropout(attn_dropout)
        self.softmax = nn.Softmax()

    def forward(self, q, k, v, mask=None):
        attn = torch.bmm(q, k.transpose(1, 2)) / self.temperature
        if mask is not None:
            attn = attn.masked_fill(mask, -1e9)
        attn = self.dropout(self.softmax(attn))
        return torch.bmm(attn, v), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model, d_k, d_v, dropout=0.1):
        super().__init__()
        self.n_head, self.d_k, self.d_v = n_head, d_k, d_v
        self.w_qs = nn.Linear(d_model, n_head * d_k)
        self.w_ks = nn.Linear(d_model, n_head * d_k)
        self.w_vs = nn.Linear(d_model, n_head * d_v)
        self.attention = ScaledDotProductAttention(temperature=np.power(d_k, 0.5))
        self.layer_norm = nn.LayerNorm(d_model)
        self.fc = nn.Linear(n_head * d_v, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x, d):
        b, n, _ = x.size()
        return x.view(b, n, self.n_head, d).permute(2, 0, 1, 3).contiguous().view(-1, n, d)

    def forward(self, q, k, v, mask=None):
        residual, (b, len_q, _) = q, q.size()
        q, k, v = self.split(self.w_qs(q), self.d_k), self.split(self.w_ks(k), self.d_k), self.split(self.w_vs(v), self.d_v)
        if mask is not None:
            mask = mask.repeat(self.n_head, 1, 1)
        output, attn = self.attention(q, k, v, mask=mask)
        output = output.view(self.n_head, b, len_q, self.d_v).permute(1, 2, 0, 3).contiguous().view(b, len_q, -1)
        return self.layer_norm(self.dropout(self.fc(output)) + residual), attn


class Tagger(nn.Module):
    def __init__(self, n_vocab=200, d_model=64, n_head=4, n_out=12):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, d_model, padding_idx=0)
        self.slf_attn = MultiHeadAttention(n_head, d_model, 16, 16)
        self.out = nn.Linear(d_model, n_out)

    def forward(self, seq):
        pad_mask = seq.eq(0).unsqueeze(1).expand(-1, seq.size(1), -1)
        x = self.emb(seq)
        x, _ = self.slf_attn(x, x, x, mask=pad_mask)
        return self.out(x)


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
data = torch.randint(1, 200, (70, 15))
data[::3, 11:] = 0

for epoch in range(2):
    total = 0.
    for batch in data.split(32):
        gold = (batch + batch.roll(1, 1)) % 12
        loss = nn.functional.cross_entropy(model(batch).flatten(0, 1), gold.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    print('epoch', epoch, 'loss', total / len(data))
