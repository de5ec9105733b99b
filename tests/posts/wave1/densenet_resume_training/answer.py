import os
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import models, transforms
from torchvision.datasets import FakeData

parser = argparse.ArgumentParser(description='DenseNet on chest images')
parser.add_argument('--checkpoint', default='checkpoint.pth.tar')
parser.add_argument('--epochs', type=int, default=1)
parser.add_argument('-b', '--batch-size', type=int, default=8)


def build_model(num_classes=5):
    return models.DenseNet(growth_rate=8, block_config=(2, 2, 2), num_init_features=16, num_classes=num_classes)


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for images, target in loader:
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * images.size(0)
    return total / len(loader.dataset)


def main():
    args = parser.parse_args()
    data = FakeData(20, (3, 64, 64), 5, transforms.ToTensor())
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True)
    criterion = nn.CrossEntropyLoss()

    # first run, on all devices
    model = torch.nn.DataParallel(build_model())
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for epoch in range(args.epochs):
        print('epoch', epoch, train_epoch(model, loader, criterion, optimizer))
    torch.save({'epoch': epoch + 1, 'state_dict': model.state_dict(),
                'optimizer': optimizer.state_dict()}, args.checkpoint)

    # resume where the run was cut off
    if os.path.isfile(args.checkpoint):
        print("=> loading checkpoint '{}'".format(args.checkpoint))
        checkpoint = torch.load(args.checkpoint)
        model = torch.nn.DataParallel(build_model())
        model.load_state_dict(checkpoint['state_dict'])
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        optimizer.load_state_dict(checkpoint['optimizer'])
        for epoch in range(checkpoint['epoch'], checkpoint['epoch'] + args.epochs):
            print('epoch', epoch, train_epoch(model, loader, criterion, optimizer))


if __name__ == '__main__':
    main()
