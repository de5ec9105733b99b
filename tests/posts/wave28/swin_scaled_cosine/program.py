import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def window_partition(x, ws):
    b, c, h, w = x.shape
    x = x.view(b, c, h // ws, ws, w // ws, ws)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(-1, ws * ws, c)


def window_reverse(windows, ws, h, w):
    c = windows.shape[-1]
    b = windows.shape[0] // ((h // ws) * (w // ws))
    x = windows.view(b, h // ws, w // ws, ws, ws, c)
    return x.permute(0, 5, 1, 3, 2, 4).reshape(b, c, h, w)


class WindowAttentionV2(nn.Module):
    """Window attention with scaled cosine similarity and log-spaced continuous position bias."""

    def __init__(self, dim, window_size, heads, meta_hidden=32, dropout=0.0):
        super().__init__()
        self.ws = window_size
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(dropout)
        self.tau = nn.Parameter(torch.full((1, heads, 1, 1), 0.1))
        self.meta = nn.Sequential(nn.Linear(2, meta_hidden), nn.ReLU(), nn.Linear(meta_hidden, heads))
        axis = torch.arange(window_size)
        coords = torch.stack(torch.meshgrid(axis, axis, indexing="ij")).flatten(1)
        rel = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0).float()
        self.register_buffer("rel_log", torch.sign(rel) * torch.log(1.0 + rel.abs()))

    def forward(self, x):
        n, l, c = x.shape
        q, k, v = self.qkv(x).view(n, l, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        attn = torch.einsum("bhqd,bhkd->bhqk", q, k)
        norm = torch.norm(q, dim=-1, keepdim=True) * torch.norm(k, dim=-1, keepdim=True)
        attn = attn / torch.clamp(norm, min=1e-6)
        attn = attn / self.tau.clamp(min=0.01)
        attn = attn + self.meta(self.rel_log).permute(2, 0, 1).unsqueeze(0)
        attn = attn.softmax(dim=-1)
        out = torch.einsum("bhqk,bhkd->bhqd", self.drop(attn), v)
        return self.proj(out.transpose(1, 2).reshape(n, l, c))


class SwinBlockV2(nn.Module):
    def __init__(self, dim, window_size, heads, shift):
        super().__init__()
        self.ws, self.shift = window_size, shift
        self.attn = WindowAttentionV2(dim, window_size, heads)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, c, h, w = x.shape
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), dims=(2, 3))
        win = window_partition(x, self.ws)
        win = win + self.norm1(self.attn(win))
        win = win + self.norm2(self.mlp(win))
        x = window_reverse(win, self.ws, h, w)
        if self.shift:
            x = torch.roll(x, (self.shift, self.shift), dims=(2, 3))
        return x


class TinySwinV2(nn.Module):
    def __init__(self, num_classes, dim=32, window_size=4, heads=4):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, kernel_size=4, stride=4)
        self.blocks = nn.Sequential(
            SwinBlockV2(dim, window_size, heads, shift=0),
            SwinBlockV2(dim, window_size, heads, shift=window_size // 2),
        )
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        return self.head(self.blocks(self.patch(x)).mean(dim=(2, 3)))


def textures(n, num_classes=6, size=32):
    y = torch.randint(0, num_classes, (n,))
    grid = torch.arange(size).float()
    freq = (0.25 + 0.2 * y.float()).view(-1, 1, 1)
    wave = torch.sin(freq * grid.view(1, 1, -1) + freq * 0.5 * grid.view(1, -1, 1))
    return TensorDataset(wave.unsqueeze(1) + 0.8 * torch.randn(n, 3, size, size), y)


def main():
    torch.manual_seed(0)
    train_set, test_set = textures(480), textures(180)
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    model = TinySwinV2(num_classes=6)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(4):
        model.train()
        running = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            running += loss.item()
        model.eval()
        with torch.no_grad():
            x, y = test_set.tensors
            acc = (model(x).argmax(dim=1) == y).float().mean().item()
        print(f"epoch {epoch}: loss {running / len(loader):.4f}  test acc {acc:.3f}")


if __name__ == "__main__":
    main()
