# line 30: the network is the default argument of the function, made once, so all splits train the same one
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


class GestureNet(nn.Module):
    def __init__(self, channels=3, classes=4):
        super().__init__()
        self.conv = nn.Conv1d(channels, 16, 5, padding=2)
        self.cls = nn.Linear(16, classes)

    def forward(self, x):
        return self.cls(torch.relu(self.conv(x)).amax(-1))


def gestures(n):
    label = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 1, 30)
    wave = torch.sin(6.28 * (label[:, None] + 1) * t)
    return TensorDataset(wave[:, None] + 1.5 * torch.randn(n, 3, 30), label)


def split_indices(n, k):
    parts = torch.randperm(n).chunk(k)
    for held in range(k):
        yield torch.cat([p for j, p in enumerate(parts) if j != held]), parts[held]


def run_split(train, valid, epochs=8, lr=4e-3, net=GestureNet()):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(epochs):
        net.train()
        for x, y in DataLoader(train, batch_size=24, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    net.eval()
    hits = 0
    with torch.no_grad():
        for x, y in DataLoader(valid, batch_size=64):
            hits += (net(x).argmax(1) == y).sum().item()
    return hits / len(valid)


torch.manual_seed(0)
data = gestures(240)
accuracies = []
for train_idx, valid_idx in split_indices(len(data), 4):
    accuracies.append(run_split(Subset(data, train_idx.tolist()), Subset(data, valid_idx.tolist())))
print("folds", [round(a, 3) for a in accuracies])
print("mean", sum(accuracies) / len(accuracies))
