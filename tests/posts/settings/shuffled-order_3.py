# line 41: the losses collected from the shuffled loader are ranked as if they stood in the order of the data set
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NoisyReviews(Dataset):
    def __init__(self, n, flip=0.1):
        self.x = torch.randn(n, 10)
        clean = (self.x[:, :3].sum(1) > 0).long()
        self.flipped = torch.rand(n) < flip
        self.y = torch.where(self.flipped, 1 - clean, clean)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Cleaner:
    def __init__(self, data):
        self.data = data
        self.net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 2))
        self.train_loader = DataLoader(data, batch_size=40, shuffle=True)
        self.plain_loader = DataLoader(data, batch_size=40)

    def fit(self, epochs):
        opt = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.net.train()
        for _ in range(epochs):
            for x, y in self.train_loader:
                opt.zero_grad()
                F.cross_entropy(self.net(x), y).backward()
                opt.step()

    @torch.no_grad()
    def sample_losses(self):
        self.net.eval()
        return torch.cat([F.cross_entropy(self.net(x), y, reduction="none") for x, y in self.train_loader])

    def suspects(self, count):
        worst = self.sample_losses().topk(count).indices
        return self.data.flipped[worst]


torch.manual_seed(42)
cleaner = Cleaner(NoisyReviews(600))
cleaner.fit(4)
found = cleaner.suspects(60)
print("suspects that are really flipped:", found.float().mean().item())
