import math

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0
VOCAB = 40
TAGS = 5


class ScaledDotProduct(nn.Module):
    def forward(self, q, k, v, mask=None):
        score = q @ k.transpose(2, 3) / math.sqrt(k.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000)
        return torch.softmax(score, dim=-1) @ v


class MultiHead(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = ScaledDotProduct()
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def split(self, x):
        b, t, d = x.shape
        return x.view(b, t, self.n_head, d // self.n_head).transpose(1, 2)

    def forward(self, x, mask):
        out = self.attention(self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x)), mask)
        return self.w_o(out.transpose(1, 2).reshape(x.shape))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_head, hidden):
        super().__init__()
        self.attn = MultiHead(d_model, n_head)
        self.ff = nn.Sequential(nn.Linear(d_model, hidden), nn.ReLU(), nn.Linear(hidden, d_model))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm1(x + self.attn(x, mask))
        return self.norm2(x + self.ff(x))


class Tagger(nn.Module):
    def __init__(self, d_model=32, n_head=4, layers=2, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d_model)
        self.pos = nn.Parameter(torch.randn(max_len, d_model) * 0.02)
        self.layers = nn.ModuleList([EncoderLayer(d_model, n_head, 64) for _ in range(layers)])
        self.out = nn.Linear(d_model, TAGS)

    def make_pad_mask(self, src):
        return (src != PAD).unsqueeze(1).unsqueeze(3)

    def forward(self, src):
        mask = self.make_pad_mask(src)
        x = self.tok(src) + self.pos[: src.size(1)]
        for layer in self.layers:
            x = layer(x, mask)
        return self.out(x)


def make_pairs(n):
    pairs = []
    for _ in range(n):
        words = torch.randint(1, VOCAB, (int(torch.randint(3, 20, (1,))),))
        pairs.append((words, (words + words[0]) % TAGS))
    return pairs


def collate(batch):
    words = pad_sequence([w for w, _ in batch], batch_first=True, padding_value=PAD)
    tags = pad_sequence([t for _, t in batch], batch_first=True, padding_value=-100)
    return words, tags


torch.manual_seed(0)
loader = DataLoader(make_pairs(256), batch_size=32, shuffle=True, collate_fn=collate)
model = Tagger()
criterion = nn.CrossEntropyLoss(ignore_index=-100)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    total = 0.0
    for words, tags in loader:
        logits = model(words)
        loss = criterion(logits.reshape(-1, TAGS), tags.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")
