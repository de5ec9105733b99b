import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2


def pad_mask(seq_k, seq_q):
    ''' (b, len_q, len_k), marks the padded keys '''
    return seq_k.eq(PAD).unsqueeze(1).expand(-1, seq_q.size(1), -1)


def look_ahead_mask(seq):
    b, n = seq.size()
    mask = torch.triu(torch.ones((n, n), device=seq.device, dtype=torch.uint8), diagonal=1)
    return mask.unsqueeze(0).expand(b, -1, -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model, dropout=0.1):
        super().__init__()
        self.n_head, self.d_k = n_head, d_model // n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.fc = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model)

    def split(self, x):
        b, n, _ = x.size()
        return x.view(b, n, self.n_head, self.d_k).transpose(1, 2)

    def forward(self, q, k, v, mask):
        residual = q
        b, n, d = q.size()
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        attn = q @ k.transpose(2, 3) / math.sqrt(self.d_k)
        attn = attn.masked_fill(mask.unsqueeze(1), -np.inf)
        attn = self.dropout(F.softmax(attn, dim=-1))
        out = (attn @ v).transpose(1, 2).reshape(b, n, d)
        return self.norm(self.dropout(self.fc(out)) + residual)


class FeedForward(nn.Module):
    def __init__(self, d, d_in):
        super().__init__()
        self.w1, self.w2, self.norm = nn.Linear(d, d_in), nn.Linear(d_in, d), nn.LayerNorm(d)

    def forward(self, x):
        return self.norm(self.w2(F.relu(self.w1(x))) + x)


class Transformer(nn.Module):
    def __init__(self, n_vocab, max_len, d=32, n_head=4):
        super().__init__()
        self.src_emb = nn.Embedding(n_vocab, d, padding_idx=PAD)
        self.trg_emb = nn.Embedding(n_vocab, d, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, d)
        self.enc_attn, self.enc_ffn = MultiHeadAttention(n_head, d), FeedForward(d, 2 * d)
        self.dec_attn, self.cross_attn = MultiHeadAttention(n_head, d), MultiHeadAttention(n_head, d)
        self.dec_ffn = FeedForward(d, 2 * d)
        self.proj = nn.Linear(d, n_vocab, bias=False)

    def forward(self, src, trg):
        p = torch.arange(src.size(1), device=src.device)
        enc = self.src_emb(src) + self.pos(p)
        enc = self.enc_ffn(self.enc_attn(enc, enc, enc, pad_mask(src, src)))

        p = torch.arange(trg.size(1), device=trg.device)
        dec = self.trg_emb(trg) + self.pos(p)
        self_mask = pad_mask(trg, trg) | look_ahead_mask(trg)
        dec = self.dec_attn(dec, dec, dec, self_mask)
        dec = self.cross_attn(dec, enc, enc, pad_mask(src, trg))
        return self.proj(self.dec_ffn(dec))


def corpus(n, max_word, n_vocab, seed=0):
    rng = np.random.RandomState(seed)
    src, trg = np.zeros((n, max_word), int), np.zeros((n, max_word), int)
    for i in range(n):
        k = rng.randint(3, max_word - 1)
        words = rng.randint(3, n_vocab, k)
        src[i, :k + 2] = [BOS, *words, EOS]
        trg[i, :k + 2] = [BOS, *words[::-1], EOS]
    return torch.from_numpy(src), torch.from_numpy(trg)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-epoch', type=int, default=3)
    parser.add_argument('-batch_size', type=int, default=32)
    opt = parser.parse_args()
    torch.manual_seed(0)
    src, trg = corpus(320, 12, 30)
    model = Transformer(30, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    for epoch in range(opt.epoch):
        total, words = 0, 0
        for i in range(0, len(src), opt.batch_size):
            s, t = src[i:i + opt.batch_size], trg[i:i + opt.batch_size]
            pred, gold = model(s, t[:, :-1]), t[:, 1:]
            loss = F.cross_entropy(pred.reshape(-1, 30), gold.reshape(-1), ignore_index=PAD, reduction='sum')
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, words = total + loss.item(), words + gold.ne(PAD).sum().item()
        print('[epoch %d] ppl %.3f' % (epoch, math.exp(min(total / words, 100))))
