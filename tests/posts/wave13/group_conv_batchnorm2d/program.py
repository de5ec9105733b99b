import torch
import torch.nn as nn
import torch.nn.functional as F


class LiftConv(nn.Module):
    """correlates a plane image with the four rotations of each filter: (N, C, 4, H, W)"""

    def __init__(self, in_channels, out_channels, kernel_size=3, padding=1):
        super().__init__()
        self.weight = nn.Parameter(
            torch.randn(out_channels, in_channels, kernel_size, kernel_size)
            * (2.0 / (in_channels * kernel_size ** 2)) ** 0.5)
        self.padding = padding

    def forward(self, x):
        turned = [F.conv2d(x, torch.rot90(self.weight, r, (2, 3)), padding=self.padding)
                  for r in range(4)]
        return torch.stack(turned, dim=2)


class GroupConv(nn.Module):
    """p4 convolution of a feature map on the group, strides on the plane only"""

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=1):
        super().__init__()
        self.weight = nn.Parameter(
            torch.randn(out_channels, in_channels, 4, kernel_size, kernel_size)
            * (2.0 / (4 * in_channels * kernel_size ** 2)) ** 0.5)
        self.stride, self.padding = stride, padding

    def forward(self, x):
        flat = x.flatten(1, 2)
        outs = []
        for r in range(4):
            w = torch.rot90(self.weight.roll(r, dims=2), r, (3, 4)).flatten(1, 2)
            outs.append(F.conv2d(flat, w, stride=self.stride, padding=self.padding))
        return torch.stack(outs, dim=2)


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = GroupConv(in_planes, planes, stride=stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = GroupConv(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                GroupConv(in_planes, planes, kernel_size=1, stride=stride, padding=0),
                nn.BatchNorm2d(planes))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class P4ResNet(nn.Module):
    def __init__(self, num_classes=4, width=6):
        super().__init__()
        self.conv1 = LiftConv(3, width)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = BasicBlock(width, width)
        self.layer2 = BasicBlock(width, 2 * width, stride=2)
        self.linear = nn.Linear(2 * width, num_classes)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer2(self.layer1(out))
        out = out.mean(dim=(2, 3, 4))
        return self.linear(out)


def make_shapes(n, size=20, seed=0):
    """bars, corners, crosses and blobs, each turned at random"""
    g = torch.Generator().manual_seed(seed)
    x = 0.1 * torch.rand(n, 3, size, size, generator=g)
    y = torch.randint(0, 4, (n,), generator=g)
    for i in range(n):
        m = torch.zeros(size, size)
        if y[i] == 0:
            m[9:11, 4:16] = 1
        elif y[i] == 1:
            m[9:11, 9:16] = 1
            m[9:16, 9:11] = 1
        elif y[i] == 2:
            m[9:11, 4:16] = 1
            m[4:16, 9:11] = 1
        else:
            m[6:14, 6:14] = 1
        turns = int(torch.randint(0, 4, (1,), generator=g))
        x[i] += torch.rot90(m, turns)
    return x, y


def main():
    torch.manual_seed(0)
    train_x, train_y = make_shapes(192, seed=1)
    test_x, test_y = make_shapes(96, seed=2)
    net = P4ResNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(4):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(train_x)).split(32):
            loss = F.cross_entropy(net(train_x[idx]), train_y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            acc = (net(test_x).argmax(1) == test_y).float().mean().item()
        print('epoch %d loss %.3f acc %.3f' % (epoch, total / len(train_x), acc))


if __name__ == '__main__':
    main()
