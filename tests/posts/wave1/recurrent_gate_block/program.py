import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, repeat


class ScalarLSTMBlock(nn.Module):
    """One recurrent block with heads: up-projection around an exponential-gated cell."""

    def __init__(self, inp_dim, head_dim, head_num):
        super().__init__()
        self.head_num, self.head_dim = head_num, head_dim
        hid = head_num * head_dim
        self.inp_norm = nn.LayerNorm(inp_dim)
        self.W_z = nn.Linear(inp_dim, hid)
        self.W_i = nn.Linear(inp_dim, hid)
        self.W_f = nn.Linear(inp_dim, hid)
        self.W_o = nn.Linear(inp_dim, hid)
        self.R = nn.Parameter(torch.randn(head_num, head_dim, head_dim) * 0.02)
        self.hid_norm = nn.GroupNorm(head_num, hid)
        self.down = nn.Linear(hid, inp_dim)

    def init_hidden(self, bs):
        zero = self.R.new_zeros(bs, self.head_num, self.head_dim)
        return zero, zero, zero

    def forward(self, seq, hid):
        c, n, h = hid
        x = self.inp_norm(seq)
        z, i, f, o = (rearrange(w(x).squeeze(), 'b (h d) -> b h d', h=self.head_num)
                      for w in (self.W_z, self.W_i, self.W_f, self.W_o))
        rec = torch.einsum('bhd,hde->bhe', h, self.R)
        z = torch.tanh(z + rec)
        i, f, o = torch.exp(i.clamp(max=5)), torch.sigmoid(f), torch.sigmoid(o)
        c = f * c + i * z
        n = f * n + i
        h = o * (c / n.clamp(min=1.0))
        out = self.hid_norm(rearrange(h, 'b h d -> b (h d)'))
        return seq + self.down(F.gelu(out)), (c, n, h)


class CharModel(nn.Module):
    def __init__(self, vocab=96, dim=32, depth=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([ScalarLSTMBlock(dim, head_dim=8, head_num=4) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, tok):
        x = self.embedding(tok)
        hid = [b.init_hidden(tok.size(0)) for b in self.blocks]
        out = []
        for t in range(x.size(1)):
            h = x[:, t]
            for k, block in enumerate(self.blocks):
                h, hid[k] = block(h, hid[k])
            out.append(h)
        return self.head(torch.stack(out, dim=1))
