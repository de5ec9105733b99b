import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """Grey images with one filled rectangle or disc."""

    def __init__(self, n, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        images = []
        for i in range(n):
            cy, cx = torch.randint(8, size - 8, (2,), generator=g).tolist()
            r = torch.randint(3, 8, (1,), generator=g).item()
            if i % 2:
                mask = ((yy - cy).abs() <= r) & ((xx - cx).abs() <= r)
            else:
                mask = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
            images.append(mask.float().unsqueeze(0))
        self.images = torch.stack(images)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


class Patchify(nn.Module):
    """Cut a feature map into horizontal strips."""

    def __init__(self, n_strips):
        super().__init__()
        self.n_strips = n_strips

    def forward(self, hidden):
        step = (hidden.shape[2] + self.n_strips - 1) // self.n_strips
        return [hidden[:, :, i * step:(i + 1) * step].contiguous() for i in range(self.n_strips)]


class DePatchify(nn.Module):
    """Put the strips back together."""

    def forward(self, strips):
        heights = [s.shape[2] for s in strips]
        channels, width = strips[0].shape[1], strips[0].shape[3]
        hidden = strips[0].new_empty([1, channels, sum(heights), width])
        row = 0
        for strip, h in zip(strips, heights):
            hidden[:, :, row:row + h] = strip
            row += h
        return hidden


class UpBlock(nn.Module):
    def __init__(self, in_c, out_c):
        super().__init__()
        self.norm = nn.GroupNorm(4, in_c)
        self.conv = nn.Conv2d(in_c, out_c, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(F.silu(self.norm(x)), scale_factor=2.0, mode="nearest"))


class StripVAE(nn.Module):
    def __init__(self, latent=4, width=32, n_strips=2):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1), nn.SiLU(),
            nn.Conv2d(width, width, 4, 2, 1), nn.SiLU(),
            nn.Conv2d(width, 2 * latent, 3, 1, 1),
        )
        self.conv_in = nn.Conv2d(latent, width, 3, padding=1)
        self.patchify = Patchify(n_strips)
        self.up = nn.Sequential(UpBlock(width, width), UpBlock(width, width))
        self.depatchify = DePatchify()
        self.conv_out = nn.Conv2d(width, 1, 3, padding=1)

    def decode(self, z):
        hidden = self.conv_in(z)
        strips = [self.up(s) for s in self.patchify(hidden)]
        return self.conv_out(self.depatchify(strips))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return self.decode(z), mean, logvar


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--strips", type=int, default=2)
    parser.add_argument("--beta", type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    loader = DataLoader(Shapes(256), batch_size=args.batch_size, shuffle=True)
    model = StripVAE(n_strips=args.strips)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        total = 0.0
        for x in loader:
            recon, mean, logvar = model(x)
            kl = -0.5 * (1 + logvar - mean ** 2 - logvar.exp()).mean()
            loss = F.binary_cross_entropy_with_logits(recon, x) + args.beta * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")

    model.eval()
    with torch.no_grad():
        recon, _, _ = model(Shapes(1, seed=9).images)
    print("sample", tuple(recon.shape))


if __name__ == "__main__":
    main()
