from __future__ import print_function

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout = nn.Dropout(0.25)
        self.fc = nn.Linear(16 * 6 * 6, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc(torch.flatten(self.dropout(x), 1)), dim=1)


def digits(count, seed):
    generator = torch.Generator().manual_seed(seed)
    target = torch.randint(0, 10, (count,), generator=generator)
    data = torch.rand(count, 1, 16, 16, generator=generator)
    data[torch.arange(count), 0, target] += 1
    return TensorDataset(data, target)


def train(args, model, loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print('Train Epoch: {} [{}/{}]\tLoss: {:.6f}'.format(
                epoch, batch_idx * len(data), len(loader.dataset), loss.item()))


def validate(model, loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction='sum').item()
            pred = output.argmax(dim=0)
            correct += (pred == target).sum().item()
    print('Validation: loss {:.4f}, accuracy {}/{}'.format(
        test_loss / len(loader.dataset), correct, len(loader.dataset)))


def main():
    parser = argparse.ArgumentParser(description='Digits')
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--log-interval', type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(1)
    train_loader = DataLoader(digits(100, 0), batch_size=20, shuffle=True)
    val_loader = DataLoader(digits(50, 1), batch_size=25)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    for epoch in range(1, args.epochs + 1):
        train(args, model, train_loader, optimizer, epoch)
        validate(model, val_loader)


if __name__ == '__main__':
    main()
