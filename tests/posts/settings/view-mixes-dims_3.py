# line 23: the pictures (N, H, W, 3) are reshaped to (N, 3, H, W) in numpy instead of transposed
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def synthetic_photos(n, seed):
    r = np.random.RandomState(seed)
    photos = r.randint(0, 90, size=(n, 20, 24, 3)).astype(np.uint8)
    labels = r.randint(0, 3, size=n)
    for k in range(n):
        top, left = r.randint(0, 12), r.randint(0, 14)
        photos[k, top : top + 8, left : left + 8, labels[k]] += 140
    return photos, labels


class PhotoSet(Dataset):
    def __init__(self, n, seed):
        photos, labels = synthetic_photos(n, seed)
        scaled = photos.astype(np.float32) / 255.0
        n, height, width, channels = scaled.shape
        self.x = torch.from_numpy(scaled.reshape(n, channels, height, width))
        self.y = torch.from_numpy(labels).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


net = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(),
    nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 3),
)
torch.manual_seed(1)
for layer in net:
    if hasattr(layer, "reset_parameters"):
        layer.reset_parameters()
train, test = DataLoader(PhotoSet(300, 0), 30, shuffle=True), DataLoader(PhotoSet(90, 1), 30)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(3):
    net.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
net.eval()
with torch.no_grad():
    right = sum(int((net(x).argmax(1) == y).sum()) for x, y in test)
print("test accuracy", right / len(test.dataset))
