from __future__ import print_function
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data as data
from torch.autograd import Variable

# chest x-ray findings, several can be present in one image
FINDINGS = ['cardiomegaly', 'effusion', 'nodule', 'pneumonia']
use_cuda = torch.cuda.is_available()


class XrayFolder(data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.labels = (rng.rand(n, len(FINDINGS)) < [0.3, 0.25, 0.15, 0.2]).astype('float32')
        self.images = rng.normal(0, 0.3, (n, 1, 48, 48)).astype('float32')
        corners = [(4, 4), (4, 28), (28, 4), (28, 28)]
        for img, lab in zip(self.images, self.labels):
            for (r, c), present in zip(corners, lab):
                if present:
                    img[0, r:r + 14, c:c + 14] += 1.0

    def __getitem__(self, index):
        return torch.from_numpy(self.images[index]), torch.from_numpy(self.labels[index])

    def __len__(self):
        return len(self.images)


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.75):
        super(FocalLoss, self).__init__()
        self.gamma = gamma
        self.alpha = alpha

    def forward(self, logits, target):
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction='none')
        p = torch.sigmoid(logits)
        pt = p * target + (1 - p) * (1 - target)
        w = self.alpha * target + (1 - self.alpha) * (1 - target)
        loss = (w * (1 - pt) ** self.gamma * ce).mean()
        return loss


class XrayNet(nn.Module):
    def __init__(self):
        super(XrayNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(24)
        self.fc1 = nn.Linear(24 * 6 * 6, 64)
        self.fc2 = nn.Linear(64, len(FINDINGS))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 4)
        x = x.view(x.size(0), -1)
        return self.fc2(F.relu(self.fc1(x)))


torch.manual_seed(0)
train_loader = data.DataLoader(XrayFolder(320, 0), batch_size=32, shuffle=True)
test_loader = data.DataLoader(XrayFolder(96, 1), batch_size=32, shuffle=False)

net = XrayNet()
if use_cuda:
    net.cuda()
criterion = FocalLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.001)


def train(epoch):
    net.train()
    total = 0.0
    for inputs, targets in train_loader:
        if use_cuda:
            inputs, targets = inputs.cuda(), targets.cuda()
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * inputs.size(0)
    print('Epoch %d | train loss %.4f' % (epoch, total / len(train_loader.dataset)))


def test():
    net.eval()
    tp = torch.zeros(len(FINDINGS))
    fp, fn = tp.clone(), tp.clone()
    with torch.no_grad():
        for inputs, targets in test_loader:
            if use_cuda:
                inputs = inputs.cuda()
            pred = (net(inputs).cpu() > 0).float()
            tp += (pred * targets).sum(0)
            fp += (pred * (1 - targets)).sum(0)
            fn += ((1 - pred) * targets).sum(0)
    f1 = 2 * tp / (2 * tp + fp + fn).clamp(min=1)
    print('  F1: ' + ', '.join('%s %.2f' % (n, v) for n, v in zip(FINDINGS, f1.tolist())))


for epoch in range(1, 7):
    train(epoch)
    test()
