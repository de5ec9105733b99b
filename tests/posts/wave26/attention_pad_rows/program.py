import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

PAD = 0
VOCAB = 40
N_HEADS = 4


def make_corpus(n, seed=3):
    g = torch.Generator().manual_seed(seed)
    samples = []
    for _ in range(n):
        length = int(torch.randint(4, 12, (1,), generator=g))
        tokens = torch.randint(1, VOCAB, (length,), generator=g)
        samples.append((tokens, int((tokens > VOCAB // 2).float().mean() > 0.5)))
    return samples


def collate(batch):
    tokens = nn.utils.rnn.pad_sequence([b[0] for b in batch], batch_first=True, padding_value=PAD)
    return tokens, torch.tensor([b[1] for b in batch])


def padding_attention_mask(tokens, n_heads):
    is_pad = tokens.eq(PAD)
    mask = is_pad.unsqueeze(1) | is_pad.unsqueeze(2)
    return mask.repeat_interleave(n_heads, dim=0)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, 64), nn.ReLU(), nn.Linear(64, d_model))

    def forward(self, x, mask):
        attended, weights = self.mha(x, x, x, attn_mask=mask)
        x = self.norm1(x + attended)
        return self.norm2(x + self.ff(x)), weights


class Classifier(nn.Module):
    def __init__(self, d_model=32, n_layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d_model, padding_idx=PAD)
        self.position = PositionalEncoding(d_model)
        self.blocks = nn.ModuleList([EncoderBlock(d_model, N_HEADS) for _ in range(n_layers)])
        self.head = nn.Linear(d_model, 2)

    def forward(self, tokens):
        mask = padding_attention_mask(tokens, N_HEADS)
        x = self.position(self.embed(tokens))
        for block in self.blocks:
            x, _ = block(x, mask)
        keep = tokens.ne(PAD).unsqueeze(-1)
        pooled = x.masked_fill(~keep, 0.0).sum(dim=1) / keep.sum(dim=1)
        return self.head(pooled)


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_corpus(256), batch_size=32, shuffle=True, collate_fn=collate)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        total, correct, seen = 0.0, 0, 0
        for tokens, labels in loader:
            logits = model(tokens)
            loss = F.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            correct += (logits.argmax(dim=1) == labels).sum().item()
            seen += len(labels)
        print("epoch %d loss %.4f acc %.3f" % (epoch, total / seen, correct / seen))


if __name__ == "__main__":
    main()
