# line 31: the dict of transforms normalizes in "train" but not in "valid"
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def compose(*steps):
    def call(img):
        for s in steps:
            img = s(img)
        return img
    return call


def to_tensor(img):
    return torch.from_numpy(img.astype(np.float32) / 255.0).permute(2, 0, 1)


def random_flip(img):
    return img.flip(-1) if torch.rand(()) < 0.5 else img


def normalize(img):
    mean, std = torch.tensor([0.48, 0.45, 0.40]), torch.tensor([0.22, 0.22, 0.22])
    return (img - mean[:, None, None]) / std[:, None, None]


pipelines = {
    "train": compose(to_tensor, random_flip, normalize),
    "valid": compose(to_tensor),
}


class Photos(Dataset):
    def __init__(self, phase, n, seed):
        r = np.random.RandomState(seed)
        self.y = r.randint(0, 3, n)
        self.x = r.randint(0, 160, (n, 10, 10, 3)).astype(np.uint8)
        self.x[np.arange(n), :, :, self.y] += 60
        self.transform = pipelines[phase]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.transform(self.x[i]), self.y[i]


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters(), 0.01)
for epoch in range(4):
    net.train()
    for x, y in DataLoader(Photos("train", 200, 0), 20, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
net.eval()
with torch.no_grad():
    hits = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(Photos("valid", 100, 1), 50))
print("accuracy", hits / 100)
