from __future__ import print_function
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser('Options for training a small fire-module network')
parser.add_argument('--batch_size', type=int, default=64, metavar='N', help='batch size of train')
parser.add_argument('--epoch', type=int, default=2, metavar='N', help='number of epochs to train for')
parser.add_argument('--learning_rate', type=float, default=0.003, metavar='LR', help='learning rate')
parser.add_argument('--momentum', type=float, default=0.9, metavar='M', help='momentum')
parser.add_argument('--log_schedule', type=int, default=2, metavar='N', help='batches between log lines')
parser.add_argument('--num_classes', type=int, default=10, metavar='N', help='number of classes')
parser.add_argument('--seed', type=int, default=1, help='set the seed')
args = parser.parse_args()

torch.manual_seed(args.seed)


class fire(nn.Module):
    def __init__(self, inplanes, squeeze_planes, expand_planes):
        super(fire, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1, stride=1)
        self.bn1 = nn.BatchNorm2d(squeeze_planes)
        self.conv2 = nn.Conv2d(squeeze_planes, expand_planes, kernel_size=1, stride=1)
        self.bn2 = nn.BatchNorm2d(expand_planes)
        self.conv3 = nn.Conv2d(squeeze_planes, expand_planes, kernel_size=3, stride=1, padding=1)
        self.bn3 = nn.BatchNorm2d(expand_planes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        out1 = self.bn2(self.conv2(x))
        out2 = self.bn3(self.conv3(x))
        return F.relu(torch.cat([out1, out2], 1))


class SqueezeNet(nn.Module):
    def __init__(self):
        super(SqueezeNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 32, kernel_size=3, stride=1, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.maxpool1 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.fire2 = fire(32, 8, 32)
        self.fire3 = fire(64, 8, 32)
        self.maxpool2 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.fire4 = fire(64, 16, 64)
        self.maxpool3 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.conv2 = nn.Conv2d(128, args.num_classes, kernel_size=1, stride=1)
        self.avg_pool = nn.AvgPool2d(kernel_size=4, stride=4)

    def forward(self, x):
        x = self.maxpool1(F.relu(self.bn1(self.conv1(x))))
        x = self.maxpool2(self.fire3(self.fire2(x)))
        x = self.maxpool3(self.fire4(x))
        return self.avg_pool(self.conv2(x))


def fake_cifar(n):
    labels = torch.randint(0, args.num_classes, (n,))
    palette = torch.rand(args.num_classes, 3, 1, 1)
    images = palette[labels] + 0.3 * torch.randn(n, 3, 32, 32)
    return TensorDataset(images, labels)


train_loader = DataLoader(fake_cifar(400), batch_size=args.batch_size, shuffle=True)
net = SqueezeNet()
optimizer = optim.SGD(net.parameters(), lr=args.learning_rate, momentum=args.momentum, weight_decay=5e-4)


def train(epoch):
    net.train()
    avg_loss = []
    correct = 0
    for b_idx, (data, targets) in enumerate(train_loader):
        data, targets = Variable(data), Variable(targets)
        optimizer.zero_grad()
        scores = net.forward(data)
        scores = scores.view(-1, args.num_classes)
        loss = F.nll_loss(F.log_softmax(scores, dim=1), targets)

        pred = scores.data.max(1)[1]
        correct += pred.eq(targets.data).sum().item()
        avg_loss.append(loss.item())
        loss.backward()
        optimizer.step()

        if b_idx % args.log_schedule == 0:
            print('Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}'.format(
                epoch, (b_idx + 1) * len(data), len(train_loader.dataset),
                100. * (b_idx + 1) * len(data) / len(train_loader.dataset), loss.item()))

    train_accuracy = correct / float(len(train_loader.dataset))
    print('training accuracy ({:.2f}%)  mean loss {:.4f}'.format(100 * train_accuracy, sum(avg_loss) / len(avg_loss)))
    return train_accuracy


if __name__ == '__main__':
    best = 0.0
    for i in range(1, args.epoch + 1):
        best = max(best, train(i))
    print('best accuracy', best)
