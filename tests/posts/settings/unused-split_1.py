# line 32: the training batches are drawn from the whole set although Subset parts were made
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

rng = np.random.default_rng(68)
torch.manual_seed(68)


class Beats(Dataset):
    def __init__(self, n=260):
        self.kind = rng.integers(0, 2, n)
        self.beat = rng.normal(size=(n, 1, 40)).astype(np.float32)
        self.beat[:, 0, 10:16] += self.kind[:, None]

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return torch.from_numpy(self.beat[i]), int(self.kind[i])


class DataModule:
    def __init__(self, dataset, fraction, batch):
        order = rng.permutation(len(dataset)).tolist()
        cut = int(fraction * len(order))
        self.dataset, self.batch = dataset, batch
        self.train, self.valid = Subset(dataset, order[:cut]), Subset(dataset, order[cut:])

    def train_loader(self):
        return DataLoader(self.dataset, self.batch, shuffle=True)

    def valid_loader(self):
        return DataLoader(self.valid, self.batch)


net = nn.Sequential(nn.Conv1d(1, 8, 7), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 34, 2))
module = DataModule(Beats(), 0.8, 26)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(5):
    net.train()
    for beat, kind in module.train_loader():
        opt.zero_grad()
        nn.functional.cross_entropy(net(beat), kind).backward()
        opt.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for beat, kind in module.valid_loader():
            right += (net(beat).argmax(1) == kind).sum().item()
    print(epoch, right / len(module.valid))
