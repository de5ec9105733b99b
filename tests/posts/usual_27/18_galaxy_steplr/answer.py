import math

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Dataset, DataLoader, Subset

torch.manual_seed(21)


class GalaxyStamps(Dataset):
    kinds = ("elliptical", "spiral", "edge-on")

    def __init__(self, n, size=28):
        lin = torch.linspace(-1, 1, size)
        y, x = torch.meshgrid(lin, lin, indexing="ij")
        self.kind = torch.randint(0, 3, (n,))
        angle = torch.rand(n) * math.pi
        stamps = []
        for k, a in zip(self.kind.tolist(), angle.tolist()):
            u = x * math.cos(a) + y * math.sin(a)
            v = -x * math.sin(a) + y * math.cos(a)
            r = (u ** 2 + v ** 2).sqrt()
            if k == 0:
                light = torch.exp(-(u ** 2 / 0.18 + v ** 2 / 0.1))
            elif k == 1:
                arms = torch.cos(2 * torch.atan2(v, u) - 9 * r)
                light = torch.exp(-r ** 2 / 0.25) * (0.6 + 0.4 * arms)
            else:
                light = torch.exp(-(u ** 2 / 0.3 + v ** 2 / 0.01))
            stamps.append(light + 0.15 * torch.randn(size, size))
        self.stamps = torch.stack(stamps).unsqueeze(1)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.stamps[i], self.kind[i]


class GalaxyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(16 * 7 * 7, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x):
        return self.fc(self.conv(x))


def evaluate(net, loader):
    net.eval()
    hits, n = 0, 0
    with torch.no_grad():
        for stamps, kind in loader:
            hits += (net(stamps).argmax(1) == kind).sum().item()
            n += kind.numel()
    return hits / n


data = GalaxyStamps(1000)
train_loader = DataLoader(Subset(data, range(800)), batch_size=32, shuffle=True)
valid_loader = DataLoader(Subset(data, range(800, 1000)), batch_size=100)

net = GalaxyNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
scheduler = StepLR(optimizer, step_size=10, gamma=0.1)

EPOCHS = 12
for epoch in range(1, EPOCHS + 1):
    net.train()
    epoch_loss = 0.0
    for stamps, kind in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(stamps), kind)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * kind.size(0)
    scheduler.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch:2d}  loss {epoch_loss / 800:.4f}  accuracy {evaluate(net, valid_loader):.3f}")
