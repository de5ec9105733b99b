import argparse

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description="SqueezeNet on small colour images")
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--num_classes", type=int, default=10)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--lr", type=float, default=0.01)
opt = parser.parse_args()

torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Fire(nn.Module):
    def __init__(self, inplanes, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Sequential(nn.Conv2d(inplanes, squeeze, 1), nn.BatchNorm2d(squeeze), nn.ReLU(inplace=True))
        self.expand1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3 = nn.Conv2d(squeeze, expand, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze(x)
        return self.relu(torch.cat([self.expand1(x), self.expand3(x)], dim=1))


class SqueezeNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.fire2 = Fire(32, 8, 16)
        self.fire3 = Fire(32, 8, 32)
        self.pool = nn.MaxPool2d(2)
        self.fire4 = Fire(64, 16, 32)
        self.conv_final = nn.Conv2d(64, num_classes, 1)
        self.avg = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        x = self.stem(x)
        x = self.pool(self.fire3(self.fire2(x)))
        x = self.conv_final(self.fire4(x))
        return self.avg(x)


train_set = TensorDataset(torch.randn(240, 3, 32, 32), torch.randint(0, opt.num_classes, (240,)))
train_loader = DataLoader(train_set, batch_size=opt.batch_size, shuffle=True)

net = SqueezeNet(opt.num_classes).to(device)
optimizer = optim.SGD(net.parameters(), lr=opt.lr, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def train(epoch):
    net.train()
    correct = 0
    for step, (data, targets) in enumerate(train_loader):
        data, targets = data.to(device), targets.to(device)
        optimizer.zero_grad()
        logits = net(data)
        logits = logits.view(-1, opt.num_classes)
        loss = criterion(logits, targets)
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(dim=1) == targets).sum().item()
        if step % 2 == 0:
            print("Train epoch {} [{}/{}] loss {:.4f}".format(epoch, step * opt.batch_size, len(train_set), loss.item()))
    return 100.0 * correct / len(train_set)


train_acc = []
for i in range(1, opt.epochs + 1):
    train_acc.append(train(i))
    print("epoch {} accuracy {:.2f}%".format(i, train_acc[-1]))
