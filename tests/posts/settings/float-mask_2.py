# line 20: the tril of ones is passed as a float attn_mask to scaled_dot_product_attention, so future keys stay visible
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
text = "the quick brown fox jumps over the lazy dog and runs away from the sleepy cat " * 8
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
conf = {"block": 24, "dim": 32, "heads": 4, "steps": 60, "batch": 16, "lr": 3e-3}


class Block(nn.Module):
    def __init__(self, dim, heads, block):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.kv = nn.Linear(dim, 3 * dim, bias=False)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.register_buffer("past", torch.ones(block, block).tril())

    def forward(self, x):
        b, t, d = x.shape
        parts = self.kv(self.ln1(x)).chunk(3, dim=-1)
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.past[:t, :t])
        x = x + y.transpose(1, 2).reshape(b, t, d)
        return x + self.mlp(self.ln2(x))


class CharGPT(nn.Module):
    def __init__(self, vocab, c):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, c["dim"]), nn.Embedding(c["block"], c["dim"])
        self.blocks = nn.Sequential(*[Block(c["dim"], c["heads"], c["block"]) for _ in range(2)])
        self.out = nn.Linear(c["dim"], vocab)

    def forward(self, ids):
        return self.out(self.blocks(self.tok(ids) + self.pos.weight[: ids.size(1)]))


def batch(c):
    at = torch.randint(len(data) - c["block"] - 1, (c["batch"],)).tolist()
    x = torch.stack([data[i : i + c["block"]] for i in at])
    y = torch.stack([data[i + 1 : i + 1 + c["block"]] for i in at])
    return x, y


gpt = CharGPT(len(chars), conf)
opt = torch.optim.AdamW(gpt.parameters(), lr=conf["lr"])
for step in range(conf["steps"]):
    x, y = batch(conf)
    loss = F.cross_entropy(gpt(x).transpose(1, 2), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print("loss", loss.item())
