import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(F.relu(self.conv1(x)))


class DualDenoiser(nn.Module):
    def __init__(self, n_channels, width=32, n_blocks=2):
        super().__init__()
        self.conv_head = nn.Conv2d(n_channels, width, 3, padding=1)
        self.branch_a = nn.Sequential(*[ResBlock(width) for _ in range(n_blocks)])
        self.branch_b = nn.Sequential(*[ResBlock(width) for _ in range(n_blocks)])
        self.conv_tail = nn.Conv2d(width, n_channels, 3, padding=1)
        self.dual_tail = nn.Conv2d(2 * n_channels, n_channels, 3, padding=1)

    def forward(self, x):
        head = F.relu(self.conv_head(x))
        a = self.conv_tail(self.branch_a(head))
        b = self.conv_tail(self.branch_b(head))
        return x - self.dual_tail(torch.cat([a, b], dim=1))


def colour_patches(n, size=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    low = torch.rand(n, 3, 4, 4, generator=g)
    return F.interpolate(low, size=(size, size), mode="bilinear", align_corners=False)


def train(opt, path, device):
    model = DualDenoiser(n_channels=3).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    clean = colour_patches(32).to(device)
    for step in range(opt.steps):
        noisy = clean + torch.randn_like(clean) * opt.sigma / 255.0
        loss = F.mse_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"train loss {loss.item():.5f}")
    torch.save(model.state_dict(), path)


@torch.no_grad()
def test(opt, path, device):
    model = DualDenoiser(n_channels=opt.n_channels).to(device)
    model.load_state_dict(torch.load(path, map_location=device))
    model.eval()
    clean = colour_patches(8, seed=1).to(device)
    noisy = clean + torch.randn_like(clean) * opt.sigma / 255.0
    restored = model(noisy).clamp(0, 1)
    mse = ((restored - clean) ** 2).mean(dim=(1, 2, 3))
    psnr = (10 * torch.log10(1.0 / mse)).mean()
    print(f"sigma {opt.sigma}: PSNR {psnr.item():.2f} dB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_channels", type=int, default=1)
    parser.add_argument("--sigma", type=float, default=25.0)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--lr", type=float, default=1e-3)
    opt = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "denoiser.pth")
        train(opt, path, device)
        test(opt, path, device)


if __name__ == "__main__":
    main()
