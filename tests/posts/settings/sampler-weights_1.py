# line 27: the WeightedRandomSampler gets the weights of the classes (numpy bincount), not of the samples
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Defects(Dataset):
    def __init__(self, n, seed):
        r = np.random.RandomState(seed)
        self.targets = r.choice(4, n, p=[0.85, 0.05, 0.05, 0.05])
        self.images = r.rand(n, 1, 8, 8).astype(np.float32)
        for img, c in zip(self.images, self.targets):
            if c:
                img[0, 2 * c, :] += 1.0

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.images[i], self.targets[i]


def balanced_loader(ds, size):
    counts = np.bincount(ds.targets, minlength=4)
    class_weight = counts.sum() / (len(counts) * counts)
    sampler = WeightedRandomSampler(torch.from_numpy(class_weight), len(ds), replacement=True)
    return DataLoader(ds, batch_size=size, sampler=sampler)


torch.manual_seed(0)
train, test = Defects(400, 0), Defects(200, 1)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))
opt = torch.optim.Adam(net.parameters(), 5e-3)
for epoch in range(3):
    net.train()
    for img, c in balanced_loader(train, 40):
        opt.zero_grad()
        nn.functional.cross_entropy(net(img), c).backward()
        opt.step()
net.eval()
with torch.no_grad():
    guess = torch.cat([net(i).argmax(1) for i, _ in DataLoader(test, 100)])
truth = torch.from_numpy(test.targets)
print("recall", [(guess[truth == k] == k).float().mean().item() for k in range(4)])
