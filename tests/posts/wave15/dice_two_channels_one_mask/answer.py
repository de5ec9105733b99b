import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def flatten(t):
    """(N, C, D, H, W) -> (C, N * D * H * W)"""
    return t.transpose(0, 1).reshape(t.size(1), -1)


class DiceLoss(nn.Module):
    def __init__(self, epsilon=1e-5):
        super().__init__()
        self.epsilon = epsilon

    def forward(self, input, target):
        assert input.size() == target.size(), "'input' and 'target' must have the same shape"
        prob = flatten(torch.sigmoid(input))
        target = flatten(target).float()
        intersect = (prob * target).sum(-1)
        denominator = (prob + target).sum(-1)
        return 1.0 - (2 * intersect / denominator.clamp(min=self.epsilon)).mean()


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv3d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.ReLU(),
        nn.Conv3d(cout, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.ReLU())


class UNet3D(nn.Module):
    def __init__(self, in_channels, out_channels, f=8):
        super().__init__()
        self.enc1 = double_conv(in_channels, f)
        self.enc2 = double_conv(f, 2 * f)
        self.dec1 = double_conv(3 * f, f)
        self.final = nn.Conv3d(f, out_channels, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool3d(e1, 2))
        up = F.interpolate(e2, size=e1.shape[2:], mode="nearest")
        return self.final(self.dec1(torch.cat([e1, up], dim=1)))


def membranes(n, shape=(8, 24, 24)):
    """little volumes with the shells of cells, 1 where a membrane runs"""
    gen = torch.Generator().manual_seed(9)
    zz, yy, xx = torch.meshgrid(*[torch.arange(s).float() for s in shape], indexing="ij")
    raws, labels = [], []
    for _ in range(n):
        label = torch.zeros(shape)
        for _ in range(3):
            c = torch.rand(3, generator=gen) * torch.tensor(shape)
            r = 4 + 4 * torch.rand(1, generator=gen)
            dist = ((zz - c[0]) ** 2 + (yy - c[1]) ** 2 + (xx - c[2]) ** 2).sqrt()
            label[(dist - r).abs() < 1.0] = 1.0
        raws.append(label + 0.4 * torch.randn(shape, generator=gen))
        labels.append(label)
    return torch.stack(raws).unsqueeze(1), torch.stack(labels).unsqueeze(1)


def main():
    torch.manual_seed(0)
    raw, label = membranes(16)
    loader = DataLoader(TensorDataset(raw, label), batch_size=2, shuffle=True)

    model = UNet3D(in_channels=1, out_channels=1)
    criterion = DiceLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(3):
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d dice loss %.4f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    main()
