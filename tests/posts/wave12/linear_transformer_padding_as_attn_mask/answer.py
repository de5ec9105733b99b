import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset, DataLoader


class FullMask:
    def __init__(self, mask):
        self.bool_matrix = mask

    @property
    def additive_matrix(self):
        out = torch.zeros(self.bool_matrix.shape, device=self.bool_matrix.device)
        return out.masked_fill(~self.bool_matrix, -1e24)


class LengthMask(FullMask):
    def __init__(self, lengths, max_len):
        steps = torch.arange(max_len, device=lengths.device)
        super().__init__(steps.view(1, -1) < lengths.view(-1, 1))


class FullAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, attn_mask, key_lengths):
        N, L, H, E = queries.shape
        scale = 1.0 / math.sqrt(E)
        QK = torch.einsum("nlhe,nshe->nhls", queries, keys)
        if attn_mask is not None:
            QK = QK + attn_mask.additive_matrix
        if key_lengths is not None:
            QK = QK + key_lengths.additive_matrix[:, None, None]
        A = self.dropout(torch.softmax(scale * QK, dim=-1))
        return torch.einsum("nhls,nshd->nlhd", A, values).contiguous()


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.inner_attention = FullAttention()
        self.out = nn.Linear(d_model, d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, attn_mask=None, length_mask=None):
        N, L, D = x.shape
        q, k, v = self.qkv(x).view(N, L, 3, self.n_heads, -1).unbind(2)
        y = self.inner_attention(q, k, v, attn_mask, length_mask)
        x = self.norm1(x + self.out(y.view(N, L, D)))
        return self.norm2(x + self.ff(x))


class TransformerEncoder(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, attn_mask=None, length_mask=None):
        for layer in self.layers:
            x = layer(x, attn_mask=attn_mask, length_mask=length_mask)
        return x


class SentenceTagger(nn.Module):
    def __init__(self, vocab, n_tags, max_len=128, d_model=96, n_heads=12, n_layers=2):
        super().__init__()
        self.words = nn.Embedding(vocab, d_model, padding_idx=0)
        self.positions = nn.Embedding(max_len, d_model)
        self.encoder = TransformerEncoder(
            [EncoderLayer(d_model, n_heads, 4 * d_model) for _ in range(n_layers)])
        self.tags = nn.Linear(d_model, n_tags)

    def forward(self, tokens):
        pos = torch.arange(tokens.size(1), device=tokens.device)
        x = self.words(tokens) + self.positions(pos)
        mask = LengthMask((tokens != 0).sum(dim=1), tokens.size(1))
        x = self.encoder(x, length_mask=mask)
        return self.tags(x)


def toy_corpus(n, seq_len, vocab, n_tags):
    g = torch.Generator().manual_seed(2)
    lengths = torch.randint(20, seq_len + 1, (n,), generator=g)
    tokens = torch.randint(1, vocab, (n, seq_len), generator=g)
    tokens[torch.arange(seq_len)[None, :] >= lengths[:, None]] = 0
    tags = tokens % n_tags
    tags[tokens == 0] = -100
    return TensorDataset(tokens, tags)


def train():
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    data = toy_corpus(160, seq_len=128, vocab=900, n_tags=7)
    loader = DataLoader(data, batch_size=16, shuffle=True)
    model = SentenceTagger(vocab=900, n_tags=7).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)

    for epoch in range(2):
        running = 0.
        for tokens, tags in loader:
            tokens, tags = tokens.to(device), tags.to(device)
            logits = model(tokens)
            loss = F.cross_entropy(logits.transpose(1, 2), tags, ignore_index=-100)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        print(f'epoch {epoch}: {running / len(loader):.4f}')


if __name__ == '__main__':
    train()
