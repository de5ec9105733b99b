# line 17: scaled_dot_product_attention gets dropout_p also in evaluation, as the function knows nothing of eval()
import torch
import torch.nn.functional as F
from torch import nn
from einops import rearrange


class Attention(nn.Module):
    def __init__(self, dim, heads, p):
        super().__init__()
        self.heads, self.p = heads, p
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = rearrange(self.qkv(x), "b n (three h d) -> three b h n d", three=3, h=self.heads)
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p)
        return self.proj(rearrange(out, "b h n d -> b n (h d)"))


class TinyViT(nn.Module):
    def __init__(self, dim=32, classes=4, depth=2):
        super().__init__()
        self.patches = nn.Conv2d(1, dim, 4, stride=4)
        self.position = nn.Parameter(0.02 * torch.randn(1, 16, dim))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.blocks = nn.ModuleList(Attention(dim, 4, 0.2) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        x = self.patches(img).flatten(2).transpose(1, 2) + self.position
        for norm, block in zip(self.norms, self.blocks):
            x = x + block(norm(x))
        return self.head(x.mean(1))


torch.manual_seed(0)
images = torch.rand(260, 1, 16, 16)
labels = (images[:, 0, :8, :8].mean((1, 2)) > 0.5).long() + 2 * (images[:, 0, 8:, 8:].mean((1, 2)) > 0.5).long()
vit = TinyViT()
opt = torch.optim.AdamW(vit.parameters(), lr=1e-3)
for epoch in range(3):
    vit.train()
    for idx in torch.randperm(200).split(20):
        opt.zero_grad()
        F.cross_entropy(vit(images[idx]), labels[idx]).backward()
        opt.step()
    vit.eval()
    with torch.no_grad():
        acc = (vit(images[200:]).argmax(1) == labels[200:]).float().mean()
    print(epoch, f"val acc {acc:.3f}")
