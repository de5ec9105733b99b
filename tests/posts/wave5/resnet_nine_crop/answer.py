import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms


class FakeCifar(Dataset):
    def __init__(self, n, train=True):
        self.images = torch.rand(n, 3, 32, 32)
        self.labels = torch.randint(0, 10, (n,))
        self.transform = transforms.Compose([
            transforms.RandomCrop(32, padding=4),
            transforms.RandomHorizontalFlip(),
            transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26)),
        ])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.labels[i]


def conv_bn(c_in, c_out, pool=False):
    layers = [nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU()]
    if pool:
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(conv_bn(c, c), conv_bn(c, c))

    def forward(self, x):
        return x + F.relu(self.body(x))


class ResNet9(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.prep = conv_bn(3, 8)
        self.layer1 = conv_bn(8, 16, pool=True)
        self.res1 = Residual(16)
        self.layer2 = conv_bn(16, 32, pool=True)
        self.layer3 = conv_bn(32, 64, pool=True)
        self.res3 = Residual(64)
        self.pool = nn.MaxPool2d(4)
        self.linear = nn.Linear(64, num_classes, bias=False)

    def forward(self, x):
        x = self.prep(x)
        x = self.res1(self.layer1(x))
        x = self.layer2(x)
        x = self.res3(self.layer3(x))
        x = self.pool(x).view(x.size(0), -1)
        return self.linear(x)


torch.manual_seed(0)
loader = DataLoader(FakeCifar(64), batch_size=16, shuffle=True)
model = ResNet9()
optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    print("epoch", epoch, "loss", total / len(loader.dataset))
