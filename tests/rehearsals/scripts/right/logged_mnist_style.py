from __future__ import print_function

import argparse
import logging
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR

try:
    from tqdm import tqdm
except ImportError:
    def tqdm(iterable, **kwargs):
        return iterable

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None


class Digits(torch.utils.data.Dataset):
    def __init__(self, train=True, transform=None):
        rng = np.random.RandomState(0 if train else 1)
        count = 150 if train else 70
        self.targets = rng.randint(0, 10, count)
        self.data = rng.randint(0, 80, (count, 28, 28)).astype(np.uint8)
        self.data[np.arange(count), self.targets * 2 + 4] = 255
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image, target = self.data[index], int(self.targets[index])
        return (self.transform(image) if self.transform else image), target


def normalise(image):
    return (torch.from_numpy(image).float().div(255).unsqueeze(0) - 0.1307) / 0.3081


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(2304, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = torch.flatten(self.dropout1(F.max_pool2d(x, 2)), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def train(args, model, device, train_loader, optimizer, epoch, writer):
    model.train()
    for batch_idx, (data, target) in enumerate(tqdm(train_loader, disable=args.quiet)):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            logging.info("Train Epoch: %d [%d/%d]\tLoss: %.6f", epoch, batch_idx * len(data),
                         len(train_loader.dataset), loss.item())
            if writer:
                writer.add_scalar("loss", loss.item(), epoch * len(train_loader) + batch_idx)


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction='sum').item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    test_loss /= len(test_loader.dataset)
    logging.info("Test: loss %.4f, accuracy %d/%d", test_loss, correct, len(test_loader.dataset))


def main():
    parser = argparse.ArgumentParser(description='Digits, logged')
    parser.add_argument('--batch-size', type=int, default=32, metavar='N')
    parser.add_argument('--test-batch-size', type=int, default=50, metavar='N')
    parser.add_argument('--epochs', type=int, default=2, metavar='N')
    parser.add_argument('--log-interval', type=int, default=2)
    parser.add_argument('--quiet', action='store_true', default=True)
    parser.add_argument('--logdir', default=os.path.join("runs", time.strftime("%H%M%S")))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(message)s")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(1)
    writer = SummaryWriter(args.logdir) if SummaryWriter else None
    train_loader = torch.utils.data.DataLoader(Digits(True, normalise), batch_size=args.batch_size, shuffle=True)
    test_loader = torch.utils.data.DataLoader(Digits(False, normalise), batch_size=args.test_batch_size)
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch, writer)
        test(model, device, test_loader)
        scheduler.step()
    if writer:
        writer.close()
    torch.save(model.state_dict(), "digits.pt")


if __name__ == '__main__':
    main()
