import math
import re

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.q_attn = nn.Linear(n_embd, n_embd, bias=False)
        self.k_attn = nn.Linear(n_embd, n_embd, bias=False)
        self.v_attn = nn.Linear(n_embd, n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, self.n_head, -1).transpose(1, 2) for f in (self.q_attn, self.k_attn, self.v_attn))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(n_embd), nn.RMSNorm(n_embd)
        self.attn = Attention(n_embd, n_head)
        self.W = nn.Linear(n_embd, 2 * n_embd, bias=False)
        self.V = nn.Linear(n_embd, 2 * n_embd, bias=False)
        self.W_2 = nn.Linear(2 * n_embd, n_embd, bias=False)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        h = self.norm2(x)
        return x + self.W_2(F.silu(self.W(h)) * self.V(h))


class Decoder(nn.Module):
    def __init__(self, vocab, n_embd=256, n_layer=2, n_head=4, use_weight_tying=True):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.h = nn.ModuleList(Block(n_embd, n_head) for _ in range(n_layer))
        self.norm = nn.RMSNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)
        if use_weight_tying:
            self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        x = self.wte(idx)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.norm(x))


class LlamaInitializer:
    def __init__(self, n_layer, n_embd):
        depth_std = 0.02 / math.sqrt(2 * n_layer)
        self.std_by_name = {
            r"wte\.weight": 1.0,
            r"lm_head\.weight": 1 / math.sqrt(n_embd),
            r"h\.\d+\.attn\.(q|k|v)_attn\.weight": 0.02,
            r"h\.\d+\.attn\.c_proj\.weight": depth_std,
            r"h\.\d+\.W\.weight": 0.02,
            r"h\.\d+\.(V|W_2)\.weight": depth_std,
        }

    @torch.no_grad()
    def initialize_in_place(self, model):
        for name, p in model.named_parameters():
            for pattern, std in self.std_by_name.items():
                if re.fullmatch(pattern, name):
                    nn.init.trunc_normal_(p, mean=0.0, std=std, a=-3 * std, b=3 * std)


def batches(vocab, steps, batch=16, length=32):
    for _ in range(steps):
        start = torch.randint(0, vocab, (batch, 1))
        stride = torch.randint(1, 4, (batch, 1))
        ids = (start + stride * torch.arange(length + 1)) % vocab
        yield ids[:, :-1], ids[:, 1:]


def main():
    torch.manual_seed(0)
    vocab = 256
    model = Decoder(vocab)
    LlamaInitializer(n_layer=2, n_embd=256).initialize_in_place(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    for step, (x, y) in enumerate(batches(vocab, 40)):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
