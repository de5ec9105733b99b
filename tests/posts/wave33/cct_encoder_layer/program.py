import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from timm.layers import DropPath
from torch.utils.data import DataLoader, TensorDataset


class Attention(nn.Module):
    def __init__(self, dim, num_heads=4, attention_dropout=0.1, projection_dropout=0.1):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.attn_drop = nn.Dropout(attention_dropout)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(projection_dropout)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        attn = self.attn_drop((q @ k.transpose(-2, -1) * self.scale).softmax(dim=-1))
        return self.proj_drop(self.proj((attn @ v).transpose(1, 2).reshape(B, N, C)))


class EncoderLayer(nn.Module):
    """Pre-norm transformer encoder layer with stochastic depth."""

    def __init__(self, d_model, nhead, dim_feedforward=128, dropout=0.1, drop_path_rate=0.1):
        super().__init__()
        self.pre_norm = nn.LayerNorm(d_model)
        self.self_attn = Attention(d_model, nhead, dropout, dropout)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.dropout1 = nn.Dropout(dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.dropout2 = nn.Dropout(dropout)
        self.drop_path = DropPath(drop_path_rate) if drop_path_rate > 0 else nn.Identity()

    def forward(self, src):
        src = src + self.drop_path(self.self_attn(self.pre_norm(src)))
        src = self.norm1(src)
        src2 = self.linear2(self.dropout1(F.gelu(self.linear1(src))))
        src = src + self.drop_path(self.dropout2(src2))
        return src


class Tokenizer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(3, dim, 3, padding=1, bias=False)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, x):
        x = self.pool(F.relu(self.conv(x)))
        return self.pool(x).flatten(2).transpose(1, 2)


class CompactTransformer(nn.Module):
    def __init__(self, dim=48, depth=4, nhead=4, num_classes=4, tokens=36):
        super().__init__()
        self.tokenizer = Tokenizer(dim)
        self.positional = nn.Parameter(torch.randn(1, tokens, dim) * 0.02)
        rates = [r.item() for r in torch.linspace(0, 0.1, depth)]
        self.blocks = nn.Sequential(*[EncoderLayer(dim, nhead, drop_path_rate=r) for r in rates])
        self.norm = nn.LayerNorm(dim)
        self.attention_pool = nn.Linear(dim, 1)
        self.fc = nn.Linear(dim, num_classes)

    def forward(self, x):
        x = self.tokenizer(x) + self.positional
        x = self.norm(self.blocks(x))
        w = F.softmax(self.attention_pool(x), dim=1)
        return self.fc((w.transpose(1, 2) @ x).squeeze(1))


def textures(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    grid = torch.arange(24.)
    angle = y.float() * math.pi / 4
    wave = torch.cos(angle).view(-1, 1, 1) * grid.view(1, 1, -1) + torch.sin(angle).view(-1, 1, 1) * grid.view(1, -1, 1)
    phase = torch.rand(n, 1, 1, generator=g) * 6.28
    x = torch.sin(wave + phase).unsqueeze(1).repeat(1, 3, 1, 1)
    return TensorDataset(x + 0.8 * torch.randn(n, 3, 24, 24, generator=g), y)


def main():
    torch.manual_seed(0)
    train = DataLoader(textures(384, 0), batch_size=32, shuffle=True)
    val = DataLoader(textures(128, 1), batch_size=64)
    model = CompactTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=3e-2)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(2):
        model.train()
        running = 0.0
        for x, y in train:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        model.eval()
        with torch.no_grad():
            top1 = sum((model(x).argmax(1) == y).sum().item() for x, y in val) / len(val.dataset)
        print(f"[epoch {epoch}] loss {running / len(train):.4f} top-1 {100 * top1:.2f}")


if __name__ == "__main__":
    main()
