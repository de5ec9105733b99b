import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2
VOCAB = 24


def make_pairs(n, seed):
    """Prompt of symbols -> the same symbols sorted and reversed."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        prompt = [rng.randrange(3, VOCAB) for _ in range(rng.randint(2, 12))]
        pairs.append((prompt, [BOS] + sorted(prompt, reverse=True) + [EOS]))
    return pairs


def collate(pairs):
    src = pad_sequence([torch.tensor(p) for p, _ in pairs], batch_first=True, padding_value=PAD)
    tgt = pad_sequence([torch.tensor(t) for _, t in pairs], batch_first=True, padding_value=PAD)
    return src, tgt


class ConvEncoder(nn.Module):
    def __init__(self, dim, layers=3, max_len=32):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.positions = nn.Embedding(max_len, dim)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 2 * dim, 3, padding=1) for _ in range(layers))

    def forward(self, src):
        padding_mask = src.eq(PAD)
        embedded = self.tokens(src) + self.positions(torch.arange(src.size(1), device=src.device))
        x = embedded
        for conv in self.convs:
            residual = x
            x = F.glu(conv(x.transpose(1, 2)), dim=1).transpose(1, 2)
            x = (x + residual) * math.sqrt(0.5)
        return x, (x + embedded) * math.sqrt(0.5), padding_mask


class DotAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, keys, values, key_padding_mask=None):
        scores = self.query(x) @ keys.transpose(1, 2) / math.sqrt(x.size(-1))
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask.unsqueeze(1), float("-inf"))
        weights = scores.softmax(dim=-1)
        return self.out(weights @ values), weights


class ConvDecoder(nn.Module):
    def __init__(self, dim, layers=3, kernel=3, max_len=32):
        super().__init__()
        self.kernel = kernel
        self.tokens = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.positions = nn.Embedding(max_len, dim)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 2 * dim, kernel) for _ in range(layers))
        self.attentions = nn.ModuleList(DotAttention(dim) for _ in range(layers))
        self.project = nn.Linear(dim, VOCAB)

    def forward(self, tgt, encoder_out):
        encoder_a, encoder_b, encoder_padding_mask = encoder_out
        target_embedding = self.tokens(tgt) + self.positions(torch.arange(tgt.size(1), device=tgt.device))
        x = target_embedding
        for conv, attention in zip(self.convs, self.attentions):
            residual = x
            x = F.pad(x.transpose(1, 2), (self.kernel - 1, 0))
            x = F.glu(conv(x), dim=1).transpose(1, 2)
            attended, _ = attention(
                x + target_embedding, encoder_a, encoder_b, key_padding_mask=encoder_padding_mask)
            x = (x + attended + residual) * math.sqrt(1 / 3)
        return self.project(x)


def step(encoder, decoder, src, tgt):
    logits = decoder(tgt[:, :-1], encoder(src))
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
    real = tgt[:, 1:].ne(PAD)
    return loss, (logits.argmax(-1) == tgt[:, 1:])[real].float().mean()


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_pairs(3000, 0), 50, shuffle=True, collate_fn=collate)
    valid_loader = DataLoader(make_pairs(400, 1), 50, collate_fn=collate)
    encoder, decoder = ConvEncoder(64), ConvDecoder(64)
    params = list(encoder.parameters()) + list(decoder.parameters())
    optimizer = torch.optim.Adam(params, lr=2e-3)
    for epoch in range(4):
        encoder.train(), decoder.train()
        for src, tgt in train_loader:
            loss, _ = step(encoder, decoder, src, tgt)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(params, 1.0)
            optimizer.step()
        encoder.eval(), decoder.eval()
        with torch.no_grad():
            results = [step(encoder, decoder, src, tgt) for src, tgt in valid_loader]
        loss = sum(r[0].item() for r in results) / len(results)
        acc = sum(r[1].item() for r in results) / len(results)
        print(f"epoch {epoch}: valid loss {loss:.3f}, token accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
