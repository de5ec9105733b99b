"""Light-weight refinement network for scene parsing (toy sizes)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def conv3x3(c_in, c_out, stride=1):
    return nn.Conv2d(c_in, c_out, kernel_size=3, stride=stride, padding=1, bias=False)


class ResidualConvUnit(nn.Module):
    def __init__(self, channels):
        super(ResidualConvUnit, self).__init__()
        self.conv1 = conv3x3(channels, channels)
        self.conv2 = conv3x3(channels, channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        residual = x
        out = self.bn1(self.conv1(x))
        out = self.relu(out)
        out = self.bn2(self.conv2(out))
        out = self.relu(out)
        out += residual
        return out


class RefineNet(nn.Module):
    def __init__(self, num_classes=21, width=32):
        super(RefineNet, self).__init__()
        self.low = nn.Sequential(conv3x3(3, width, 2), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.high = nn.Sequential(conv3x3(width, width, 2), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.rcu_low = ResidualConvUnit(width)
        self.rcu_high = ResidualConvUnit(width)
        self.score = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        low = self.low(x)
        high = self.high(low)
        low, high = self.rcu_low(low), self.rcu_high(high)
        high = F.interpolate(high, size=low.shape[2:], mode='bilinear', align_corners=False)
        y = self.score(low + high)
        return F.interpolate(y, size=x.shape[2:], mode='bilinear', align_corners=False)


def train(net, steps=3):
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    optimizer = torch.optim.SGD(net.parameters(), lr=5e-4, momentum=0.9, weight_decay=1e-5)
    net.train()
    for it in range(steps):
        img = torch.rand(2, 3, 64, 64)
        gt = torch.randint(0, 21, (2, 64, 64))
        gt[:, :2] = 255
        loss = criterion(net(img), gt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print('iter {}: {:.4f}'.format(it, loss.item()))


if __name__ == '__main__':
    torch.manual_seed(3)
    train(RefineNet())
