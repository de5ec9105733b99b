"""
Unsupervised optical flow on moving texture patches (photometric loss, smoothness term),
a small FlowNet-like encoder predicts a dense displacement (dx, dy) in pixels.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
H = W = 32


class MovingTexture(Dataset):
    """Two frames of a smooth random texture, the second one translated."""

    def __init__(self, n, max_shift=3):
        self.n, self.m = n, max_shift
        self.textures = F.avg_pool2d(torch.rand(n, 1, H + 12, W + 12), 5, stride=1, padding=2)
        self.shifts = torch.randint(-max_shift, max_shift + 1, (n, 2))

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        dx, dy = self.shifts[i].tolist()
        big = self.textures[i] * 4 - 2
        first = big[:, 6:6 + H, 6:6 + W]
        second = big[:, 6 + dy:6 + dy + H, 6 + dx:6 + dx + W]
        return first, second, self.shifts[i].float()


class FlowNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(2, width, 7, padding=3), nn.LeakyReLU(0.1),
            nn.Conv2d(width, width, 5, stride=2, padding=2), nn.LeakyReLU(0.1),
            nn.Conv2d(width, width, 5, padding=2), nn.LeakyReLU(0.1),
        )
        self.flow = nn.Conv2d(width, 2, 3, padding=1)

    def forward(self, a, b):
        f = self.flow(self.enc(torch.cat([a, b], dim=1)))
        return F.interpolate(f, scale_factor=2, mode="bilinear", align_corners=True)


def backwarp(image, flow):
    """Sample image at x + flow(x)."""
    b, _, h, w = image.shape
    ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    base = torch.stack([xs, ys]).float().to(image.device)
    coords = base.unsqueeze(0) + flow
    gx = 2.0 * coords[:, 0] / (w - 1) - 1.0
    gy = 2.0 * coords[:, 1] / (h - 1) - 1.0
    grid = torch.stack([gx, gy], dim=1)
    return F.grid_sample(image, grid, mode="bilinear", padding_mode="border", align_corners=True)


def charbonnier(x, eps=1e-3):
    return torch.sqrt(x ** 2 + eps ** 2).mean()


def smoothness(flow):
    return charbonnier(flow[..., 1:] - flow[..., :-1]) + charbonnier(flow[:, :, 1:] - flow[:, :, :-1])


def main():
    train = DataLoader(MovingTexture(512), batch_size=32, shuffle=True)
    test = DataLoader(MovingTexture(64), batch_size=64)
    net = FlowNet()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(4):
        total = 0.0
        for first, second, _ in train:
            flow = net(first, second)
            warped = backwarp(first, flow)
            loss = charbonnier(warped - second) + 0.05 * smoothness(flow)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        with torch.no_grad():
            first, second, shift = next(iter(test))
            flow = net(first, second)
            epe = (flow - shift[:, :, None, None]).norm(dim=1).mean()
        print(f"epoch {epoch} photometric {total / len(train):.4f} EPE {epe:.3f}")


if __name__ == "__main__":
    main()
