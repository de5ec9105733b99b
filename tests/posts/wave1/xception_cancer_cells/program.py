import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import transforms
from torchvision.datasets import FakeData
from torch.utils.data import DataLoader


class DwsConv(nn.Module):
    """pre-activated depthwise separable convolution"""

    def __init__(self, c_in, c_out):
        super().__init__()
        self.activ = nn.ReLU(inplace=True)
        self.dw = nn.Conv2d(c_in, c_in, 3, padding=1, groups=c_in, bias=False)
        self.pw = nn.Conv2d(c_in, c_out, 1, bias=False)
        self.bn = nn.BatchNorm2d(c_out)

    def forward(self, x):
        x = self.activ(x)
        return self.bn(self.pw(self.dw(x)))


class XceptionUnit(nn.Module):
    def __init__(self, c_in, c_out, reps=2):
        super().__init__()
        self.identity = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride=2, bias=False),
                                      nn.BatchNorm2d(c_out))
        self.body = nn.Sequential(*[DwsConv(c_in if i == 0 else c_out, c_out) for i in range(reps)])
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, x):
        identity = self.identity(x)
        x = self.body(x)
        return self.pool(x) + identity


class MiniXception(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16))
        self.stage1 = XceptionUnit(16, 32)
        self.stage2 = XceptionUnit(32, 64)
        self.stage3 = XceptionUnit(64, 128, reps=3)
        self.fc = nn.Linear(128, num_classes)

    def forward(self, x):
        x = self.stage3(self.stage2(self.stage1(self.stem(x))))
        x = F.adaptive_avg_pool2d(F.relu(x), 1).flatten(1)
        return self.fc(x)


def train(loader, model, criterion, optimizer, epoch):
    model.train()
    for i, (images, target) in enumerate(loader):
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print('Epoch [%d][%d/%d] loss %.4f' % (epoch, i, len(loader), loss.item()))


if __name__ == '__main__':
    data = FakeData(40, (3, 96, 96), 4, transforms.ToTensor())
    train_loader = DataLoader(data, batch_size=16, shuffle=True)
    model = MiniXception()
    optimizer = torch.optim.SGD(model.parameters(), 0.045, momentum=0.9, weight_decay=1e-5)
    train(train_loader, model, nn.CrossEntropyLoss(), optimizer, 0)
