import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = 'cuda'
SRC_PAD, TRG_PAD = 1, 1
SRC_VOCAB, TRG_VOCAB = 200, 220


class Batch:
    def __init__(self, src, trg):
        self.src, self.trg = src, trg


def data_iter(n_batches=8, batch_size=16):
    rng = np.random.RandomState(0)
    for _ in range(n_batches):
        src_len, trg_len = rng.randint(8, 14), rng.randint(8, 14)
        src = rng.randint(4, SRC_VOCAB, (src_len, batch_size))
        trg = rng.randint(4, TRG_VOCAB, (trg_len, batch_size))
        src[-2:, ::3] = SRC_PAD
        trg[-2:, ::4] = TRG_PAD
        yield Batch(torch.from_numpy(src), torch.from_numpy(trg))


def nopeak_mask(size):
    np_mask = np.triu(np.ones((1, size, size)), k=1).astype('uint8')
    return (torch.from_numpy(np_mask) == 0).to(device)


def create_masks(src, trg):
    src_mask = (src != SRC_PAD).unsqueeze(-2)
    trg_mask = (trg != TRG_PAD).unsqueeze(-2)
    size = trg.size(1)
    np_mask = nopeak_mask(size)
    trg_mask = trg_mask & np_mask
    return src_mask, trg_mask


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model):
        super().__init__()
        self.h, self.d_k = heads, d_model // heads
        self.q_linear, self.k_linear = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_linear, self.out = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask):
        bs = q.size(0)
        q = self.q_linear(q).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        k = self.k_linear(k).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        v = self.v_linear(v).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        out = torch.matmul(F.softmax(scores, dim=-1), v)
        return self.out(out.transpose(1, 2).contiguous().view(bs, -1, self.h * self.d_k))


class Transformer(nn.Module):
    def __init__(self, src_vocab, trg_vocab, d_model=64, heads=4):
        super().__init__()
        self.src_embed, self.trg_embed = nn.Embedding(src_vocab, d_model), nn.Embedding(trg_vocab, d_model)
        self.enc_attn = MultiHeadAttention(heads, d_model)
        self.dec_attn1, self.dec_attn2 = MultiHeadAttention(heads, d_model), MultiHeadAttention(heads, d_model)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, trg_vocab)

    def forward(self, src, trg, src_mask, trg_mask):
        e = self.src_embed(src)
        e = self.norm1(e + self.enc_attn(e, e, e, src_mask))
        d = self.trg_embed(trg)
        d = self.norm2(d + self.dec_attn1(d, d, d, trg_mask))
        d = self.norm3(d + self.dec_attn2(d, e, e, src_mask))
        return self.out(d)


def train_model(model, epochs=2):
    print("training model...")
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0001, betas=(0.9, 0.98), eps=1e-9)
    for epoch in range(epochs):
        total_loss = 0
        for i, batch in enumerate(data_iter()):
            src = batch.src.transpose(0, 1)
            trg = batch.trg.transpose(0, 1)
            trg_input = trg[:, :-1]
            src_mask, trg_mask = create_masks(src, trg_input)
            preds = model(src, trg_input, src_mask, trg_mask)
            ys = trg[:, 1:].contiguous().view(-1)
            optimizer.zero_grad()
            loss = F.cross_entropy(preds.view(-1, preds.size(-1)), ys, ignore_index=TRG_PAD)
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
        print("epoch %d complete, loss = %.3f" % (epoch + 1, total_loss / (i + 1)))


model = Transformer(SRC_VOCAB, TRG_VOCAB).to(device)
train_model(model)
