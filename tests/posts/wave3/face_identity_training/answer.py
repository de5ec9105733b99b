import argparse
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description='Face identities with max-feature-map networks')
parser.add_argument('--num_classes', default=10575, type=int)
parser.add_argument('--batch-size', default=64, type=int)
parser.add_argument('--lr', default=0.01, type=float)
parser.add_argument('--epochs', default=1, type=int)


class mfm(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=3, padding=1):
        super(mfm, self).__init__()
        self.out_channels = out_channels
        self.filter = nn.Conv2d(in_channels, 2 * out_channels, kernel_size, padding=padding)

    def forward(self, x):
        a, b = torch.split(self.filter(x), self.out_channels, 1)
        return torch.max(a, b)


class FaceNet9(nn.Module):
    def __init__(self, num_classes):
        super(FaceNet9, self).__init__()
        self.features = nn.Sequential(
            mfm(1, 16, 5, 2), nn.MaxPool2d(2), mfm(16, 32), nn.MaxPool2d(2),
            mfm(32, 48), nn.MaxPool2d(2), mfm(48, 32), nn.MaxPool2d(2))
        self.fc1 = nn.Linear(8 * 8 * 32, 256)
        self.fc2 = nn.Linear(256, num_classes)

    def forward(self, x):
        x = self.features(x)
        x = torch.relu(self.fc1(x.view(x.size(0), -1)))
        return self.fc2(x)


class FaceList(Dataset):
    """Lines of a list file: path of the image and number of the person."""

    def __init__(self, n=160, people=10575):
        g = torch.Generator().manual_seed(10)
        person = torch.randint(1, people + 1, (n,), generator=g)
        person[5] = people
        self.lines = [('%07d/%03d.jpg' % (p, i), p) for i, p in enumerate(person.tolist())]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        path, target = self.lines[i]
        g = torch.Generator().manual_seed(i)
        return torch.rand(1, 128, 128, generator=g), target - 1


def main():
    args = parser.parse_args()
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    model = FaceNet9(args.num_classes).to(device)
    train_loader = DataLoader(FaceList(people=10575), batch_size=args.batch_size)
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    for epoch in range(args.epochs):
        end = time.time()
        for i, (input, target) in enumerate(train_loader):
            input, target = input.to(device), target.to(device)
            loss = criterion(model(input), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print('Epoch: [{0}][{1}/{2}] Time {3:.2f} Loss {4:.4f}'.format(
                epoch, i, len(train_loader), time.time() - end, loss.item()))


if __name__ == '__main__':
    main()
