import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class ChannelExpandConv(nn.Module):
    """k x k convolution followed by a learned per-channel rescale."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0):
        super(ChannelExpandConv, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, bias=False)
        self.alpha = nn.Parameter(torch.ones(1, out_channels, 1, 1))

    def forward(self, x):
        return self.conv(x) * self.alpha


class Bottleneck(nn.Module):
    def __init__(self, inplanes, planes, stride):
        super(Bottleneck, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes // 4, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes // 4)
        self.conv2 = nn.Conv2d(planes // 4, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.down = nn.Conv2d(inplanes, planes, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.down(x))


class WideBackbone(nn.Module):
    def __init__(self, width_mult=1, base=16):
        super(WideBackbone, self).__init__()
        self.m = width_mult
        stem = base * self.m
        self.conv1 = ChannelExpandConv(3, stem, kernel_size=7, stride=2, padding=3)
        self.bn1 = nn.BatchNorm2d(stem)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = Bottleneck(stem, stem, 1)
        self.layer2 = Bottleneck(stem, stem * 2, 2)
        self.out_channels = stem * 2

    def forward(self, img):
        x = self.pool(F.relu(self.bn1(self.conv1(img))))
        return self.layer2(self.layer1(x))


class DenseHead(nn.Module):
    def __init__(self, channels, num_classes):
        super(DenseHead, self).__init__()
        self.tower = nn.Sequential(nn.Conv2d(channels, 32, 3, padding=1), nn.ReLU(inplace=True))
        self.cls = nn.Conv2d(32, num_classes, 1)
        self.reg = nn.Conv2d(32, 4, 1)

    def forward(self, feat):
        t = self.tower(feat)
        return self.cls(t), self.reg(t).exp()


class Detector(nn.Module):
    def __init__(self, num_classes, width_mult):
        super(Detector, self).__init__()
        self.backbone = WideBackbone(width_mult)
        self.head = DenseHead(self.backbone.out_channels, num_classes)

    def forward(self, img):
        return self.head(self.backbone(img))


class FakeVOC(Dataset):
    def __init__(self, n, num_classes, size=(96, 144)):
        g = torch.Generator().manual_seed(1)
        self.img = torch.rand(n, 3, *size, generator=g)
        gh, gw = size[0] // 8, size[1] // 8
        self.cls = (torch.rand(n, num_classes, gh, gw, generator=g) > 0.98).float()
        self.box = torch.rand(n, 4, gh, gw, generator=g) * 4

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.cls[i], self.box[i]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--width-mult', type=int, default=4)
    parser.add_argument('--num-classes', type=int, default=20)
    parser.add_argument('--epochs', type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(0)
    model = Detector(args.num_classes, args.width_mult)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    loader = DataLoader(FakeVOC(8, args.num_classes), batch_size=2, shuffle=True)

    for epoch in range(args.epochs):
        for it, (img, cls, box) in enumerate(loader):
            score, ltrb = model(img)
            loss_cls = F.binary_cross_entropy_with_logits(score, cls)
            fg = cls.amax(dim=1, keepdim=True)
            loss_box = (F.l1_loss(ltrb, box, reduction='none') * fg).sum() / fg.sum().clamp(min=1)
            loss = loss_cls + 0.1 * loss_box
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('epoch %d  cls %.4f  box %.4f' % (epoch, loss_cls.item(), loss_box.item()))


if __name__ == '__main__':
    main()
