import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1, shortcut=None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = shortcut

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.shortcut is not None:
            identity = self.shortcut(x)
        out = out + identity
        return self.relu(out)


class TextureResNet(nn.Module):
    def __init__(self, num_textures, blocks=(2, 2, 2), planes=(32, 64, 128), stem=16):
        super().__init__()
        self.inplanes = stem
        self.stem = nn.Sequential(
            nn.Conv2d(3, stem, 3, padding=1, bias=False),
            nn.BatchNorm2d(stem),
            nn.ReLU(inplace=True),
        )
        self.stage1 = self.make_stage(planes[0], blocks[0], stride=1)
        self.stage2 = self.make_stage(planes[1], blocks[1], stride=2)
        self.stage3 = self.make_stage(planes[2], blocks[2], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(planes[2], num_textures)
        self.reset_parameters()

    def reset_parameters(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def make_stage(self, planes, blocks, stride):
        shortcut = None
        if stride != 1:
            shortcut = nn.Sequential(
                nn.Conv2d(self.inplanes, planes, 1, stride=stride, bias=False),
                nn.BatchNorm2d(planes),
            )
        layers = [BasicBlock(self.inplanes, planes, stride, shortcut)]
        self.inplanes = planes
        for _ in range(1, blocks):
            layers.append(BasicBlock(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.stem(x)
        x = self.stage3(self.stage2(self.stage1(x)))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


def synthetic_textures(n, size=32, num_textures=6):
    labels = torch.randint(num_textures, (n,))
    grid = torch.arange(size).float()
    waves = torch.sin(grid[None, :] * (labels[:, None] + 1) * 0.35)
    images = waves[:, None, None, :].expand(n, 3, size, size) + 0.5 * torch.randn(n, 3, size, size)
    return TensorDataset(images, labels)


def accuracy(model, loader):
    model.eval()
    good, seen = 0, 0
    with torch.no_grad():
        for images, labels in loader:
            good += (model(images).argmax(1) == labels).sum().item()
            seen += labels.numel()
    return good / seen


torch.manual_seed(5)
train_loader = DataLoader(synthetic_textures(128), batch_size=32, shuffle=True)
test_loader = DataLoader(synthetic_textures(64), batch_size=32)
model = TextureResNet(num_textures=6)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=2)

for epoch in range(2):
    model.train()
    for images, labels in train_loader:
        opt.zero_grad()
        loss = loss_fn(model(images), labels)
        loss.backward()
        opt.step()
    sched.step()
    print("epoch", epoch, "loss", round(loss.item(), 3), "acc", accuracy(model, test_loader))
