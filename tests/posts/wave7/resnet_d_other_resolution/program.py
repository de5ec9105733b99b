import torch
import torch.nn as nn
import torch.nn.functional as F


class ResNetShorcutD(nn.Sequential):
    def __init__(self, in_features, out_features, stride=2):
        layers = []
        if stride == 2:
            layers.append(nn.AvgPool2d((2, 2)))
        layers += [nn.Conv2d(in_features, out_features, kernel_size=1, bias=False), nn.BatchNorm2d(out_features)]
        super().__init__(*layers)


class ResNetBottleneckBlock(nn.Module):
    def __init__(self, in_features, out_features, stride=1, reduction=4):
        super().__init__()
        features = out_features // reduction
        self.block = nn.Sequential(
            nn.Conv2d(in_features, features, 1, bias=False), nn.BatchNorm2d(features), nn.ReLU(inplace=True),
            nn.Conv2d(features, features, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(features),
            nn.ReLU(inplace=True),
            nn.Conv2d(features, out_features, 1, bias=False), nn.BatchNorm2d(out_features))
        self.shortcut = nn.Identity()
        if in_features != out_features or stride != 1:
            self.shortcut = ResNetShorcutD(in_features, out_features, stride)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        res = self.shortcut(x)
        x = self.block(x)
        x = x + res
        return self.act(x)


class ResNetStemC(nn.Sequential):
    def __init__(self, in_channels=3, features=16):
        super().__init__(
            nn.Conv2d(in_channels, features // 2, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(features // 2),
            nn.ReLU(inplace=True),
            nn.Conv2d(features // 2, features, 3, padding=1, bias=False), nn.BatchNorm2d(features),
            nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1))


class ResNetD(nn.Module):
    def __init__(self, n_classes=10, widths=(32, 64, 128, 256), depths=(1, 2, 2, 1)):
        super().__init__()
        self.stem = ResNetStemC()
        stages, in_features = [], 16
        for i, (width, depth) in enumerate(zip(widths, depths)):
            blocks = [ResNetBottleneckBlock(in_features, width, stride=1 if i == 0 else 2)]
            blocks += [ResNetBottleneckBlock(width, width) for _ in range(depth - 1)]
            stages.append(nn.Sequential(*blocks))
            in_features = width
        self.layers = nn.Sequential(*stages)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(in_features, n_classes))

    def forward(self, x):
        return self.head(self.layers(self.stem(x)))


def transform(images, size=240):
    images = F.interpolate(images, size=(size, size), mode='bicubic', align_corners=False)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    return (images - mean) / std


torch.manual_seed(0)
net = ResNetD(n_classes=10)
net.eval()
photos = torch.rand(4, 3, 300, 300)
with torch.no_grad():
    probabilities = net(transform(photos)).softmax(dim=-1)
for i, p in enumerate(probabilities):
    print('photo', i, 'class', p.argmax().item(), 'p = %.3f' % p.max().item())
