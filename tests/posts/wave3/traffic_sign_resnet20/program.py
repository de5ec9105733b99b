import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

parser = argparse.ArgumentParser(description='ResNet-20 on traffic signs')
parser.add_argument('--size', default=64, type=int, help='side of the resized images')
parser.add_argument('-b', '--batch-size', default=32, type=int)
parser.add_argument('--epochs', default=1, type=int)
parser.add_argument('--lr', default=0.1, type=float)
args = parser.parse_args()


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or inplanes != planes:
            self.down = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        skip = x if self.down is None else self.down(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        return self.relu(x + skip)


class ResNet20(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.layer1 = self._stage(16, 16, 1)
        self.layer2 = self._stage(16, 32, 2)
        self.layer3 = self._stage(32, 64, 2)
        self.avgpool = nn.AvgPool2d(8, stride=1)
        self.fc = nn.Linear(64, num_classes)

    def _stage(self, inplanes, planes, stride, n=3):
        blocks = [BasicBlock(inplanes, planes, stride)]
        blocks += [BasicBlock(planes, planes) for _ in range(n - 1)]
        return nn.Sequential(*blocks)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.stem(x))))
        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        return self.fc(x)


tf = transforms.Compose([transforms.Resize((args.size, args.size)), transforms.ToTensor()])
train_set = datasets.FakeData(80, (3, 96, 96), num_classes=42, transform=tf)
train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)

model = ResNet20(num_classes=42)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)

for epoch in range(args.epochs):
    model.train()
    for i, (images, labels) in enumerate(train_loader):
        output = model(images)
        loss = criterion(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print('epoch %d [%d/%d] loss %.4f' % (epoch, i, len(train_loader), loss.item()))
