import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD_IDX, BOS_IDX, EOS_IDX = 0, 1, 2
DIGIT_OFFSET, SRC_LEN = 3, 12


class ReversedNumbers(Dataset):
    """Source: the digits of a number, target: the digits from right to left."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.src = torch.full((n, SRC_LEN), PAD_IDX)
        self.tgt = torch.full((n, SRC_LEN + 2), PAD_IDX)
        for i in range(n):
            length = int(torch.randint(3, 7, (1,), generator=g))
            digits = torch.randint(0, 10, (length,), generator=g) + DIGIT_OFFSET
            self.src[i, :length] = digits
            self.tgt[i, :length + 2] = torch.cat([torch.tensor([BOS_IDX]), digits.flip(0), torch.tensor([EOS_IDX])])

    def __len__(self):
        return len(self.src)

    def __getitem__(self, i):
        return self.src[i], self.tgt[i]


class MyMultiheadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj, self.k_proj = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.v_proj, self.out_proj = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)

    def split_heads(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, query, key, value, attn_mask=None, key_padding_mask=None):
        bsz, tgt_len, dim = query.shape
        q, k, v = (self.split_heads(p) for p in (self.q_proj(query), self.k_proj(key), self.v_proj(value)))
        weights = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if attn_mask is not None:
            weights = weights + attn_mask
        if key_padding_mask is not None:
            weights = weights.masked_fill(key_padding_mask.unsqueeze(1).unsqueeze(2) == False, float("-inf"))
        out = weights.softmax(dim=-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(bsz, tgt_len, dim))


def feed_forward(dim):
    return nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = MyMultiheadAttention(dim, heads)
        self.ff = feed_forward(dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, padding_mask):
        x = self.norm1(x + self.attn(x, x, x, key_padding_mask=padding_mask))
        return self.norm2(x + self.ff(x))


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = MyMultiheadAttention(dim, heads)
        self.cross = MyMultiheadAttention(dim, heads)
        self.ff = feed_forward(dim)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(dim) for _ in range(3))

    def forward(self, y, memory, causal, padding_mask):
        y = self.norm1(y + self.attn(y, y, y, attn_mask=causal))
        y = self.norm2(y + self.cross(y, memory, memory, key_padding_mask=padding_mask))
        return self.norm3(y + self.ff(y))


class Translator(nn.Module):
    def __init__(self, vocab=13, dim=64, heads=4, layers=2, max_len=20):
        super().__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.encoder = nn.ModuleList([EncoderLayer(dim, heads) for _ in range(layers)])
        self.decoder = nn.ModuleList([DecoderLayer(dim, heads) for _ in range(layers)])
        self.out = nn.Linear(dim, vocab)

    def forward(self, src, tgt):
        padding_mask = src == PAD_IDX
        memory = self.src_emb(src) + self.pos(torch.arange(src.size(1)))
        for layer in self.encoder:
            memory = layer(memory, padding_mask)
        t = tgt.size(1)
        causal = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
        y = self.tgt_emb(tgt) + self.pos(torch.arange(t))
        for layer in self.decoder:
            y = layer(y, memory, causal, padding_mask)
        return self.out(y)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(ReversedNumbers(4000, 0), 64, shuffle=True)
    valid_loader = DataLoader(ReversedNumbers(400, 1), 400)
    model = Translator()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD_IDX)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 3 + 1):
        model.train()
        for src, tgt in train_loader:
            logits = model(src, tgt[:, :-1])
            loss = criterion(logits.reshape(-1, logits.size(-1)), tgt[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        model.eval()
        src, tgt = next(iter(valid_loader))
        with torch.no_grad():
            pred = model(src, tgt[:, :-1]).argmax(-1)
        correct = (pred == tgt[:, 1:])[tgt[:, 1:] != PAD_IDX].float().mean()
        print(f"epoch {epoch}: train loss {loss.item():.3f}, token accuracy {correct:.3f}")


if __name__ == "__main__":
    main()
