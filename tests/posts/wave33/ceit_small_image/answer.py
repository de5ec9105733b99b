import torch
import torch.nn as nn
from einops import rearrange, repeat
from einops.layers.torch import Rearrange
from torch.utils.data import DataLoader, TensorDataset

IMAGE_SIZE = 112
NUM_CLASS = 20
BATCH = 8


class Image2Tokens(nn.Module):
    def __init__(self, out_channels=32):
        super().__init__()
        self.conv = nn.Conv2d(3, out_channels, 7, stride=2, padding=3, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, x):
        return self.pool(self.bn(self.conv(x)))


class LeFF(nn.Module):
    def __init__(self, dim, scale=4, depth_kernel=3):
        super().__init__()
        scale_dim = dim * scale
        self.up_proj = nn.Sequential(
            nn.Linear(dim, scale_dim),
            Rearrange("b n c -> b c n"),
            nn.BatchNorm1d(scale_dim),
            nn.GELU(),
            Rearrange("b c (h w) -> b c h w", h=7, w=7),
        )
        self.depth_conv = nn.Sequential(
            nn.Conv2d(scale_dim, scale_dim, depth_kernel, padding=1, groups=scale_dim, bias=False),
            nn.BatchNorm2d(scale_dim),
            nn.GELU(),
            Rearrange("b c h w -> b (h w) c", h=7, w=7),
        )
        self.down_proj = nn.Linear(scale_dim, dim)

    def forward(self, x):
        x = self.up_proj(x)
        x = self.depth_conv(x)
        return self.down_proj(x)


class LocalBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.leff = LeFF(dim)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        cls, tokens = x[:, :1], x[:, 1:]
        tokens = tokens + self.leff(self.norm2(tokens))
        return torch.cat([cls, tokens], dim=1), cls


class CeiT(nn.Module):
    def __init__(self, image_size, patch_size, num_classes, dim=64, depth=3, heads=4, channels=32):
        super().__init__()
        self.image_to_tokens = Image2Tokens(channels)
        side = image_size // (4 * patch_size)
        self.patch_size = patch_size
        self.embed = nn.Linear(channels * patch_size ** 2, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos_embedding = nn.Parameter(torch.randn(1, side * side + 1, dim) * 0.02)
        self.blocks = nn.ModuleList([LocalBlock(dim, heads) for _ in range(depth)])
        self.lca = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def forward(self, img):
        x = self.image_to_tokens(img)
        x = rearrange(x, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=self.patch_size, p2=self.patch_size)
        x = self.embed(x)
        cls = repeat(self.cls_token, "1 1 d -> b 1 d", b=x.shape[0])
        x = torch.cat([cls, x], dim=1) + self.pos_embedding
        collected = []
        for block in self.blocks:
            x, c = block(x)
            collected.append(c)
        c = torch.cat(collected, dim=1)
        out, _ = self.lca(c[:, -1:], c, c)
        return self.head(out[:, 0])


def main():
    torch.manual_seed(0)
    faces = torch.randn(32, 3, IMAGE_SIZE, IMAGE_SIZE)
    ids = torch.randint(0, NUM_CLASS, (32,))
    loader = DataLoader(TensorDataset(faces, ids), batch_size=BATCH, shuffle=True)
    model = CeiT(image_size=IMAGE_SIZE, patch_size=4, num_classes=NUM_CLASS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        for img, label in loader:
            loss = criterion(model(img), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
