import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


def timestep_embedding(t, dim):
    freqs = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    args = t[:, None] * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class TransformerBlock(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.wo = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))
        self.adaLN = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))

    def attention(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        return self.wo(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, c):
        s1, sc1, g1, s2, sc2, g2 = self.adaLN(c).chunk(6, dim=1)
        x = x + g1.unsqueeze(1) * self.attention(modulate(self.norm1(x), s1, sc1))
        return x + g2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), s2, sc2))


class DiT(nn.Module):
    def __init__(self, in_channels=3, input_size=32, patch_size=2, dim=128, n_layers=3, n_heads=4, num_classes=10):
        super().__init__()
        self.out_channels, self.patch_size = in_channels, patch_size
        self.init_conv_seq = nn.Sequential(
            nn.Conv2d(in_channels, dim // 2, 5, padding=2), nn.SiLU(), nn.GroupNorm(32, dim // 2))
        self.x_embedder = nn.Linear(patch_size * patch_size * dim // 2, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, (input_size // patch_size) ** 2, dim))
        self.t_embedder = nn.Sequential(nn.Linear(256, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.y_embedder = nn.Embedding(num_classes, dim)
        self.layers = nn.ModuleList([TransformerBlock(dim, n_heads) for _ in range(n_layers)])
        self.final_norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.final_layer = nn.Linear(dim, patch_size * patch_size * in_channels)

    def patchify(self, x):
        b, c, h, w = x.size()
        p = self.patch_size
        x = x.view(b, c, h // p, p, w // p, p)
        return x.permute(0, 2, 4, 1, 3, 5).flatten(-3).flatten(1, 2)

    def unpatchify(self, x):
        c, p = self.out_channels, self.patch_size
        h = w = int(x.shape[1] ** 0.5)
        x = x.reshape(x.shape[0], h, w, p, p, c)
        x = torch.einsum("nhwpqc->nchpwq", x)
        return x.reshape(x.shape[0], c, h * p, w * p)

    def forward(self, x, t, y):
        x = self.x_embedder(self.patchify(self.init_conv_seq(x))) + self.pos
        c = self.t_embedder(timestep_embedding(t, 256)) + self.y_embedder(y)
        for layer in self.layers:
            x = layer(x, c)
        return self.unpatchify(self.final_layer(self.final_norm(x)))


class RF:
    def __init__(self, model):
        self.model = model

    def forward(self, x, cond):
        t = torch.sigmoid(torch.randn(x.size(0), device=x.device))
        texp = t.view(-1, 1, 1, 1)
        z1 = torch.randn_like(x)
        zt = (1 - texp) * x + texp * z1
        vtheta = self.model(zt, t, cond)
        return ((z1 - x - vtheta) ** 2).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images, labels = torch.rand(32, 3, 32, 32) * 2 - 1, torch.randint(0, 10, (32,))
    dataloader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True, drop_last=True)
    model = DiT().to(device)
    rf = RF(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for epoch in range(1):
        for i, (x, c) in enumerate(dataloader):
            optimizer.zero_grad()
            loss = rf.forward(x.to(device), c.to(device))
            loss.backward()
            optimizer.step()
            print(epoch, i, loss.item())
