import torch
import torch.nn as nn
import torch.nn.functional as F


def look_ahead(n, device):
    i = torch.arange(n, device=device)
    # True where query may see key
    return i[:, None] <= i[None, :]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, allowed):
        b, t, c = x.shape
        qkv = self.qkv(self.norm(x)).view(b, t, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return x + self.out(y.transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self, vocab=45, dim=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, 3) for _ in range(2))

    def forward(self, ids):
        x = self.tok(ids)
        allowed = look_ahead(ids.size(1), ids.device)
        for block in self.blocks:
            x = block(x, allowed)
        return x @ self.tok.weight.t()


def example_inputs():
    return (torch.randint(0, 45, (2, 10)),)
