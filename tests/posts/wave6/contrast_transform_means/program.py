import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
random.seed(0)


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x


class Brightness:
    def __init__(self, value):
        self.value = max(min(value, 1.0), -1.0)

    def __call__(self, x):
        return torch.clamp(x.float().add(self.value), 0, 1)


class Contrast:
    def __init__(self, value):
        self.value = value

    def __call__(self, x):
        channel_means = x.mean(1).mean(2)
        channel_means = channel_means.expand_as(x)
        return torch.clamp((x - channel_means) * self.value + channel_means, 0, 1)


class RandomContrast:
    def __init__(self, min_val, max_val):
        self.values = (min_val, max_val)

    def __call__(self, x):
        return Contrast(random.uniform(*self.values))(x)


class RandomFlip:
    def __call__(self, x):
        return x.flip(2) if random.random() < 0.5 else x


class ScanDataset(Dataset):
    def __init__(self, inputs, targets, transform=None):
        self.inputs, self.targets, self.transform = inputs, targets, transform

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, i):
        x = self.inputs[i]
        if self.transform is not None:
            x = self.transform(x)
        return x, self.targets[i]


class ScanNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3)
        self.conv2 = nn.Conv2d(16, 32, 3)
        self.fc = nn.Linear(32 * 5 * 5, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


transform = Compose([Brightness(0.1), RandomContrast(0.6, 1.4), RandomFlip()])
data = ScanDataset(torch.rand(64, 1, 28, 28), torch.randint(0, 2, (64,)), transform)
loader = DataLoader(data, batch_size=16, shuffle=True)
model = ScanNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
