import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange


class AxisWindowAttention(nn.Module):
    """half of the channels attend within horizontal strips, half within vertical ones"""

    def __init__(self, dim, heads=2, width=4):
        super().__init__()
        self.width = width
        self.norm = nn.GroupNorm(4, dim)
        self.attn_h = nn.MultiheadAttention(dim // 2, heads, batch_first=True)
        self.attn_w = nn.MultiheadAttention(dim // 2, heads, batch_first=True)
        self.proj = nn.Conv2d(dim, dim, 1)

    def forward(self, src):
        b, c, h, w = src.shape
        x = self.norm(src)
        x1 = rearrange(x[:, :c // 2], 'b c (h1 h2) w -> (b h1) (h2 w) c', h2=self.width)
        x2 = rearrange(x[:, c // 2:], 'b c h (w1 w2) -> (b w1) (h w2) c', w2=self.width)
        x1, _ = self.attn_h(x1, x1, x1, need_weights=False)
        x2, _ = self.attn_w(x2, x2, x2, need_weights=False)
        x1 = rearrange(x1, '(b h1) (h2 w) c -> b c (h1 h2) w', b=b, h2=self.width)
        x2 = rearrange(x2, '(b w1) (h w2) c -> b c h (w1 w2)', b=b, w2=self.width)
        return src + self.proj(torch.cat([x1, x2], dim=1))


class MattingNet(nn.Module):
    def __init__(self, dim=16, depth=2):
        super().__init__()
        self.stem = nn.Conv2d(4, dim, 3, padding=1)
        self.blocks = nn.Sequential(*[
            nn.Sequential(AxisWindowAttention(dim), nn.Conv2d(dim, dim, 3, padding=1), nn.ReLU())
            for _ in range(depth)])
        self.head = nn.Conv2d(dim, 1, 3, padding=1)

    def forward(self, image, trimap):
        x = torch.cat([image, trimap], dim=1)
        return torch.sigmoid(self.head(self.blocks(self.stem(x))))


def composites(n, size=16):
    """soft discs in front of a background of another colour, with a rough trimap"""
    gen = torch.Generator().manual_seed(14)
    i, j = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    centre = 5 + 6 * torch.rand(n, 2, 1, 1, generator=gen)
    radius = 3 + 2 * torch.rand(n, 1, 1, generator=gen)
    dist = ((i - centre[:, 0]) ** 2 + (j - centre[:, 1]) ** 2).sqrt()
    alpha = torch.sigmoid(radius - dist).unsqueeze(1)
    fg, bg = torch.rand(2, n, 3, 1, 1, generator=gen)
    image = alpha * fg + (1 - alpha) * bg + 0.02 * torch.randn(n, 3, size, size, generator=gen)
    trimap = torch.where(alpha > 0.9, 1.0, torch.where(alpha < 0.1, 0.0, 0.5))
    return image, trimap, alpha


@torch.no_grad()
def evaluate(model, image, trimap, alpha, batch_size):
    model.eval()
    parts = [model(a, t) for a, t in zip(image.split(batch_size), trimap.split(batch_size))]
    return F.l1_loss(torch.cat(parts), alpha).item()


def main():
    torch.manual_seed(0)
    image, trimap, alpha = composites(144)
    model = MattingNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(128).split(16):
            loss = F.l1_loss(model(image[idx], trimap[idx]), alpha[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch %d loss %.4f" % (epoch, loss.item()))
    val = image[128:], trimap[128:], alpha[128:]
    print("val SAD, 16 at once %.6f, one by one %.6f" % (evaluate(model, *val, 16), evaluate(model, *val, 1)))


if __name__ == "__main__":
    main()
