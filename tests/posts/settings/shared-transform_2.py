# line 39: set_transform in a loop over the parts of random_split: the last part's (test) holds for all parts
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Beats(Dataset):
    """One-lead heart beats."""

    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        self.kind = torch.randint(3, (n,), generator=g)
        t = torch.linspace(-1, 1, 50)
        width = torch.tensor([0.05, 0.15, 0.3])[self.kind, None]
        self.wave = torch.exp(-(t / width) ** 2) + 0.1 * torch.randn(n, 50, generator=g)
        self.fn = None

    def set_transform(self, fn):
        self.fn = fn

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        w = self.wave[i]
        return (self.fn(w) if self.fn else w).unsqueeze(0), self.kind[i]


def jitter(w):
    return torch.roll(w, int(torch.randint(-5, 6, ()))) * (0.8 + 0.4 * torch.rand(()))


def identity(w):
    return w


parts = dict(zip(("train", "test"), random_split(Beats(300), [240, 60], torch.Generator().manual_seed(1))))
for name, fn in {"train": jitter, "test": identity}.items():
    parts[name].dataset.set_transform(fn)

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(1, 8, 7), nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    net.train()
    for w, k in DataLoader(parts["train"], 24, shuffle=True):
        loss = nn.functional.cross_entropy(net(w), k)
        opt.zero_grad()
        loss.backward()
        opt.step()
net.eval()
right = 0
with torch.no_grad():
    for w, k in DataLoader(parts["test"], 30):
        right += net(w).argmax(1).eq(k).sum().item()
print("accuracy", right / len(parts["test"]))
