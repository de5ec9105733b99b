"""A small hierarchical window-attention backbone (Swin style) for 96 x 96 texture patches."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def textures(n, size=96):
    y = torch.randint(0, 4, (n,))
    g = torch.linspace(0, 1, size)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    angle = y.float() * 0.785
    phase = torch.rand(n) * 6.28
    arg = 40 * (torch.cos(angle)[:, None, None] * xx + torch.sin(angle)[:, None, None] * yy)
    x = torch.sin(arg + phase[:, None, None]).unsqueeze(1) + 0.5 * torch.randn(n, 1, size, size)
    return x, y


def window_partition(x, w):
    B, H, W, C = x.shape
    x = x.view(B, H // w, w, W // w, w, C)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, C)


def window_reverse(win, w, H, W):
    B = win.shape[0] // ((H // w) * (W // w))
    x = win.view(B, H // w, W // w, w, w, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


class WindowBlock(nn.Module):
    def __init__(self, dim, heads, window, shift):
        super().__init__()
        self.window, self.shift = window, shift
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        B, H, W, C = x.shape
        h = self.norm1(x)
        if self.shift:
            h = torch.roll(h, (-self.shift, -self.shift), dims=(1, 2))
        win = window_partition(h, self.window)
        win = self.attn(win, win, win, need_weights=False)[0]
        h = window_reverse(win, self.window, H, W)
        if self.shift:
            h = torch.roll(h, (self.shift, self.shift), dims=(1, 2))
        x = x + h
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.reduce = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x):
        x = torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], dim=-1)
        return self.reduce(x)


class MiniSwin(nn.Module):
    def __init__(self, classes=4, dim=24, window=8, depths=(2, 2, 2)):
        super().__init__()
        self.embed = nn.Conv2d(1, dim, 4, stride=4)
        stages = []
        for s, depth in enumerate(depths):
            d = dim * 2 ** s
            if s > 0:
                stages.append(PatchMerging(d // 2))
            for i in range(depth):
                stages.append(WindowBlock(d, 2 ** (s + 1), window, 0 if i % 2 == 0 else window // 2))
        self.stages = nn.Sequential(*stages)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 3, 1)
        x = self.norm(self.stages(x))
        return self.head(x.mean(dim=(1, 2)))


model = MiniSwin()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
train = DataLoader(TensorDataset(*textures(192)), batch_size=32, shuffle=True)
xt, yt = textures(64)
for epoch in range(4):
    model.train()
    for x, y in train:
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = (model(xt).argmax(1) == yt).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f}")
