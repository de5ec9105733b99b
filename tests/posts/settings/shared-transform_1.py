# line 38: the validation transform is set on the data set that both Subsets share, so the training loses its augmentation
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Glyphs(Dataset):
    def __init__(self, n):
        r = np.random.RandomState(0)
        self.labels = r.randint(0, 4, n)
        proto = r.randn(4, 1, 9, 9)
        self.arrays = (proto[self.labels] + 0.8 * r.randn(n, 1, 9, 9)).astype(np.float32)
        self.transform = None

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = torch.from_numpy(self.arrays[i])
        if self.transform is not None:
            img = self.transform(img)
        return img, int(self.labels[i])


def augment(img):
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(img, (dy, dx), dims=(1, 2)) + 0.1 * torch.randn_like(img)


def plain(img):
    return img


def loaders(n=400, size=40):
    train, valid = random_split(Glyphs(n), [n - 100, 100], generator=torch.Generator().manual_seed(0))
    train.dataset.transform = augment
    valid.dataset.transform = plain
    return DataLoader(train, size, shuffle=True), DataLoader(valid, size)


torch.manual_seed(0)
train_dl, valid_dl = loaders()
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 49, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    net.train()
    for x, y in train_dl:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
net.eval()
with torch.no_grad():
    print(sum((net(x).argmax(1) == y).sum().item() for x, y in valid_dl) / 100)
