# line 33: the validation view is a shallow copy of the training Subset, so turning its augmentation off turns off that of both
import copy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset


class Tiles(Dataset):
    def __init__(self, images, labels, augment=None):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.as_tensor(self.images[i], dtype=torch.float32)
        if self.augment is not None:
            x = self.augment(x)
        return x, int(self.labels[i])


def flip_and_turn(x):
    if torch.rand(()) < 0.5:
        x = x.flip(-1)
    return torch.rot90(x, int(torch.randint(4, ())), dims=(-2, -1)).clone()


def make_parts(images, labels, n_train):
    order = np.random.permutation(len(labels)).tolist()
    train = Subset(Tiles(images, labels, flip_and_turn), order[:n_train])
    valid = copy.copy(train)
    valid.indices = order[n_train:]
    valid.dataset.augment = None
    return train, valid


np.random.seed(3)
torch.manual_seed(3)
labels = np.random.randint(0, 2, 260)
images = 0.5 * np.random.randn(260, 1, 10, 10)
images[labels == 1, :, 4:6, :] += 0.9
images[labels == 0, :, 3:7, 3:7] += 0.7
train, valid = make_parts(images, labels, 200)

cnn = nn.Sequential(
    nn.Conv2d(1, 12, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(192, 2)
)
optimizer = torch.optim.AdamW(cnn.parameters(), lr=3e-3)
for epoch in range(6):
    cnn.train()
    for x, y in DataLoader(train, batch_size=20, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(cnn(x), y).backward()
        optimizer.step()
cnn.eval()
with torch.no_grad():
    hits = sum((cnn(x).argmax(1) == y).sum().item() for x, y in DataLoader(valid, batch_size=30))
print("validation accuracy", hits / len(valid))
