import torch
from einops import einsum, rearrange
from torch import nn

torch.manual_seed(0)


class CrossAttention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, context):
        q = rearrange(self.to_q(x), "b n (h d) -> b h n d", h=self.heads)
        k, v = rearrange(self.to_kv(context), "b m (two h d) -> two b h m d", two=2, h=self.heads)
        sim = einsum("b h n d, b h m d -> b h n m", q, k) * self.scale
        out = sim.softmax(dim=-1) @ v
        return self.out(rearrange(out, "b h n d -> b n (h d)"))


class Perceiver(nn.Module):
    def __init__(self, d_in, dim=32, latents=8, classes=3):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, dim) * 0.02)
        self.embed = nn.Linear(d_in, dim)
        self.attn = CrossAttention(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        lat = self.latents.expand(x.size(0), -1, -1)
        lat = lat + self.attn(lat, self.embed(x))
        return self.head(lat.mean(dim=1))


model = Perceiver(5)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(15):
    x = torch.randn(32, 40, 5)
    y = x.mean(dim=1)[:, :3].argmax(dim=1)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, f"{loss.item():.4f}")
