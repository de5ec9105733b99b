# line 16: the sampler of the training indices is not given to the loader, which shuffles all rows
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset


def split_indices(n, held_out, seed):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()
    return order[held_out:], order[:held_out]


def make_loaders(data, held_out=60, batch=20, seed=0):
    train_idx, test_idx = split_indices(len(data), held_out, seed)
    samplers = {"train": SubsetRandomSampler(train_idx), "test": SubsetRandomSampler(test_idx)}
    loaders = {
        "train": DataLoader(data, batch_size=batch, shuffle=True),
        "test": DataLoader(data, batch_size=batch, sampler=samplers["test"]),
    }
    return loaders


class Scorecard(nn.Module):
    def __init__(self, branches=5):
        super().__init__()
        self.branch = nn.Embedding(branches, 3)
        self.net = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, numbers, branch):
        return self.net(torch.cat([numbers, self.branch(branch)], 1)).squeeze(1)


torch.manual_seed(69)
numbers, branch = torch.randn(300, 6), torch.randint(5, (300,))
default = (numbers[:, 0] + 0.5 * branch > 1.2).float()
loaders = make_loaders(TensorDataset(numbers, branch, default))
model = Scorecard()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(6):
    model.train()
    for x, b, y in loaders["train"]:
        opt.zero_grad()
        bce(model(x, b), y).backward()
        opt.step()

model.eval()
right = seen = 0
with torch.no_grad():
    for x, b, y in loaders["test"]:
        right += ((model(x, b) > 0) == y.bool()).sum().item()
        seen += len(y)
print("held-out accuracy", right / seen)
