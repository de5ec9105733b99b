import copy
import math

import torch
import torch.nn as nn


def clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


def subsequent_mask(size):
    return torch.triu(torch.ones(1, size, size), diagonal=1).type(torch.uint8) == 0


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        assert d_model % h == 0
        self.d_k, self.h = d_model // h, h
        self.linears = clones(nn.Linear(d_model, d_model), 4)

    def forward(self, query, key, value, mask=None):
        nbatches = query.size(0)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        x = torch.matmul(scores.softmax(dim=-1), value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


class Layer(nn.Module):
    def __init__(self, d_model, d_ff, h, cross):
        super().__init__()
        self.self_attn = MultiHeadedAttention(h, d_model)
        self.src_attn = MultiHeadedAttention(h, d_model) if cross else None
        self.ff = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norms = clones(nn.LayerNorm(d_model), 3)

    def forward(self, x, mask, memory=None, src_mask=None):
        y = self.norms[0](x)
        x = x + self.self_attn(y, y, y, mask)
        if self.src_attn is not None:
            x = x + self.src_attn(self.norms[1](x), memory, memory, src_mask)
        return x + self.ff(self.norms[2](x))


class EncoderDecoder(nn.Module):
    def __init__(self, src_vocab=60, tgt_vocab=70, d_model=16, d_ff=32, h=4, pad=0):
        super().__init__()
        self.pad, self.d_model = pad, d_model
        self.src_embed = nn.Embedding(src_vocab, d_model)
        self.tgt_embed = nn.Embedding(tgt_vocab, d_model)
        pe = torch.zeros(100, d_model)
        position = torch.arange(0, 100).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0))
        self.encoder = clones(Layer(d_model, d_ff, h, False), 2)
        self.decoder = clones(Layer(d_model, d_ff, h, True), 2)
        self.generator = nn.Linear(d_model, tgt_vocab)

    def position(self, x):
        return x * math.sqrt(self.d_model) + self.pe[:, : x.size(1)]

    def forward(self, src, tgt, src_mask=None, tgt_mask=None):
        "Take in and process masked src and target sequences."
        if src_mask is None:
            src_mask = (src != self.pad).unsqueeze(-2)
        if tgt_mask is None:
            tgt_mask = (tgt != self.pad).unsqueeze(-2) & subsequent_mask(tgt.size(-1))
        memory = self.position(self.src_embed(src))
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        x = self.position(self.tgt_embed(tgt))
        for layer in self.decoder:
            x = layer(x, tgt_mask, memory, src_mask)
        return self.generator(x).log_softmax(dim=-1)
