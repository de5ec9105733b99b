import torch
from torch import nn
import torch.nn.functional as F
from einops import rearrange


class EinsumAttention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in (q, k, v))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.size(-1) ** -0.5
        attn = scores.softmax(dim=-1)
        out = torch.einsum("bhqk,bhqd->bhkd", attn, v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)"))


class PatchTransformer(nn.Module):
    def __init__(self, patch=4, dim=32, n_patches=25, classes=2):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch * patch, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, n_patches, dim))
        self.norm = nn.LayerNorm(dim)
        self.attn = EinsumAttention(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        x = rearrange(img, "b 1 (h p) (w q) -> b (h w) (p q)", p=self.patch, q=self.patch)
        x = self.embed(x) + self.pos
        x = x + self.attn(self.norm(x))
        return self.head(x.mean(dim=1))


images = 0.3 * torch.randn(1200, 1, 20, 20)
labels = torch.randint(0, 2, (1200,))
patterns = (torch.rand(2, 4, 4) > 0.5).float()
for i, label in enumerate(labels.tolist()):
    a, b = torch.randperm(25)[:2].tolist()
    for cell, which in ((a, 0), (b, label)):
        r, c = 4 * (cell // 5), 4 * (cell % 5)
        images[i, 0, r:r + 4, c:c + 4] += patterns[which]
model = PatchTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(1000).split(50):
        loss = F.cross_entropy(model(images[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(images[1000:]).argmax(1) == labels[1000:]).float().mean().item()
    print(f"epoch {epoch}: train loss {loss.item():.3f}, held-out accuracy {acc:.3f}")
