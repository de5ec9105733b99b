import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PAD_TOKEN, SOS_TOKEN, EOS_TOKEN = 1, 2, 3


class ChoraleDataset(Dataset):
    """four voices in sixteenths, written one after the other as one sequence of tokens"""

    def __init__(self, n=24, seed=0):
        rng = np.random.RandomState(seed)
        self.samples = []
        for _ in range(n):
            steps = rng.randint(30, 60)
            melody = np.cumsum(rng.randint(-2, 3, steps)) % 24
            voices = np.stack([melody, melody + 7, melody + 12, melody + 19], axis=1) + 4
            self.samples.append(np.concatenate([[SOS_TOKEN], voices.flatten(), [EOS_TOKEN]]))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return torch.as_tensor(self.samples[i], dtype=torch.long)


def pad_batch(batch):
    return torch.stack([F.pad(seq, (0, 1024 - len(seq)), value=PAD_TOKEN) for seq in batch])


class RelativeAttention(nn.Module):
    def __init__(self, d_model, heads, max_relative_position):
        super().__init__()
        self.h, self.d_k = heads, d_model // heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.relative = nn.Parameter(torch.randn(max_relative_position, self.d_k) * self.d_k ** -0.5)

    def forward(self, x, mask):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, self.d_k).permute(2, 0, 3, 1, 4)
        logits = q @ k.transpose(-2, -1)
        rel = q @ self.relative[-n:].T
        rel = F.pad(rel, (1, 0)).reshape(b, self.h, n + 1, -1)[:, :, 1:]
        logits = (logits + rel) / math.sqrt(self.d_k)
        weights = logits.masked_fill(~mask, -1e9).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, heads, L):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = RelativeAttention(d_model, heads, L)
        self.ff = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model))

    def forward(self, x, mask):
        x = x + self.attn(self.norm_1(x), mask)
        return x + self.ff(self.norm_2(x))


class MusicTransformer(nn.Module):
    def __init__(self, vocab_size, d_model=32, N=2, heads=4, L=256):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=PAD_TOKEN)
        self.layers = nn.ModuleList([DecoderLayer(d_model, heads, L) for _ in range(N)])
        self.out = nn.Linear(d_model, vocab_size)

    def forward(self, trg):
        mask = torch.tril(torch.ones(trg.size(1), trg.size(1), dtype=torch.bool, device=trg.device))
        x = self.embed(trg)
        for layer in self.layers:
            x = layer(x, mask)
        return self.out(x)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--seq_len', type=int, default=256)
    parser.add_argument('--batch_size', type=int, default=4)
    parser.add_argument('--epochs', type=int, default=2)
    opt = parser.parse_args()
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

    vocab_size = 4 + 24 + 19
    loader = DataLoader(ChoraleDataset(), batch_size=opt.batch_size, shuffle=True, collate_fn=pad_batch)
    model = MusicTransformer(vocab_size, L=opt.seq_len).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    for epoch in range(opt.epochs):
        total = 0.
        for seq in loader:
            seq = seq.to(device)
            preds = model(seq[:, :-1])
            loss = F.cross_entropy(preds.reshape(-1, vocab_size), seq[:, 1:].reshape(-1), ignore_index=PAD_TOKEN)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print('epoch %d loss %.3f' % (epoch + 1, total / len(loader)))
