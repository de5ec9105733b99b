import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import TensorDataset, DataLoader

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=2)
parser.add_argument('--batch-size', type=int, default=64)
parser.add_argument('--lr', type=float, default=0.01)
args = parser.parse_args()


class LeNet5(nn.Module):
    def __init__(self):
        super(LeNet5, self).__init__()
        self.c1 = nn.Conv2d(1, 6, 5)
        self.c3 = nn.Conv2d(6, 16, 5)
        self.c5 = nn.Linear(16 * 5 * 5, 120)
        self.f6 = nn.Linear(120, 84)
        self.out = nn.Linear(84, 10)

    def forward(self, img):
        h = F.max_pool2d(F.relu(self.c1(img)), 2)
        h = F.max_pool2d(F.relu(self.c3(h)), 2)
        h = torch.flatten(h, 1)
        h = F.relu(self.c5(h))
        h = F.relu(self.f6(h))
        return self.out(h)


def load_digits(n, seed):
    # 28 x 28 digits, zero padded to 32 x 32 as in the paper
    rng = np.random.default_rng(seed)
    images = rng.random((n, 28, 28), dtype=np.float32)
    images = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    labels = rng.integers(0, 10, n)
    return TensorDataset(torch.from_numpy(images).unsqueeze(1), torch.from_numpy(labels))


train_loader = DataLoader(load_digits(300, 0), batch_size=args.batch_size, shuffle=True)
test_loader = DataLoader(load_digits(100, 1), batch_size=args.batch_size)

net = LeNet5()
optimizer = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)

for epoch in range(args.epochs):
    net.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        logits = net(images)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
    net.eval()
    hits = 0
    with torch.no_grad():
        for images, labels in test_loader:
            hits += (net(images).argmax(1) == labels).sum().item()
    print('epoch', epoch, 'loss', loss.item(), 'acc', hits / len(test_loader.dataset))
