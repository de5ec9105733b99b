import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class LayerNormalization(nn.Module):
    def __init__(self, d_hid, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.a_2 = nn.Parameter(torch.ones(d_hid))
        self.b_2 = nn.Parameter(torch.zeros(d_hid))

    def forward(self, z):
        if z.size(1) == 1:
            return z
        mu = torch.mean(z, dim=-1, keepdim=True)
        sigma = torch.std(z, dim=-1, keepdim=True)
        ln_out = (z - mu.expand_as(z)) / (sigma.expand_as(z) + self.eps)
        return ln_out * self.a_2 + self.b_2


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model):
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        self.norm = LayerNormalization(d_model)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.n_head, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        att = q @ k.transpose(-2, -1) / np.sqrt(q.size(-1))
        att = att.masked_fill(mask, float('-inf')).softmax(-1)
        out = (att @ v).transpose(1, 2).reshape(b, t, d)
        return self.norm(self.proj(out) + x)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_inner):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_inner)
        self.w_2 = nn.Linear(d_inner, d_model)
        self.norm = LayerNormalization(d_model)

    def forward(self, x):
        return self.norm(self.w_2(F.relu(self.w_1(x))) + x)


class Decoder(nn.Module):
    def __init__(self, n_vocab, n_max=24, d_model=48, n_layers=2, n_head=4):
        super().__init__()
        self.tok = nn.Embedding(n_vocab, d_model)
        self.pos = nn.Embedding(n_max, d_model)
        self.layers = nn.ModuleList(
            nn.ModuleList([MultiHeadAttention(n_head, d_model), FeedForward(d_model, 4 * d_model)])
            for _ in range(n_layers))
        self.out = nn.Linear(d_model, n_vocab)

    def forward(self, seq):
        t = seq.size(1)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        x = self.tok(seq) + self.pos(torch.arange(t))
        for att, ff in self.layers:
            x = ff(att(x, mask))
        return self.out(x)


class Walks(Dataset):
    def __init__(self, n=600, length=21, n_vocab=30, seed=0):
        rng = np.random.default_rng(seed)
        step = rng.integers(1, 4, (n, 1))
        start = rng.integers(0, n_vocab, (n, 1))
        jump = rng.integers(0, 2, (n, length))
        self.seq = torch.from_numpy((start + np.cumsum(step + jump, axis=1)) % n_vocab)

    def __len__(self):
        return len(self.seq)

    def __getitem__(self, i):
        return self.seq[i, :-1], self.seq[i, 1:]


def main(epochs=4):
    torch.manual_seed(0)
    loader = DataLoader(Walks(), batch_size=32, shuffle=True)
    model = Decoder(n_vocab=30)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for src, tgt in loader:
            loss = F.cross_entropy(model(src).flatten(0, 1), tgt.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch}: ppl {np.exp(total / len(loader)):.2f}')


if __name__ == '__main__':
    main()
