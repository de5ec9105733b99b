import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class UpProject(nn.Module):
    """Doubles the resolution by interleaving the outputs of four small convolutions."""

    def __init__(self, in_channels, out_channels, batch_size):
        super().__init__()
        self.batch_size = batch_size
        self.out_channels = out_channels
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3)
        self.conv2 = nn.Conv2d(in_channels, out_channels, (2, 3))
        self.conv3 = nn.Conv2d(in_channels, out_channels, (3, 2))
        self.conv4 = nn.Conv2d(in_channels, out_channels, 2)
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        h, w = x.shape[2:]
        out1 = self.conv1(F.pad(x, (1, 1, 1, 1)))
        out2 = self.conv2(F.pad(x, (1, 1, 0, 1)))
        out3 = self.conv3(F.pad(x, (0, 1, 1, 1)))
        out4 = self.conv4(F.pad(x, (0, 1, 0, 1)))
        batch_size = x.shape[0]
        rows1 = torch.stack((out1, out3), dim=-1).view(batch_size, self.out_channels, h, 2 * w)
        rows2 = torch.stack((out2, out4), dim=-1).view(batch_size, self.out_channels, h, 2 * w)
        out = torch.stack((rows1, rows2), dim=-2).view(batch_size, self.out_channels, 2 * h, 2 * w)
        return F.relu(self.bn(out))


class FCRN(nn.Module):
    def __init__(self, batch_size):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
        )
        self.up1 = UpProject(32, 16, batch_size)
        self.up2 = UpProject(16, 8, batch_size)
        self.predict = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x):
        return self.predict(self.up2(self.up1(self.encoder(x))))


def make_rooms(n, height=32, width=40):
    depth = torch.linspace(1, 5, height).view(1, 1, height, 1) + torch.rand(n, 1, 1, 1)
    depth = depth.expand(n, 1, height, width).contiguous()
    rgb = torch.cat([depth / 6, 1 - depth / 6, torch.rand(n, 1, height, width)], dim=1)
    return rgb + 0.05 * torch.randn_like(rgb), depth


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for rgb, depth in loader:
        rgb, depth = rgb.to(device), depth.to(device)
        loss = criterion(model(rgb), depth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * rgb.size(0)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    batch_size = 8
    loader = DataLoader(TensorDataset(*make_rooms(100)), batch_size=batch_size, shuffle=True)
    model = FCRN(batch_size).to(device)
    criterion = nn.L1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        print(f"epoch {epoch}: L1 {run_epoch(model, loader, criterion, optimizer):.4f}")


if __name__ == "__main__":
    main()
