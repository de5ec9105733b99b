import argparse
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS = 0, 1, 2


class ReverseTask(Dataset):
    """The target is the source sentence read backwards."""

    def __init__(self, n, vocab, max_len, seed=0):
        rng = np.random.RandomState(seed)
        self.items = []
        for _ in range(n):
            words = rng.randint(3, vocab, size=rng.randint(3, max_len - 1))
            src, tgt = np.zeros(max_len, dtype=np.int64), np.zeros(max_len + 1, dtype=np.int64)
            src[:len(words)] = words
            tgt[:len(words) + 2] = np.concatenate([[BOS], words[::-1], [EOS]])
            self.items.append((torch.from_numpy(src), torch.from_numpy(tgt)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class LayerNormalization(nn.Module):
    def __init__(self, d_hid, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_hid))
        self.shift = nn.Parameter(torch.zeros(d_hid))

    def forward(self, x):
        centre = x.mean(dim=-1, keepdim=True)
        spread = x.std(dim=-1, keepdim=True)
        scaled = (x - centre.expand_as(x)) / (spread.expand_as(x) + self.eps)
        return self.gain * scaled + self.shift


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model):
        super().__init__()
        self.n_head, self.d_k = n_head, d_model // n_head
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.proj, self.layer_norm = nn.Linear(d_model, d_model), LayerNormalization(d_model)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.n_head, self.d_k).transpose(1, 2)

    def forward(self, q, k, v, mask):
        residual = q
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        scores = q @ k.transpose(2, 3) / math.sqrt(self.d_k)
        scores = scores.masked_fill(mask.unsqueeze(1), float('-inf'))
        out = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        return self.layer_norm(self.proj(out) + residual)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_inner):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_inner), nn.ReLU(), nn.Linear(d_inner, d_model))
        self.layer_norm = LayerNormalization(d_model)

    def forward(self, x):
        return self.layer_norm(self.net(x) + x)


class Transformer(nn.Module):
    def __init__(self, vocab, max_len, d_model=64, n_head=4):
        super().__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(vocab, d_model, padding_idx=PAD), nn.Embedding(vocab, d_model, padding_idx=PAD)
        self.pos = nn.Parameter(0.1 * torch.randn(max_len + 1, d_model))
        self.enc_attn, self.enc_ffn = MultiHeadAttention(n_head, d_model), FeedForward(d_model, 128)
        self.dec_attn, self.dec_cross = MultiHeadAttention(n_head, d_model), MultiHeadAttention(n_head, d_model)
        self.dec_ffn, self.out = FeedForward(d_model, 128), nn.Linear(d_model, vocab)

    def forward(self, src, tgt):
        n, m = src.size(1), tgt.size(1)
        src_pad = (src == PAD)[:, None, :]
        causal = torch.ones(m, m).triu(1).bool()[None]
        enc = self.src_emb(src) + self.pos[:n]
        enc = self.enc_ffn(self.enc_attn(enc, enc, enc, src_pad.expand(-1, n, -1)))
        dec = self.tgt_emb(tgt) + self.pos[:m]
        dec = self.dec_attn(dec, dec, dec, causal.expand(len(tgt), -1, -1))
        dec = self.dec_ffn(self.dec_cross(dec, enc, enc, src_pad.expand(-1, m, -1)))
        return self.out(dec)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-epoch', type=int, default=3)
    parser.add_argument('-batch_size', type=int, default=64)
    opt = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(ReverseTask(3000, 20, 12), batch_size=opt.batch_size, shuffle=True)
    model = Transformer(20, 12)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    for epoch in range(opt.epoch):
        total = hit = words = 0
        for src, tgt in loader:
            pred, gold = model(src, tgt[:, :-1]), tgt[:, 1:]
            loss = criterion(pred.flatten(0, 1), gold.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mask = gold != PAD
            total, words = total + loss.item() * mask.sum().item(), words + mask.sum().item()
            hit += (pred.argmax(-1) == gold)[mask].sum().item()
        print(f'  - (Training)   ppl: {math.exp(total / words):8.5f}, accuracy: {100 * hit / words:3.3f} %')


if __name__ == '__main__':
    main()
