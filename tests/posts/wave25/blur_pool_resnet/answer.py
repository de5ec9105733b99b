import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

BINOMIAL = {3: [1.0, 2.0, 1.0], 5: [1.0, 4.0, 6.0, 4.0, 1.0]}


class Downsample(nn.Module):
    """Low-pass filter followed by subsampling, to keep the network shift invariant."""

    def __init__(self, channels, filt_size=3, stride=2):
        super().__init__()
        self.channels = channels
        self.stride = stride
        self.pad = nn.ReflectionPad2d(filt_size // 2)
        a = np.array(BINOMIAL[filt_size])
        filt = torch.tensor(a[:, None] * a[None, :], dtype=torch.float32)
        filt = (filt / filt.sum())[None, None].repeat(channels, 1, 1, 1)
        self.register_buffer("filt", filt)

    def forward(self, x):
        return F.conv2d(self.pad(x), self.filt, stride=self.stride, groups=self.channels)


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        down = [] if stride == 1 else [Downsample(planes, stride=stride)]
        self.conv2 = nn.Sequential(*down, nn.Conv2d(planes, planes, 3, padding=1, bias=False))
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Identity()
        if stride != 1 or in_planes != planes:
            down = [] if stride == 1 else [Downsample(in_planes, stride=stride)]
            self.shortcut = nn.Sequential(
                *down, nn.Conv2d(in_planes, planes, 1, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, num_classes=10, width=16):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.layer1 = BasicBlock(width, width)
        self.layer2 = BasicBlock(width, width * 2, stride=2)
        self.layer3 = BasicBlock(width * 2, width * 4, stride=2)
        self.fc = nn.Linear(width * 4, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.stem(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def main():
    torch.manual_seed(0)
    images = torch.randn(160, 3, 24, 24)
    labels = torch.randint(0, 10, (160,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
    model = ResNet().to(device)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(3):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
