import torch
import torch.nn as nn
import torch.nn.functional as F


def filterbanks(n, frames=48, mels=24):
    """made-up bird calls: a rising, a falling or a steady line in the mel bands"""
    gen = torch.Generator().manual_seed(2)
    y = torch.randint(0, 3, (n,), generator=gen)
    x = 0.5 * torch.randn(n, frames, mels, generator=gen)
    for i in range(n):
        for t in range(frames):
            band = {0: t * mels // frames, 1: mels - 1 - t * mels // frames, 2: mels // 2}[int(y[i])]
            x[i, t, band] += 3.0
    return x, y


class PatchEmbed(nn.Module):
    def __init__(self, dim, patch=8):
        super().__init__()
        self.proj = nn.Conv2d(1, dim, patch, stride=patch, bias=False)
        self.norm = nn.LayerNorm(dim)

    def forward(self, fbank):
        x = self.proj(fbank.unsqueeze(1))
        return self.norm(x.flatten(2).transpose(1, 2))


class ConvPosition(nn.Module):
    def __init__(self, dim, kernel=5, groups=4):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, kernel, padding=kernel // 2, groups=groups)

    def forward(self, x):
        return F.gelu(self.conv(x.transpose(1, 2))).transpose(1, 2)


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm1 = nn.LayerNorm(dim)
        self.ffn = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm2 = nn.LayerNorm(dim)

    def forward(self, x):
        h, _ = self.attn(x, x, x, need_weights=False)
        x = self.norm1(x + h)
        return self.norm2(x + self.ffn(x))


class Encoder(nn.Module):
    def __init__(self, dim=32, depth=2, heads=4):
        super().__init__()
        self.pos_conv = ConvPosition(dim)
        self.layer_norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList([Layer(dim, heads) for _ in range(depth)])

    def forward(self, x):
        x_conv = self.pos_conv(x)
        x = x.clone() + x_conv
        x = self.layer_norm(x)
        for layer in self.layers:
            x = layer(x)
        return x


class BirdTagger(nn.Module):
    def __init__(self, n_classes, dim=32):
        super().__init__()
        self.patches = PatchEmbed(dim)
        self.encoder = Encoder(dim)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, fbank):
        return self.head(self.encoder(self.patches(fbank)).mean(dim=1))


def main():
    torch.manual_seed(0)
    x, y = filterbanks(240)
    model = BirdTagger(n_classes=3)

    model.eval()
    with torch.no_grad():
        print("before fine-tuning: %.3f right" % (model(x).argmax(1) == y).float().mean())

    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(4):
        order = torch.randperm(len(x))
        for idx in order.split(40):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss %.4f" % loss.item())


if __name__ == "__main__":
    main()
