import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

src_pad_idx, trg_pad_idx, src_unk_idx, trg_unk_idx, trg_sos_idx = 1, 0, 0, 1, 2
enc_voc_size, dec_voc_size, max_len = 300, 280, 24


class Embedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len, pad_idx, drop_prob):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model, padding_idx=pad_idx)
        pos = torch.arange(max_len).float().unsqueeze(1) / 10000 ** (torch.arange(0, d_model, 2).float() / d_model)
        self.register_buffer('pos', torch.stack([pos.sin(), pos.cos()], -1).flatten(1))
        self.drop_out = nn.Dropout(drop_prob)

    def forward(self, x):
        return self.drop_out(self.tok_emb(x) + self.pos[:x.size(1)])


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_concat = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.n_head, -1).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        score = q @ k.transpose(2, 3) / math.sqrt(k.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000)
        out = torch.softmax(score, dim=-1) @ v
        return self.w_concat(out.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head, drop_prob, cross=False):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head)
        self.cross = MultiHeadAttention(d_model, n_head) if cross else None
        self.ffn = nn.Sequential(nn.Linear(d_model, ffn_hidden), nn.ReLU(), nn.Linear(ffn_hidden, d_model))
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])
        self.dropout = nn.Dropout(drop_prob)

    def forward(self, x, mask, enc=None, enc_mask=None):
        x = self.norms[0](x + self.dropout(self.attention(x, x, x, mask)))
        if self.cross is not None:
            x = self.norms[1](x + self.dropout(self.cross(x, enc, enc, enc_mask)))
        return self.norms[2](x + self.dropout(self.ffn(x)))


class Transformer(nn.Module):
    def __init__(self, src_pad_idx, trg_pad_idx, d_model=128, n_head=8, ffn_hidden=256, n_layers=2, drop_prob=0.1):
        super().__init__()
        self.src_pad_idx = src_pad_idx
        self.trg_pad_idx = trg_pad_idx
        self.src_emb = Embedding(enc_voc_size, d_model, max_len, src_pad_idx, drop_prob)
        self.trg_emb = Embedding(dec_voc_size, d_model, max_len, trg_pad_idx, drop_prob)
        self.encoder = nn.ModuleList([Layer(d_model, ffn_hidden, n_head, drop_prob) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([Layer(d_model, ffn_hidden, n_head, drop_prob, True) for _ in range(n_layers)])
        self.linear = nn.Linear(d_model, dec_voc_size)

    def forward(self, src, trg):
        src_mask = self.make_pad_mask(src, src)
        src_trg_mask = self.make_pad_mask(trg, src)
        trg_mask = self.make_pad_mask(trg, trg) & self.make_no_peak_mask(trg)
        enc = self.src_emb(src)
        for layer in self.encoder:
            enc = layer(enc, src_mask)
        out = self.trg_emb(trg)
        for layer in self.decoder:
            out = layer(out, trg_mask, enc, src_trg_mask)
        return self.linear(out)

    def make_pad_mask(self, q, k):
        k = k.ne(self.src_pad_idx).unsqueeze(1).unsqueeze(2)
        q = q.ne(self.src_pad_idx).unsqueeze(1).unsqueeze(3)
        return k & q

    def make_no_peak_mask(self, trg):
        return torch.tril(torch.ones(trg.size(1), trg.size(1), dtype=torch.bool, device=trg.device))


def sentences(n, voc_size, pad_idx, unk_idx, seed):
    g = torch.Generator().manual_seed(seed)
    batch = torch.full((n, max_len), pad_idx)
    for row in batch:
        length = int(torch.randint(6, max_len + 1, (1,), generator=g))
        row[:length] = torch.randint(4, voc_size, (length,), generator=g)
        row[:length][torch.rand(length, generator=g) < 0.1] = unk_idx
        row[0] = trg_sos_idx
    return batch


torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
train_iter = DataLoader(TensorDataset(sentences(96, enc_voc_size, src_pad_idx, src_unk_idx, 1),
                                      sentences(96, dec_voc_size, trg_pad_idx, trg_unk_idx, 2)), batch_size=32, shuffle=True)
model = Transformer(src_pad_idx, trg_pad_idx).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, weight_decay=5e-4, eps=5e-9)
criterion = nn.CrossEntropyLoss(ignore_index=trg_pad_idx)
for step in range(2):
    model.train()
    epoch_loss = 0
    for src, trg in train_iter:
        src, trg = src.to(device), trg.to(device)
        optimizer.zero_grad()
        output = model(src, trg[:, :-1])
        loss = criterion(output.reshape(-1, dec_voc_size), trg[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item()
    print('step : %d, loss : %.4f' % (step, epoch_loss / len(train_iter)))
