# A Transformer encoder-decoder written from the ground up, chapter exercise.
import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x):
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split_heads(self, x):
        batch_size, seq_len, _ = x.size()
        return x.view(batch_size, seq_len, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, Q, K, V, mask=None):
        q, k, v = self.split_heads(self.W_q(Q)), self.split_heads(self.W_k(K)), self.split_heads(self.W_v(V))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        out = torch.matmul(torch.softmax(scores, dim=-1), v)
        batch_size, _, seq_len, _ = out.size()
        return self.W_o(out.transpose(1, 2).contiguous().view(batch_size, seq_len, -1))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, heads)
        self.ff = FeedForward(d_model, d_ff)
        self.n1, self.n2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.n1(x + self.attn(x, x, x, mask))
        return self.n2(x + self.ff(x))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, heads)
        self.cross = MultiHeadAttention(d_model, heads)
        self.ff = FeedForward(d_model, d_ff)
        self.n1, self.n2, self.n3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, memory, src_mask, tgt_mask):
        x = self.n1(x + self.attn(x, x, x, tgt_mask))
        x = self.n2(x + self.cross(x, memory, memory, src_mask))
        return self.n3(x + self.ff(x))


class Transformer(nn.Module):
    def __init__(self, vocab, d_model=64, heads=4, d_ff=128, layers=2):
        super().__init__()
        self.d_model = d_model
        self.src_emb = nn.Embedding(vocab, d_model)
        self.tgt_emb = nn.Embedding(vocab, d_model)
        self.pos_encoder = PositionalEncoding(d_model)
        self.encoder = nn.ModuleList([EncoderLayer(d_model, heads, d_ff) for _ in range(layers)])
        self.decoder = nn.ModuleList([DecoderLayer(d_model, heads, d_ff) for _ in range(layers)])
        self.out = nn.Linear(d_model, vocab)

    def forward(self, src, tgt):
        src_mask = (src != 0)[:, None, None, :]
        causal = torch.tril(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool))
        tgt_mask = (tgt != 0)[:, None, None, :] & causal
        memory = self.pos_encoder(self.src_emb(src) * math.sqrt(self.d_model))
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        x = self.pos_encoder(self.tgt_emb(tgt) * math.sqrt(self.d_model))
        for layer in self.decoder:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.out(x)


torch.manual_seed(0)
vocab_size, batch_size, seq_len = 20, 64, 6
model = Transformer(vocab_size)
criterion = nn.CrossEntropyLoss(ignore_index=0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

model.train()
for step in range(200):
    src = torch.randint(2, vocab_size, (batch_size, seq_len))
    reverse = src.flip(1)
    tgt_in = torch.cat([torch.ones(batch_size, 1, dtype=torch.long), reverse[:, :-1]], dim=1)
    optimizer.zero_grad()
    logits = model(src, tgt_in)
    loss = criterion(logits.reshape(-1, vocab_size), reverse.reshape(-1))
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        acc = (logits.argmax(-1) == reverse).float().mean().item()
        print(f'step {step}: loss {loss.item():.3f}, token accuracy {acc:.3f}')
