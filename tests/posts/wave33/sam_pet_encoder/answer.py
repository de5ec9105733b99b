import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

IMG = 128


class PatchEmbed(nn.Module):
    def __init__(self, patch=16, in_chans=3, dim=64):
        super().__init__()
        self.proj = nn.Conv2d(in_chans, dim, patch, stride=patch)

    def forward(self, x):
        x = self.proj(x)
        return x.permute(0, 2, 3, 1)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, h, w, c = x.shape
        y = self.norm1(x).view(b, h * w, c)
        x = x + self.attn(y, y, y, need_weights=False)[0].view(b, h, w, c)
        return x + self.mlp(self.norm2(x))


class ImageEncoder(nn.Module):
    def __init__(self, dim=64, depth=3, heads=4, out_chans=32):
        super().__init__()
        self.patch_embed = PatchEmbed(dim=dim)
        self.pos_embed = nn.Parameter(torch.zeros(1, IMG // 16, IMG // 16, dim))
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.neck = nn.Conv2d(dim, out_chans, 1, bias=False)

    def forward(self, x):
        x = self.patch_embed(x) + self.pos_embed
        for blk in self.blocks:
            x = blk(x)
        return self.neck(x.permute(0, 3, 1, 2))


class Adapter(nn.Module):
    """Mixes neighbouring slices of the frozen encoder's features."""

    def __init__(self, chans=32):
        super().__init__()
        self.mix = nn.Conv3d(chans, chans, 3, padding=1)
        self.head = nn.Conv2d(chans, 1, 1)

    def forward(self, feats):
        mixed = F.relu(self.mix(feats.permute(0, 2, 1, 3, 4))).permute(0, 2, 1, 3, 4)
        b, d, c, h, w = mixed.shape
        logits = self.head(mixed.reshape(b * d, c, h, w))
        logits = F.interpolate(logits, size=(IMG, IMG), mode="bilinear", align_corners=False)
        return logits.view(b, d, IMG, IMG)


class PETVolumes(Dataset):
    def __init__(self, n, depth=6, seed=0):
        gen = torch.Generator().manual_seed(seed)
        self.volumes = torch.rand(n, depth, IMG, IMG, generator=gen)
        self.masks = torch.zeros(n, depth, IMG, IMG)
        for i in range(n):
            r, c = torch.randint(10, IMG - 40, (2,), generator=gen).tolist()
            self.masks[i, 1:5, r : r + 30, c : c + 30] = 1
            self.volumes[i, 1:5, r : r + 30, c : c + 30] += 2.0

    def __len__(self):
        return len(self.volumes)

    def __getitem__(self, i):
        v = self.volumes[i]
        return (v - v.mean()) / v.std(), self.masks[i]


def encode(encoder, volume):
    b, d, h, w = volume.shape
    slices = volume.reshape(b * d, 1, h, w).repeat(1, 3, 1, 1)
    feats = encoder(slices)
    return feats.view(b, d, *feats.shape[1:])


def main():
    torch.manual_seed(0)
    encoder = ImageEncoder()
    for p in encoder.parameters():
        p.requires_grad_(False)
    encoder.eval()
    adapter = Adapter()
    optimizer = torch.optim.AdamW(adapter.parameters(), lr=2e-3)
    loader = DataLoader(PETVolumes(8), batch_size=2, shuffle=True)

    for epoch in range(2):
        for volume, mask in loader:
            with torch.no_grad():
                feats = encode(encoder, volume)
            logits = adapter(feats)
            loss = F.binary_cross_entropy_with_logits(logits, mask, pos_weight=torch.tensor(5.0))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", round(loss.item(), 4))


if __name__ == "__main__":
    main()
