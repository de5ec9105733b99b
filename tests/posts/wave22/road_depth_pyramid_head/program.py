import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_BINS = 8


class RoadScenes(Dataset):
    def __init__(self, count=6, height=64, width=96):
        self.count = count
        self.height = height
        self.width = width

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        rgb = torch.rand(3, self.height, self.width, generator=g)
        rows = torch.linspace(0, NUM_BINS - 1, self.height).round().long()
        depth_class = rows.flip(0).unsqueeze(1).expand(-1, self.width).clone()
        return rgb, depth_class


def conv_bn(in_ch, out_ch, kernel, stride=1):
    return nn.Sequential(
        nn.Conv2d(in_ch, out_ch, kernel, stride=stride, padding=kernel // 2, bias=False),
        nn.BatchNorm2d(out_ch),
        nn.ReLU(inplace=True),
    )


class PyramidPooling(nn.Module):
    def __init__(self, channels, branch_channels, bins=(1, 2, 4)):
        super().__init__()
        self.bins = bins
        self.branches = nn.ModuleList([conv_bn(channels, branch_channels, 1) for _ in bins])

    def forward(self, x):
        size = x.shape[-2:]
        out = [x]
        for bin_size, branch in zip(self.bins, self.branches):
            pooled = F.adaptive_avg_pool2d(x, bin_size)
            y = branch(pooled)
            out.append(F.interpolate(y, size=size, mode="bilinear", align_corners=False))
        return torch.cat(out, dim=1)


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(conv_bn(3, 16, 3, 2), conv_bn(16, 32, 3, 2), conv_bn(32, 64, 3, 2))
        self.pyramid = PyramidPooling(64, 16)
        self.head = nn.Sequential(conv_bn(64 + 3 * 16, 32, 3), nn.Conv2d(32, NUM_BINS, 1))

    def forward(self, rgb):
        x = self.head(self.pyramid(self.encoder(rgb)))
        return F.interpolate(x, size=rgb.shape[-2:], mode="bilinear", align_corners=False)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    batch_size = 1
    loader = DataLoader(RoadScenes(), batch_size=batch_size, shuffle=True)
    model = DepthNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(3):
        model.train()
        total = 0.0
        for rgb, depth_class in loader:
            rgb, depth_class = rgb.to(device), depth_class.to(device)
            loss = criterion(model(rgb), depth_class)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
