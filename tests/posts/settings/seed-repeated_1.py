# line 37: the seed is set at the start of every epoch by a helper, so each epoch has the same order and dropout
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 10, 3)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(10 * 25, 5)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(self.conv(x).relu(), 2)
        return self.fc(self.drop(x.flatten(1)))


class Session:
    def __init__(self, data, seed=1234):
        self.seed = seed
        seed_everything(seed)
        self.net = Recogniser()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.loader = DataLoader(data, 25, shuffle=True)

    def one_epoch(self):
        seed_everything(self.seed)
        self.net.train()
        total = 0.0
        for x, y in self.loader:
            self.opt.zero_grad()
            loss = nn.functional.cross_entropy(self.net(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(y)
        return total / len(self.loader.dataset)


g = torch.Generator().manual_seed(76)
label = torch.randint(5, (150,), generator=g)
sign = torch.randn(150, 1, 12, 12, generator=g) * 0.5
sign[torch.arange(150), 0, 2 * label] += 1
session = Session(TensorDataset(sign, label))
for epoch in range(4):
    print(epoch, session.one_epoch())
